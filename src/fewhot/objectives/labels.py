"""What the labels of a row, or how often things occur in it, say of a code of counts."""

from __future__ import annotations

from math import log

import torch
from torch import Tensor
from torch.nn import functional as F

from fewhot.core.checks import one_of, real_number, whole_number
from fewhot.core.errors import InvalidParameterError
from fewhot.core.records import Knobs, Params, Pass, Terms
from fewhot.core.registry import TERMS
from fewhot.distributions import SlotCounts
from fewhot.objectives.objective import Term

KINDS = ("count", "presence", "sample")
_MARGIN = 1e-6
_LEAST = 1e-30
"""Below this, the slope of a logarithm is beyond what float32 holds once it is weighted."""


@TERMS.register("label-likelihood")
class LabelLikelihood(Term):
    r"""How likely the labels y of a row are, where the first K units of its code stand for them; no part of the bound.

    With :math:`p_k = \lambda\pi_k` the probability that a slot chooses unit k, and n labels in all:

    - ``"count"``: :math:`\log\frac{L_0!}{(L_0-n)!\prod_k y_k!} + \sum_k y_k \log p_k + (L_0-n)\log(1-\sum_k p_k)`, the
      law of the counts, for slots that share theirs; minus infinity where n exceeds :math:`L_0`;
    - ``"presence"``: :math:`\sum_k y_k\log P_k + (1-y_k)\log(1-P_k)` with :math:`P_k = 1-\prod_\ell(1-p_{\ell k})`;
    - ``"sample"``: the same with :math:`\min(z_k, 1)` of a soft draw in the place of :math:`P_k`, less
      :math:`z_k - 1` where that is positive and the label absent; with :math:`P_k` itself where draws are exact.

    Parameters
    ----------
    n_labels
        The number K of labels.
    kind
        Which of the three.
    weight
        Its weight in the loss.
    smoothing
        The probability with which a label is taken for its opposite in training, for "presence".
    """

    def __init__(self, n_labels: int, kind: str = "count", weight: float = 1.0, smoothing: float = 0.0) -> None:
        super().__init__()
        self.n_labels = whole_number("n_labels", n_labels)
        self.kind = one_of("label_loss", kind, KINDS)
        self.weight = real_number("weight", weight, low=0)
        self.smoothing = real_number("label_smoothing", smoothing, low=0, high=0.5)
        if smoothing and kind != "presence":
            raise InvalidParameterError(f"label_smoothing is for label_loss='presence'; with {kind!r} it must be 0.")

    def forward(self, result: Pass, divergence: Params, knobs: Knobs) -> Terms:
        """Return the log likelihood of the labels; nothing for rows without any."""
        assert isinstance(result.q, SlotCounts)
        if result.batch.y is None:
            return Terms(result.draw.z.new_zeros(()), result.draw.z.new_zeros(()))
        if self.kind == "count":
            value = count_likelihood(result.q, result.batch.y, self.n_labels)  # (B,)
        elif self.kind == "presence" or knobs.gates == "exact":
            value = presence_likelihood(result.q, self._smoothed(result.batch.y, knobs), self.n_labels)  # (B,)
        else:
            value = sample_likelihood(result.draw.z, result.batch.y, self.n_labels)  # (..., B)
        return Terms(value.new_zeros(()), -self.weight * value.mean(), {"label_likelihood": value})

    def _smoothed(self, y: Tensor, knobs: Knobs) -> Tensor:
        return y if knobs.gates == "exact" else y + self.smoothing * (1 - 2 * y)


def count_likelihood(q: SlotCounts, y: Tensor, n_labels: int) -> Tensor:
    """Return the log-probability of counts of the first units, whatever the others are, (B,)."""
    log_choices = q.log_choices.squeeze(-2)  # (B, K + others + 1)
    log_rest = torch.logsumexp(log_choices[..., n_labels:], dim=-1)
    left = q.n_slots - y.sum(-1)
    ways = torch.lgamma(y.new_tensor(q.n_slots + 1.0)) - torch.lgamma(y + 1).sum(-1) - torch.lgamma(left + 1)
    return ways + (y * log_choices[..., :n_labels]).sum(-1) + left * log_rest


def presence_likelihood(q: SlotCounts, y: Tensor, n_labels: int) -> Tensor:
    """Return the log-probability that exactly these of the first units are there, unit by unit, (B,).

    A unit that is hardly ever there is there as often as its expected count says, whose log does not underflow.
    """
    exact = q.log_absent[..., :n_labels]
    log_absent = exact.clamp(max=-_MARGIN)
    log_present = torch.log(-torch.expm1(log_absent))
    log_present = torch.where(exact > -_MARGIN, q.log_mean[..., :n_labels], log_present)
    return (y * log_present + (1 - y) * log_absent).sum(-1)


def sample_likelihood(z: Tensor, y: Tensor, n_labels: int) -> Tensor:
    """Return the log-probability of labels whose probabilities are soft counts of a draw, (..., B).

    A count above 1 is clipped, and costs an absent label a further nat for each: else nothing would bring it down. One
    near 0 is clipped, too, and costs a present label what its log is short of. Counts that are no numbers give none.
    """
    counts = z[..., :n_labels]
    y = y.expand(counts.shape)
    likely = counts.nan_to_num().clamp(_MARGIN, 1 - _MARGIN)
    missed = F.binary_cross_entropy(likely, y, reduction="none")
    above = (counts - 1).masked_fill(counts <= 1 - _MARGIN, 0.0)
    below = (log(_MARGIN) - counts.clamp(min=_LEAST).log()).masked_fill(counts >= _MARGIN, 0.0)
    return -(missed + (1 - y) * above + y * below).sum(-1)
