"""The spike and slab whose on-probability is itself uncertain: a Beta law above each gate."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor
from torch.distributions import constraints

from fewhot.distributions.beta import beta_kl
from fewhot.distributions.noise import wide_and_alike
from fewhot.distributions.spike_slab import Relaxation, SpikeSlab


class BetaSpikeSlab(SpikeSlab):
    r"""A `SpikeSlab` whose on-probability v is drawn from a Beta law.

    .. math:: v \sim \mathrm{Beta}(b, a), \qquad p(z \mid v) = v\,\mathcal{N}(z;\,\mu,\sigma^2) + (1-v)\,\delta_0(z)

    With v integrated out, z is a spike and slab with on-probability :math:`b/(a+b)`: everything inherited is about that
    marginal law. The papers write :math:`\gamma = 1 - v \sim \mathrm{Beta}(a, b)`, the probability of being off.

    Parameters
    ----------
    off, on
        The concentrations a and b; the larger ``off`` is beside ``on``, the sparser.
    loc, scale
        Mean and standard deviation of the slab.
    relaxation, validate_args
        As for `SpikeSlab`.
    hierarchical
        Whether draws and divergences are to be those of (v, z) and not of z alone, as training of a hierarchical model
        has it; the law itself is the same.
    spike_std
        The width of the spike in draws of (v, z), in training; the law itself has a point.
    """

    arg_constraints: ClassVar = {  # type: ignore[override]
        "off": constraints.positive,
        "on": constraints.positive,
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    off: Tensor
    on: Tensor

    def __init__(
        self,
        off: Tensor,
        on: Tensor,
        loc: Tensor,
        scale: Tensor,
        relaxation: Relaxation | None = None,
        hierarchical: bool = False,
        spike_std: float = 0.0,
        validate_args: bool | None = None,
    ) -> None:
        self.hierarchical = hierarchical
        self.spike_std = spike_std
        self.off, self.on, loc, scale = wide_and_alike(off, on, loc, scale)
        super().__init__(self.on.log() - self.off.log(), loc, scale, relaxation, validate_args)


def hierarchical_gate_kl(q: BetaSpikeSlab, p: BetaSpikeSlab) -> Tensor:
    r"""Divergence of the Beta laws, elementwise: never below that of the gates they imply.

    :math:`B\big(\tfrac{b}{a+b}\,\|\,\tfrac{b_0}{a_0+b_0}\big) \le \mathrm{KL}\big(\mathrm{Beta}(a,b)\,\|\,
    \mathrm{Beta}(a_0,b_0)\big)`, because a draw loses information.
    """
    return beta_kl(q.off, q.on, p.off, p.on)
