"""Early stopping: keep the weights with the best held-out objective, stop when they get old."""

from __future__ import annotations

import torch
from torch import Tensor, nn

OVERFITTING = 2.0
"""Nats per row below the best evaluation from which a model whose schedules still move counts as overfitting."""


class BestWeights:
    """Watches the objective on held-out rows and keeps the weights that were best.

    That is the ELBO, unless training is after something else: under a weight or a penalty the ELBO may fall for as
    long as the model learns what it was asked to.

    Weights are admissible when they keep the constraints of the objective, such as a sparsity target; those that do
    not are kept only after ``settled_at`` and only until admissible ones are found. Before ``settled_at``, while
    schedules and controllers move, an evaluation counts against patience only if it is worse than the best one by more
    than `OVERFITTING`.
    """

    def __init__(self, patience: int | None, settled_at: int) -> None:
        self.patience = patience
        self.settled_at = settled_at
        self.best = float("-inf")
        self.admissible = False
        self.stale = 0
        self.weights: dict[str, Tensor] = {}

    def should_stop(self, step: int, value: float, module: nn.Module, *, admissible: bool = True) -> bool:
        """Take in one evaluation; return whether the last ``patience`` of them brought nothing."""
        if self.patience is None:
            return False
        settled = step >= self.settled_at
        if (admissible or settled) and (admissible, value) > (self.admissible, self.best):
            self.best, self.admissible, self.stale = value, admissible, 0
            self.weights = {name: value.detach().clone() for name, value in module.state_dict().items()}
        elif self.weights and (settled or value < self.best - OVERFITTING):
            self.stale += 1
        return self.stale >= self.patience

    @torch.no_grad()
    def restore(self, module: nn.Module) -> None:
        """Put the best weights back, if there are any."""
        if self.weights:
            module.load_state_dict(self.weights)
