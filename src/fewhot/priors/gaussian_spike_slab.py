"""A dense prior with a spike of some width: most values near zero, none exactly there."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from fewhot.core.checks import real_number
from fewhot.core.registry import PRIORS
from fewhot.distributions import GaussianSpikeSlab
from fewhot.priors.base import PosteriorOf, Prior


@PRIORS.register("gaussian-spike-slab")
class GaussianSpikeSlabPrior(Prior):
    r""":math:`p(z) = \prod_j (1-w)\,\mathcal{N}(0, 1) + w\,\mathcal{N}(0, s_0^2)`.

    Parameters
    ----------
    n_latent
        Number of units.
    spike_weight
        The spike's weight w; 0 gives the standard normal.
    spike_std
        Its width :math:`s_0`.
    """

    logits: Tensor
    loc: Tensor
    scale: Tensor
    spike: Tensor

    def __init__(self, n_latent: int, spike_weight: float = 0.8, spike_std: float = 0.05) -> None:
        super().__init__()
        self.n_latent = n_latent
        self.spike_weight = real_number("spike_weight", spike_weight, low=0, high=1)
        self.spike_std = real_number("spike_std", spike_std, low=0, open_low=True)
        on = 1 - spike_weight
        logit = math.inf if on == 1 else -math.inf if on == 0 else math.log(on / spike_weight)
        for name, value in (("logits", logit), ("loc", 0.0), ("scale", 1.0), ("spike", spike_std)):
            self.register_buffer(name, torch.full((n_latent,), value), persistent=False)

    def forward(self, posterior_of: PosteriorOf) -> GaussianSpikeSlab:
        """Return the prior, (K,)."""
        return GaussianSpikeSlab(self.logits, self.loc, self.scale, self.spike, validate_args=False)

    def sample(self, n: int, posterior_of: PosteriorOf, generator: torch.Generator) -> Tensor:
        """Return codes."""
        p = self(posterior_of)
        return p.sample((n,), noise=p.noise_like((n,), generator))
