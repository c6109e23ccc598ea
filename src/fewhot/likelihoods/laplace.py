"""Laplace likelihood with a fixed scale: absolute errors instead of squared ones."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.distributions import Laplace

from fewhot.core.checks import real_number
from fewhot.core.records import DataSpec, Params
from fewhot.core.registry import LIKELIHOODS
from fewhot.likelihoods.rows import ElementwiseRows
from fewhot.likelihoods.standardised import StandardisedLikelihood


@LIKELIHOODS.register("laplace")
class LaplaceLikelihood(StandardisedLikelihood):
    r"""The decoder emits a location a column.

    .. math:: \log p(x \mid z) = -\sum_d \Big[\log 2 b_d + \frac{|x_d - \mu_d|}{b_d}\Big], \qquad
              \mu = \ell + s\,m, \quad b = s\,b_0

    Parameters
    ----------
    n_columns
        Width D of the rows.
    noise_scale
        The fixed scale :math:`b_0`; in units of each column's standard deviation if ``standardise``.
    standardise
        Whether :math:`\ell, s` are the moments of the training columns; otherwise 0 and 1, as in Mathieu et al. (2019).
    """

    def __init__(self, n_columns: int, *, noise_scale: float = 0.1, standardise: bool = True) -> None:
        super().__init__(n_columns, standardise=standardise)
        self.noise_scale = real_number("noise_scale", noise_scale, low=0.0, open_low=True)

    def rows(self, out: Tensor) -> ElementwiseRows:
        """Return p(x | z) from locations (..., B, D)."""
        return ElementwiseRows({"loc": self.raw(out), "scale": self.scale * self.noise_scale}, _build, _draw)

    def describe(self, spec: DataSpec) -> str:
        """Name the fixed scale and its unit."""
        unit = "of each column's standard deviation" if self.standardise else "in units of the data"
        return f"Laplace with its scale fixed at {self.noise_scale:g} {unit}"


def _build(params: Params) -> Laplace:
    return Laplace(params["loc"], params["scale"], validate_args=False)


def _draw(params: Params, generator: torch.Generator | None) -> Tensor:
    # The difference of two exponentials is Laplace; unlike an inverse transform it never takes log 0.
    one, other = (torch.empty_like(params["loc"]).exponential_(generator=generator) for _ in range(2))
    return params["loc"] + params["scale"] * (one - other)
