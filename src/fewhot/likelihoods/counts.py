"""What likelihoods of counts share: whole non-negative data, and outputs that are logs of means."""

from __future__ import annotations

from torch import Tensor

from fewhot.core.clipping import clip_keeping_gradient
from fewhot.core.records import ColumnMoments, DataSpec
from fewhot.likelihoods.base import Likelihood
from fewhot.likelihoods.supports import log_of_means, require_counts

LOG_RATE_RANGE = (-20.0, 20.0)
"""Where logs of rates and dispersions are kept: exp stays finite, and within what a Poisson sampler can draw."""


class CountLikelihood(Likelihood):
    """Base of the families over whole numbers from 0 up."""

    def check(self, spec: DataSpec) -> None:
        """Refuse negative and fractional values."""
        super().check(spec)
        require_counts(spec, type(self).__name__)

    def output_bias(self, moments: ColumnMoments) -> Tensor:
        """Return the logs of the column means."""
        return log_of_means(moments)


def clip_log_rate(log_rate: Tensor) -> Tensor:
    """Clip to `LOG_RATE_RANGE`, keeping the gradient."""
    return clip_keeping_gradient(log_rate, *LOG_RATE_RANGE)
