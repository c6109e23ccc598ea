"""Early stopping: keep the weights with the best held-out objective, stop when they get old."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class BestWeights:
    """Watches the objective on held-out rows from the step where schedules and controllers have settled.

    That is the bound, unless training is after something else: under a weight or a penalty the bound may fall for as
    long as the model learns what it was asked to.
    """

    def __init__(self, patience: int | None, settled_at: int) -> None:
        self.patience = patience
        self.settled_at = settled_at
        self.best = float("-inf")
        self.stale = 0
        self.weights: dict[str, Tensor] = {}

    def should_stop(self, step: int, value: float, module: nn.Module) -> bool:
        """Take in one evaluation; say whether the last ``patience`` of them brought nothing."""
        if self.patience is None or step < self.settled_at:
            return False
        if value > self.best:
            self.best, self.stale = value, 0
            self.weights = {name: value.detach().clone() for name, value in module.state_dict().items()}
        else:
            self.stale += 1
        return self.stale >= self.patience

    @torch.no_grad()
    def restore(self, module: nn.Module) -> None:
        """Put the best weights back, if there are any."""
        if self.weights:
            module.load_state_dict(self.weights)
