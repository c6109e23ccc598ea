"""The sparsity dial: constraints on how many units are on, held by dual ascent."""

from __future__ import annotations

import torch
from torch import Tensor

from fewhot.core.checks import real_number, whole_number
from fewhot.core.records import Knobs, Params, Pass, Terms
from fewhot.core.registry import TERMS
from fewhot.distributions import SpikeSlab
from fewhot.objectives.objective import Term


@TERMS.register("dial")
class Dial(Term):
    r"""Hold the mean number of active units at ``l0``, and the share of rows that any one unit serves below ``cap``.

    .. math:: \lambda\Big(\sum_j \bar\gamma_j - \ell_0\Big) + \sum_j \nu_j\,(\bar\gamma_j - \text{cap}),\qquad \nu_j \ge 0

    with :math:`\bar\gamma_j` the batch mean of unit j's on-probability. The multipliers move every step: :math:`\lambda`
    by the *count* of units with on-probability above one half, because that is what `transform` returns, and
    :math:`\nu_j` by the rate of its unit. They stop at ``freeze_at``, so that the last steps train one fixed objective.
    The constraints are no part of the bound.

    Parameters
    ----------
    n_latent
        Number of units.
    l0
        Mean number of active units asked for.
    cap
        Largest share of rows one unit may serve.
    freeze_at
        The step from which the multipliers stay.
    rate, cap_rate
        Step sizes of the dual ascent.
    """

    def __init__(
        self,
        n_latent: int,
        l0: float,
        cap: float,
        freeze_at: int,
        rate: float = 2e-3,
        cap_rate: float = 2e-2,
    ) -> None:
        super().__init__()
        self.n_latent = n_latent
        self.l0 = real_number("l0", l0, low=0, high=n_latent, open_low=True)
        self.cap = real_number("cap", cap, low=0, high=1, open_low=True)
        self.freeze_at = whole_number("freeze_at", freeze_at, least=0)
        self.rate = rate
        self.cap_rate = cap_rate
        self.register_buffer("multiplier", torch.zeros(()))
        self.register_buffer("unit_multipliers", torch.zeros(n_latent))

    def forward(self, result: Pass, divergence: Params, knobs: Knobs) -> Terms:
        """Return the price of the gates that are on."""
        assert isinstance(result.q, SpikeSlab)
        usage = result.q.probs.flatten(0, -2).mean(0)  # (K,)
        price = (self.multiplier + self.unit_multipliers) * usage
        active = (result.q.logits.detach() > 0).float().sum(-1).mean()
        signals = {"dial_active": active, "dial_usage": usage.detach()}
        return Terms(usage.new_zeros(()), price.sum(), per_batch={"dial_price": price.detach().sum()}, signals=signals)

    @torch.no_grad()
    def update(self, signals: Params, step: Tensor) -> None:
        """Move the multipliers by what this batch measured, until they freeze."""
        moving = step < self.freeze_at
        error = (signals["dial_active"] - self.l0) / max(self.l0, 1.0)
        self.multiplier += torch.where(moving, self.rate * error.clamp(-1.0, 1.0), 0.0)
        raised = (self.unit_multipliers + self.cap_rate * (signals["dial_usage"] - self.cap)).clamp(min=0)
        self.unit_multipliers.copy_(torch.where(moving, raised, self.unit_multipliers))
