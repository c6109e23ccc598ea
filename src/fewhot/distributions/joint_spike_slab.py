"""The spike and slab whose units are chosen together."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import torch
from torch import Generator, Tensor
from torch.distributions import Distribution, constraints

from fewhot.core.records import Noise
from fewhot.distributions.noise import ONE_DRAW, Shape
from fewhot.distributions.spike_slab import SpikeSlab


class JointSpikeSlab(Distribution):
    r"""A law over whole codes: what a unit does depends on which earlier ones are on.

    .. math:: p(z) = \prod_j p(z_j \mid s_1, \dots, s_{j-1}), \qquad s_j = \mathbf{1}[z_j \ne 0]

    with each factor a `SpikeSlab`. The divergence of a posterior whose units are independent is a mean over its own
    gates of divergences unit by unit, because no factor depends on its own gate:

    .. math:: \mathrm{KL}(q\,\|\,p) = \mathbb{E}_{s \sim q} \sum_j \mathrm{KL}\big(q(z_j)\,\|\,p(z_j \mid s_{<j})\big)

    Parameters
    ----------
    given
        From gates, (..., K), to the law of each unit given the gates before it.
    none_on
        Gates of which none is on, (K,): zeros of the right number, type and place.
    validate_args
        As in torch: whether to check arguments and values.
    """

    arg_constraints: ClassVar = {}  # type: ignore[override]
    support = constraints.real_vector  # type: ignore[assignment]

    def __init__(
        self, given: Callable[[Tensor], SpikeSlab], none_on: Tensor, validate_args: bool | None = None
    ) -> None:
        self.given = given
        self.none_on = none_on
        super().__init__(torch.Size(), none_on.shape, validate_args=validate_args)

    def log_prob(self, value: Tensor) -> Tensor:
        """Log-density of whole codes against Lebesgue measure plus a point mass at zero in every unit."""
        return self.given((value != 0).to(value.dtype)).log_prob(value).sum(-1)

    def noise_like(self, sample_shape: Shape = ONE_DRAW, generator: Generator | None = None) -> Noise:
        """Draw the numbers a draw would use: ``gate`` uniform, ``slab`` standard normal."""
        with torch.no_grad():
            return self.given(self.none_on).noise_like(sample_shape, generator)

    @torch.no_grad()
    def sample(self, sample_shape: Shape = ONE_DRAW, noise: Noise | None = None) -> Tensor:
        """Draw codes, unit after unit, with exact zeros."""
        noise = self.noise_like(sample_shape) if noise is None else noise
        gates = torch.zeros_like(noise["gate"])
        for unit in range(gates.shape[-1]):
            off = (-self.given(gates).logits[..., unit]).sigmoid()
            gates[..., unit] = (noise["gate"][..., unit] > off).to(gates.dtype)
        return torch.where(gates > 0, self.given(gates).slab.rsample(noise=noise["slab"]), 0.0)
