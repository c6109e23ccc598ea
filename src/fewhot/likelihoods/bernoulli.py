"""Bernoulli likelihood: binary columns, or cross-entropy on grey levels."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.distributions import Bernoulli
from torch.nn import functional as F

from fewhot.core.records import ColumnMoments, DataSpec, Params
from fewhot.core.registry import LIKELIHOODS
from fewhot.likelihoods.base import Likelihood
from fewhot.likelihoods.rows import ElementwiseRows
from fewhot.likelihoods.supports import ANOTHER, logit_of_means, require_unit_interval


@LIKELIHOODS.register("bernoulli")
class BernoulliLikelihood(Likelihood):
    r"""The decoder emits a logit a column.

    .. math:: \log p(x \mid z) = \sum_d x_d \log \beta_d + (1 - x_d) \log(1 - \beta_d), \quad \beta = \sigma(f(z))

    Values strictly between 0 and 1 are accepted, but the expression then normalises over no set of such values:
    `describe` says so.

    Parameters
    ----------
    n_columns
        Width D of the rows.
    """

    def rows(self, out: Tensor) -> ElementwiseRows:
        """Return p(x | z) from logits (..., B, D)."""
        return ElementwiseRows({"logits": out}, _build, _draw)

    def check(self, spec: DataSpec) -> None:
        """Refuse values outside [0, 1]."""
        super().check(spec)
        require_unit_interval(
            spec,
            "the Bernoulli likelihood",
            f"rescale or binarise the data (new rows too: MinMaxScaler(clip=True)), or {ANOTHER}",
        )

    def output_bias(self, moments: ColumnMoments) -> Tensor:
        """Return the logits of the column means."""
        return logit_of_means(moments)

    def describe(self, spec: DataSpec) -> str:
        """Say whether this is a likelihood."""
        return "Bernoulli on binary columns" if spec.binary else "BCE on grey levels: not a proper likelihood"


class _FromLogits(Bernoulli):
    r""":math:`x \ell - \log(1 + e^\ell)`: the same density as torch's in half the passes over the row."""

    def log_prob(self, value: Tensor) -> Tensor:
        return value * self.logits - F.softplus(self.logits)


def _build(params: Params) -> Bernoulli:
    return _FromLogits(logits=params["logits"], validate_args=False)


def _draw(params: Params, generator: torch.Generator | None) -> Tensor:
    probs = params["logits"].sigmoid()
    return (torch.rand(probs.shape, generator=generator, device=probs.device) < probs).float()
