"""A clip that keeps its gradient: the value is clamped, the slope is one everywhere."""

from __future__ import annotations

from torch import Tensor

LOG_VARIANCE_RANGE = (-20.0, 10.0)
LOGIT_RANGE = (-15.0, 15.0)


def clip_keeping_gradient(x: Tensor, low: float, high: float) -> Tensor:
    """Clamp ``x`` to [low, high]; unlike `torch.clamp`, a value outside still receives its gradient."""
    return x + (x.clamp(low, high) - x).detach()
