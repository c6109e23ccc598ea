"""Negative binomial likelihood: counts more dispersed than Poisson's, by a learned amount a column."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.distributions import NegativeBinomial
from torch.nn.functional import logsigmoid

from fewhot.core.records import DataSpec, Params
from fewhot.core.registry import LIKELIHOODS
from fewhot.likelihoods.counts import CountLikelihood, clip_log_rate
from fewhot.likelihoods.rows import ElementwiseRows

STIRLING_FROM = 16.0
"""Above this, one term of Stirling's remainder is exact to 1e-6, and a difference of log gammas loses digits."""


@LIKELIHOODS.register("negative-binomial")
class NegativeBinomialLikelihood(CountLikelihood):
    r"""The decoder emits a log mean a column; the dispersion is learned, one a column.

    .. math::
        \log p(x \mid z) = \sum_d \log \frac{\Gamma(\theta_d + x_d)}{\Gamma(\theta_d)\, x_d!}
        + \theta_d \log \frac{\theta_d}{\theta_d + \mu_d} + x_d \log \frac{\mu_d}{\theta_d + \mu_d}, \ \mu = e^{f(z)}

    The variance is :math:`\mu + \mu^2 / \theta`; as :math:`\theta \to \infty` the family becomes Poisson.

    Parameters
    ----------
    n_columns
        Width D of the rows.

    Attributes
    ----------
    log_dispersion
        Parameter (D,), :math:`\log \theta`; starts at 0.
    """

    def __init__(self, n_columns: int) -> None:
        super().__init__(n_columns)
        self.log_dispersion = nn.Parameter(torch.zeros(self.n_columns))

    def rows(self, out: Tensor) -> ElementwiseRows:
        """Return p(x | z) from log means (..., B, D)."""
        log_theta = clip_log_rate(self.log_dispersion)
        return ElementwiseRows(
            {"total_count": log_theta.exp(), "logits": clip_log_rate(out) - log_theta}, _build, _draw
        )

    def describe(self, spec: DataSpec) -> str:
        """Name the family and what it learns."""
        return "negative binomial counts with a learned dispersion per column"


class StableNegativeBinomial(NegativeBinomial):
    """torch's family, with a log probability that keeps its digits when ``total_count`` is large."""

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the log probability of ``value``."""
        odds = self.total_count * logsigmoid(-self.logits) + value * logsigmoid(self.logits)
        return odds + log_rising(self.total_count, value) - torch.lgamma(value + 1)


def log_rising(theta: Tensor, x: Tensor) -> Tensor:
    r"""Return :math:`\log \Gamma(\theta + x) - \log \Gamma(\theta)` for :math:`\theta > 0, x \ge 0`.

    Large :math:`\theta` goes through Stirling's series, its big terms cancelled on paper:

    .. math::
        (\theta - \tfrac12) \log(1 + x/\theta) + x \log(\theta + x) - x + \frac{1}{12(\theta + x)} - \frac{1}{12\theta}

    >>> round(log_rising(torch.tensor(1e6), torch.tensor(2.0)).item(), 3)  # log of 1e6 (1e6 + 1)
    27.631
    """
    small, large = theta.clamp(max=STIRLING_FROM), theta.clamp(min=STIRLING_FROM)
    direct = torch.lgamma(small + x) - torch.lgamma(small)
    leading = (large - 0.5) * torch.log1p(x / large) + x * torch.log(large + x) - x
    series = leading + 1 / (12 * (large + x)) - 1 / (12 * large)
    return torch.where(theta < STIRLING_FROM, direct, series)


def _build(params: Params) -> StableNegativeBinomial:
    return StableNegativeBinomial(params["total_count"], logits=params["logits"], validate_args=False)


def _draw(params: Params, generator: torch.Generator | None) -> Tensor:
    # Poisson with a Gamma(theta, mean mu) rate.
    unit_rate = torch._standard_gamma(params["total_count"], generator=generator)  # pyright: ignore[reportPrivateImportUsage]
    return torch.poisson(unit_rate * params["logits"].exp(), generator=generator)
