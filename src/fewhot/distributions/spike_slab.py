"""The spike and slab: a code that is exactly zero, or Gaussian."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any, ClassVar, NamedTuple, cast

import torch
from torch import Generator, Tensor
from torch.autograd.function import once_differentiable
from torch.distributions import (
    Distribution,
    constraints,
    register_kl,  # pyright: ignore[reportUnknownVariableType]
)
from torch.nn.functional import logsigmoid

from fewhot.core.records import Draw, Noise
from fewhot.distributions.gates import ExactGate, Gate, bernoulli_kl
from fewhot.distributions.gaussian import Gaussian, gaussian_kl
from fewhot.distributions.noise import ONE_DRAW, Shape, wide_and_alike

Relaxation = Callable[[Tensor], Gate]
"""Builds the gate used in training from its logits, e.g. ``partial(BinaryConcreteGate, temperature=0.5)``."""


class SpikeSlab(Distribution):
    r"""Exactly zero with probability :math:`1-\gamma`, Gaussian otherwise.

    .. math:: p(z) = \gamma\,\mathcal{N}(z;\,\mu,\sigma^2) + (1-\gamma)\,\delta_0(z)

    Densities and entropies are taken against Lebesgue measure plus a point mass at zero, and are those of this law
    whatever the relaxation; the relaxation only changes how `rsample` and `draw` pass gradients.

    Parameters
    ----------
    logits
        The logit of the on-probability :math:`\gamma`; infinite values are allowed.
    loc, scale
        Mean and standard deviation of the slab.
    relaxation
        Builds the gate of `rsample` from the logits. None keeps the gates exact: gradients then reach the slab of
        the units that are on, not the logits, and ``has_rsample`` is False.
    validate_args
        As in torch: whether to check arguments and values.

    Examples
    --------
    >>> code = SpikeSlab(torch.tensor([-2.0, 2.0]), loc=torch.ones(2), scale=torch.ones(2))
    >>> code.sample(noise={"gate": torch.tensor(0.5), "slab": torch.tensor(0.5)})
    tensor([0.0000, 1.5000])
    """

    arg_constraints: ClassVar = {  # type: ignore[override]
        "logits": constraints.real,
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support = constraints.real  # type: ignore[override]
    logits: Tensor
    loc: Tensor
    scale: Tensor

    def __init__(
        self,
        logits: Tensor,
        loc: Tensor,
        scale: Tensor,
        relaxation: Relaxation | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self.logits, self.loc, self.scale = wide_and_alike(logits, loc, scale)
        self.relaxation = relaxation
        super().__init__(self.logits.shape, validate_args=validate_args)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        """Return the same law with its batch broadcast to ``batch_shape``."""
        new = copy(self) if _instance is None else _instance
        new.logits, new.loc, new.scale = (x.expand(batch_shape) for x in (self.logits, self.loc, self.scale))
        new._batch_shape = torch.Size(batch_shape)
        return new

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        """Whether a draw carries gradients to every parameter."""
        return self.relaxation is not None

    @property
    def gate(self) -> Gate:
        """The gate used in training."""
        return self._exact_gate if self.relaxation is None else self.relaxation(self.logits)

    @property
    def slab(self) -> Gaussian:
        """The Gaussian of the units that are on."""
        return Gaussian(self.loc, self.scale, validate_args=False)

    @property
    def probs(self) -> Tensor:
        """The on-probability."""
        return self.logits.sigmoid()

    @property
    def log_absent(self) -> Tensor:
        """Log-probability that a unit is off."""
        return logsigmoid(-self.logits)

    @property
    def log_absent_value(self) -> Tensor:
        """The numbers of `log_absent`, without gradient."""
        return logsigmoid(-self.logits.detach())

    def through_absence(self, value: Tensor, slope: Tensor) -> Tensor:
        """Return a number with the derivative ``slope`` by `log_absent`: fewer operations, no second derivatives."""
        return cast("Tensor", _ThroughAbsence.apply(value, slope.reshape(self.logits.shape), self.logits))  # pyright: ignore

    @property
    def margins(self) -> Tensor:
        """By how much each unit is in the likeliest code: it is where positive."""
        return self.logits

    @property
    def n_active(self) -> Tensor:
        """How many units the likeliest code has, without gradient: those with positive `margins`, (...)."""
        return (self.margins > 0).to(self.logits.dtype).sum(-1)

    @property
    def mean(self) -> Tensor:
        """Expected code: dense."""
        return self.probs * self.loc

    @property
    def variance(self) -> Tensor:
        """Variance: of the slab, and of the gate around the mean."""
        return self.probs * (self.scale.square() + (-self.logits).sigmoid() * self.loc.square())

    def entropy(self) -> Tensor:
        """Entropy of the gate, plus that of the slab when on."""
        return self._exact_gate.entropy() + self.probs * self.slab.entropy()

    def log_prob(self, value: Tensor) -> Tensor:
        """Log-mass at exactly zero, log-density elsewhere."""
        if self._validate_args:
            self._validate_sample(value)
        gate = self._exact_gate
        return torch.where(value == 0, gate.log_off, gate.log_on + self.slab.log_prob(value))

    def noise_like(self, sample_shape: Shape = ONE_DRAW, generator: Generator | None = None) -> Noise:
        """Draw the numbers a draw would use: ``gate`` uniform, ``slab`` standard normal."""
        gate = self._exact_gate.noise_like(sample_shape, generator)
        return {"gate": gate, "slab": self.slab.noise_like(sample_shape, generator)}

    def draw(self, sample_shape: Shape = ONE_DRAW, noise: Noise | None = None) -> Draw:
        """Draw codes and their gates, with the gradients of the relaxation."""
        noise = self.noise_like(sample_shape) if noise is None else noise
        gate = self.gate.rsample(sample_shape, noise["gate"])
        return Draw(gate * self.slab.rsample(sample_shape, noise["slab"]), gate)

    def rsample(self, sample_shape: Shape = ONE_DRAW, noise: Noise | None = None) -> Tensor:
        """Draw codes with the gradients of the relaxation."""
        return self.draw(sample_shape, noise).z

    def sample(self, sample_shape: Shape = ONE_DRAW, noise: Noise | None = None) -> Tensor:
        """Draw codes with exact gates and without gradient: units that are off are exactly zero."""
        noise = self.noise_like(sample_shape) if noise is None else noise
        gate = self._exact_gate.sample(sample_shape, noise["gate"])
        return torch.where(gate > 0, self.slab.rsample(sample_shape, noise["slab"]), 0.0).detach()

    @property
    def _exact_gate(self) -> Gate:
        return ExactGate(self.logits, validate_args=False)


class _ThroughAbsence(torch.autograd.Function):
    r"""A number of which the derivative by :math:`\log\sigma(-\ell)` is known, for logits :math:`\ell`."""

    @staticmethod
    def forward(ctx: Any, value: Tensor, slope: Tensor, logits: Tensor) -> Tensor:
        ctx.save_for_backward(slope, logits)
        return value.view_as(value)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, scale: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        slope, logits = ctx.saved_tensors
        return None, None, -scale * slope * logits.sigmoid()


class SpikeSlabKL(NamedTuple):
    """The two terms of the divergence of spike-and-slab laws."""

    gate: Tensor
    slab: Tensor


def kl_parts(q: SpikeSlab, p: SpikeSlab) -> SpikeSlabKL:
    r"""Divergence of two spike-and-slab laws, elementwise, as a term for the gate and a term for the slab.

    .. math:: \mathrm{KL} = B(\gamma\,\|\,\rho) + \gamma\,G(\mu,\sigma^2\,\|\,m,s^2)

    A slab hits zero with probability zero, so no cross term is left. A unit that is never on has no slab term.
    """
    slab = gaussian_kl(q.slab, p.slab).masked_fill(q.probs == 0, 0.0)
    return SpikeSlabKL(gate=bernoulli_kl(q.logits, p.logits), slab=q.probs * slab)


@register_kl(SpikeSlab, SpikeSlab)
def _kl_spike_slab(q: SpikeSlab, p: SpikeSlab) -> Tensor:
    gate, slab = kl_parts(q, p)
    return gate + slab
