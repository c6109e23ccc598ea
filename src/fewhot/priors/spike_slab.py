"""The spike-and-slab prior: each unit on with some rate, with a Gaussian slab when on."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from fewhot.core.checks import real_number
from fewhot.core.clipping import LOG_VARIANCE_RANGE, LOGIT_RANGE, clip_keeping_gradient
from fewhot.core.registry import PRIORS
from fewhot.distributions import SpikeSlab
from fewhot.priors.base import PosteriorOf, Prior


@PRIORS.register("spike-slab")
class SpikeSlabPrior(Prior):
    r""":math:`p(z) = \prod_j \rho_j \mathcal{N}(m_j, s_j^2) + (1-\rho_j)\,\delta_0`.

    Parameters
    ----------
    n_latent
        Number of units.
    rate
        The on-rate :math:`\rho_j` of every unit, to begin with or for good; 1 makes every unit as sure to be on as a
        posterior can be: a surer prior would make every divergence infinite.
    learned
        Whether each unit's rate and slab are parameters. The bound stays a bound: the prior does not see the row.
    """

    logits: Tensor
    loc: Tensor
    logvar: Tensor

    def __init__(self, n_latent: int, rate: float, learned: bool = False) -> None:
        super().__init__()
        self.n_latent = n_latent
        self.rate = real_number("rate", rate, low=0, high=1, open_low=True)
        self.learned = learned
        logit = min(math.inf if rate == 1 else math.log(rate / (1 - rate)), LOGIT_RANGE[1])
        for name, value in (("logits", logit), ("loc", 0.0), ("logvar", 0.0)):
            start = torch.full((n_latent,), value)
            if learned:
                self.register_parameter(name, nn.Parameter(start))
            else:
                self.register_buffer(name, start)

    def forward(self, posterior_of: PosteriorOf) -> SpikeSlab:
        """Return the prior, (K,)."""
        logits = clip_keeping_gradient(self.logits, *LOGIT_RANGE) if self.learned else self.logits
        scale = torch.exp(0.5 * clip_keeping_gradient(self.logvar, *LOG_VARIANCE_RANGE))
        return SpikeSlab(logits, self.loc, scale, validate_args=False)

    def sample(self, n: int, posterior_of: PosteriorOf, generator: torch.Generator) -> Tensor:
        """Return codes with exact zeros."""
        p = self(posterior_of)
        return p.sample((n,), noise=p.noise_like((n,), generator))
