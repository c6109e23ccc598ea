"""What a training run is told."""

from __future__ import annotations

from dataclasses import dataclass

CLIP_FACTOR, UNCLIPPED = 5.0, 1e12
"""The usual bound on gradients, and one that no gradient reaches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """One training run.

    ``clip_factor`` bounds a gradient's norm by that multiple of its running mean, so that it needs no tuning to the
    scale of the objective; ``settled_at`` is the step before which held-out bounds are not yet comparable.
    """

    max_steps: int
    batch_size: int = 128
    learning_rate: float = 1e-3
    clip_factor: float = CLIP_FACTOR
    evaluate_every: int = 500
    patience: int | None = None
    settled_at: int = 0
    precision: str = "float32"
    compile: str | bool = "auto"
    seed: int = 0
