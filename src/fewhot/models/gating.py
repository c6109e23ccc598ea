"""What models with gates share: how the divergence comes in, and the dial."""

from __future__ import annotations

from fewhot.core.schedules import Linear
from fewhot.objectives import Dial

WARM_UP_SHARE = 0.2
FREEZE_SHARE = 0.8


def warm_up(n_steps: int) -> Linear:
    """Return the weight of the divergence: from 0 to 1 over the first fifth of the steps."""
    return Linear(0.0, 1.0, max(1, int(WARM_UP_SHARE * n_steps)))


def dial_for(l0: float | None, n_latent: int, n_steps: int, crowding: float = 6.0) -> list[Dial]:
    """Return the dial, if one was asked for; a unit may serve ``crowding`` times the mean share, never every row."""
    if l0 is None:
        return []
    share = l0 / n_latent
    cap = max(min(crowding * share, 0.4), (1 + share) / 2 if share > 0.3 else 0.0)
    return [Dial(n_latent, l0, cap, freeze_at=int(FREEZE_SHARE * n_steps))]
