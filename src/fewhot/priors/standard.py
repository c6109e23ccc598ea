"""The standard normal prior."""

from __future__ import annotations

import torch
from torch import Tensor

from fewhot.core.registry import PRIORS
from fewhot.distributions import Gaussian
from fewhot.priors.base import PosteriorOf, Prior


@PRIORS.register("standard")
class StandardPrior(Prior):
    r""":math:`p(z) = \mathcal{N}(0, I)`."""

    loc: Tensor
    scale: Tensor

    def __init__(self, n_latent: int) -> None:
        super().__init__()
        self.n_latent = n_latent
        self.register_buffer("loc", torch.zeros(n_latent), persistent=False)
        self.register_buffer("scale", torch.ones(n_latent), persistent=False)

    def forward(self, posterior_of: PosteriorOf) -> Gaussian:
        """Return the standard normal, (K,)."""
        return Gaussian(self.loc, self.scale, validate_args=False)

    def sample(self, n: int, posterior_of: PosteriorOf, generator: torch.Generator) -> Tensor:
        """Return standard normal codes."""
        return torch.randn(n, self.n_latent, generator=generator, device=generator.device)
