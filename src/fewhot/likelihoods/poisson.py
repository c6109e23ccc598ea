"""Poisson likelihood: counts whose variance equals their mean."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.distributions import Poisson

from fewhot.core.records import DataSpec, Params
from fewhot.core.registry import LIKELIHOODS
from fewhot.likelihoods.counts import CountLikelihood, clip_log_rate
from fewhot.likelihoods.rows import ElementwiseRows


@LIKELIHOODS.register("poisson")
class PoissonLikelihood(CountLikelihood):
    r"""The decoder emits a log rate a column.

    .. math:: \log p(x \mid z) = \sum_d x_d \log r_d - r_d - \log x_d!, \qquad r = \exp f(z)

    Parameters
    ----------
    n_columns
        Width D of the rows.
    """

    def rows(self, out: Tensor) -> ElementwiseRows:
        """Return p(x | z) from log rates (..., B, D)."""
        return ElementwiseRows({"rate": clip_log_rate(out).exp()}, _build, _draw)

    def describe(self, spec: DataSpec) -> str:
        """Name the family."""
        return "Poisson counts, independent given the code"


def _build(params: Params) -> Poisson:
    return Poisson(params["rate"], validate_args=False)


def _draw(params: Params, generator: torch.Generator | None) -> Tensor:
    return torch.poisson(params["rate"], generator=generator)
