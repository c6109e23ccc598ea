"""Gaussian likelihood with a learned, floored variance."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn
from torch.distributions import Normal

from fewhot.core.checks import one_of, real_number
from fewhot.core.clipping import LOG_VARIANCE_RANGE, clip_keeping_gradient
from fewhot.core.errors import InvalidParameterError
from fewhot.core.records import ColumnMoments, DataSpec, Params
from fewhot.core.registry import LIKELIHOODS
from fewhot.likelihoods.rows import ElementwiseRows
from fewhot.likelihoods.standardised import StandardisedLikelihood
from fewhot.likelihoods.supports import logit_of_means, require_unit_interval

_GAIN = 5.0
"""How much faster than weights a learned log variance moves: Adam moves a parameter by its rate a step, and a variance
per column has to fall by some 3 nats within the first steps: see decision 0035."""


@LIKELIHOODS.register("gaussian")
class GaussianLikelihood(StandardisedLikelihood):
    r"""The decoder emits a mean and, when the variance varies by row, a log variance for each column.

    .. math::
        \log p(x \mid z) = -\tfrac12 \sum_d \Big[\log 2\pi + \log v_d + \frac{(x_d - \mu_d)^2}{v_d}\Big], \qquad
        \mu = \ell + s\,m, \quad v = s^2 (e^{\lambda} + v_{\min})

    On a constant column v falls to its floor, where the density has its ceiling,
    :math:`-\tfrac12 \log(2\pi s^2 v_{\min})` nats: compare bounds at equal floor and equal data scaling only.

    Parameters
    ----------
    n_columns
        Width D of the rows.
    floor
        Smallest variance :math:`v_{\min}`; in units of each column's variance if ``standardise``.
    standardise
        Whether :math:`\ell, s` are the moments of the training columns; otherwise 0 and 1. With "together" s is the
        same for all columns, as for pixels.
    sigmoid_mean
        Whether the mean is squashed into [0, 1]; needs ``standardise=False``.
    variance
        ``"per-column"``: :math:`\lambda` is a learned parameter for each column; ``"per-row"``: the decoder emits
        :math:`\lambda` after the D means. The latter can explain rows whose spread varies, such as image patches,
        and overfits tables: its ELBO on rows it has not seen may be hundreds of nats below a factor analysis.
        ``"shared"``: one learned parameter for all columns, so that every squared error counts alike.
    """

    def __init__(
        self,
        n_columns: int,
        *,
        floor: float = 1e-3,
        standardise: bool | Literal["together"] = True,
        sigmoid_mean: bool = False,
        variance: Literal["per-row", "per-column", "shared"] = "per-column",
    ) -> None:
        super().__init__(n_columns, standardise=standardise)
        self.floor = real_number("floor", floor, low=0.0)
        self.sigmoid_mean = one_of("sigmoid_mean", sigmoid_mean, (True, False))
        self.variance = one_of("variance", variance, ("per-row", "per-column", "shared"))
        if sigmoid_mean and standardise:
            raise InvalidParameterError(
                "sigmoid_mean=True keeps the mean in [0, 1], which standardised columns leave; pass standardise=False."
            )
        if variance != "per-row":
            self.slow_log_variance = nn.Parameter(torch.zeros(1 if variance == "shared" else self.n_columns))

    @property
    def log_variance(self) -> Tensor:
        """The learned log variance of each column, (D,), or of all columns, (1,), before the floor."""
        return _GAIN * self.slow_log_variance

    @property
    def n_outputs(self) -> int:
        """D means, followed by D log variances when they vary by row."""
        return self.n_columns * (2 if self.variance == "per-row" else 1)

    def rows(self, out: Tensor) -> ElementwiseRows:
        """Return p(x | z) from means and log variances (..., B, n_outputs)."""
        m = out[..., : self.n_columns]
        log_variance = out[..., self.n_columns :] if self.variance == "per-row" else self.log_variance
        m = m.sigmoid() if self.sigmoid_mean else m
        v = clip_keeping_gradient(log_variance, *LOG_VARIANCE_RANGE).exp() + self.floor
        return ElementwiseRows({"loc": self.raw(m), "scale": self.scale * v.sqrt()}, _build, _draw)

    def check(self, spec: DataSpec) -> None:
        """Refuse what a squashed mean cannot reach; otherwise every real value is welcome."""
        super().check(spec)
        if self.sigmoid_mean:
            require_unit_interval(
                spec, "a Gaussian likelihood with sigmoid_mean=True", "rescale the data or pass sigmoid_mean=False"
            )

    @torch.no_grad()
    def fit(self, moments: ColumnMoments) -> None:
        """Keep the moments of the columns, and start a variance per column from theirs."""
        super().fit(moments)
        if self.variance != "per-row":
            start = self._initial_log_variance(moments)
            self.slow_log_variance.copy_((start.mean() if self.variance == "shared" else start) / _GAIN)

    def output_bias(self, moments: ColumnMoments) -> Tensor:
        """Return the means of the columns, then log variances no smaller than theirs."""
        mean = logit_of_means(moments) if self.sigmoid_mean else super().output_bias(moments)
        return torch.cat([mean, self._initial_log_variance(moments)]) if self.variance == "per-row" else mean

    def _initial_log_variance(self, moments: ColumnMoments) -> Tensor:
        # An untrained decoder's means spread by about 1. A column that varies less starts from that, not from its own
        # variance: near-constant columns would pull so hard at first that the decoder learns to ignore its code.
        variance = torch.ones_like(moments.std) if self.standardise else moments.std.float().square().clamp(min=1.0)
        return (variance - self.floor).clamp(min=1e-3 * self.floor).log().clamp(*LOG_VARIANCE_RANGE)

    def describe(self, spec: DataSpec) -> str:
        """Name the variance and its floor, without which bounds cannot be compared."""
        units = {True: "of each column's variance", "together": "of the columns' mean variance"}
        unit = units.get(self.standardise, "in squared units of the data")
        spread = {"per-row": "per row and column", "per-column": "per column", "shared": "for all columns"}
        return f"Gaussian with a learned variance {spread[self.variance]}, floored at {self.floor:g} {unit}"


def _build(params: Params) -> Normal:
    return Normal(params["loc"], params["scale"], validate_args=False)


def _draw(params: Params, generator: torch.Generator | None) -> Tensor:
    noise = torch.randn(params["loc"].shape, generator=generator, device=params["loc"].device)
    return params["loc"] + params["scale"] * noise
