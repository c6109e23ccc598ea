"""Penalties: they shape the codes and are never part of the bound."""

from __future__ import annotations

from fewhot.core.checks import one_of, real_number
from fewhot.core.records import Knobs, Params, Pass, Terms
from fewhot.core.registry import TERMS
from fewhot.objectives.objective import Term


@TERMS.register("activation-norm")
class ActivationNorm(Term):
    r"""A norm of the posterior's activations, as in VAE-L1 and VAE-L2.

    .. math:: \omega\Big(\sum_j |\mu_j| + \sum_j \sigma_j\Big) \quad\text{or}\quad
        \omega\Big(\sum_j \mu_j^2 + \sum_j \sigma_j^2\Big)
    """

    def __init__(self, order: str, weight: float = 0.01) -> None:
        super().__init__()
        self.order = one_of("penalty", order, ("l1", "l2"))
        self.weight = real_number("penalty_weight", weight, low=0)

    def forward(self, result: Pass, divergence: Params, knobs: Knobs) -> Terms:
        """Return the mean norm of the batch."""
        loc, scale = result.q.mean, result.q.stddev
        per_row = loc.abs() + scale if self.order == "l1" else loc.square() + scale.square()
        norm = per_row.sum(-1).mean()
        return Terms(loc.new_zeros(()), self.weight * norm, per_batch={f"penalty_{self.order}": norm})
