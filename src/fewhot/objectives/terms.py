"""The two terms of every bound."""

from __future__ import annotations

import torch

from fewhot.core.checks import real_number
from fewhot.core.records import Knobs, Params, Pass, Terms
from fewhot.core.registry import TERMS
from fewhot.objectives.objective import Term


@TERMS.register("reconstruction")
class Reconstruction(Term):
    r""":math:`\mathbb{E}_q[\log p(x|z)]`, from the draw of the pass."""

    weighted = False

    def forward(self, result: Pass, divergence: Params, knobs: Knobs) -> Terms:
        """Return the log likelihood of each row."""
        value = result.px.log_prob(result.batch.x)  # (..., B)
        return Terms(value, -value.mean(), {"reconstruction": value})


@TERMS.register("kl")
class KL(Term):
    r""":math:`-\beta\,w(t)\,\mathrm{KL}(q(z|x)\,\|\,p(z))`; the knob ``kl_weight`` is :math:`w(t)`, 1 when absent.

    The bound always carries weight 1; only the loss is weighted. ``gate_weight`` is a weight of its own for the part
    that chooses the units, ``weight`` when not given. Where the mean over a batch is below ``free_bits``, in nats a
    row, nothing pushes it further down (Kingma et al., 2016, of the whole code).
    """

    def __init__(self, weight: float = 1.0, gate_weight: float | None = None, free_bits: float = 0.0) -> None:
        super().__init__()
        self.weight = real_number("weight", weight, low=0)
        self.gate_weight = None if gate_weight is None else real_number("gate_weight", gate_weight, low=0)
        self.free_bits = real_number("free_bits", free_bits, low=0)
        self.weighted = weight != 1 or gate_weight not in (None, 1)

    def forward(self, result: Pass, divergence: Params, knobs: Knobs) -> Terms:
        """Return the divergence of each row, by its parts."""
        total = torch.stack(tuple(divergence.values())).sum(0)  # (..., B)
        weighted = self.weight * total
        if self.gate_weight is not None and "kl_gate" in divergence:
            weighted = weighted + (self.gate_weight - self.weight) * divergence["kl_gate"]
        cost = knobs.get("kl_weight", 1.0) * weighted.mean()
        if self.free_bits:
            cost = torch.where(total.mean() > self.free_bits, cost, cost.detach())
        return Terms(-total, cost, dict(divergence))
