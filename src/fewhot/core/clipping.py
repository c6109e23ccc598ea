"""A clip that keeps its gradient: the value is clamped, the slope is one everywhere."""

from __future__ import annotations

import torch
from torch import Tensor

LOG_VARIANCE_RANGE = (-20.0, 10.0)
LOGIT_RANGE = (-15.0, 15.0)
LEAST_LOG_ODDS = -50.0
"""Of a choice among many, against the likeliest."""


def clip_keeping_gradient(x: Tensor, low: float, high: float) -> Tensor:
    """Clamp ``x`` to [low, high]; unlike `torch.clamp`, a value outside still receives its gradient."""
    return _clamp_values(x.clone(), low, high)


def clip_below_largest(logits: Tensor) -> Tensor:
    """Return the logits of a choice, (..., K), less the largest of them, and none below -50.

    Clipped each by itself, two beyond the clip would be as likely as each other, however far apart; what prefers one of
    them would push it on without end.
    """
    return _clamp_values(logits - logits.detach().amax(-1, keepdim=True), LEAST_LOG_ODDS, 0.0)


def _clamp_values(x: Tensor, low: float, high: float) -> Tensor:
    """Clamp ``x`` in place, unseen by its gradient: nothing else may have looked at it yet."""
    with torch.no_grad():
        return x.clamp_(low, high)
