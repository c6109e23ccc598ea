"""The Beta spike-and-slab prior: how often each unit is on is itself drawn."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from fewhot.core.checks import real_number
from fewhot.core.clipping import LOG_VARIANCE_RANGE, clip_keeping_gradient
from fewhot.core.registry import PRIORS
from fewhot.distributions import BetaSpikeSlab
from fewhot.priors.base import PosteriorOf, Prior

_LOG_RANGE = (-7.0, 7.0)


@PRIORS.register("beta-spike-slab")
class BetaSpikeSlabPrior(Prior):
    r""":math:`v_j \sim \mathrm{Beta}(b, a)`, then :math:`z_j \sim v_j\,\mathcal{N}(m_j,s_j^2) + (1-v_j)\,\delta_0`.

    Parameters
    ----------
    n_latent
        Number of units.
    off, on
        The concentrations a and b of every unit, to begin with or for good.
    learned
        Whether each unit's concentrations and slab are parameters. The bound stays a bound.
    """

    log_off: Tensor
    log_on: Tensor
    loc: Tensor
    logvar: Tensor

    def __init__(self, n_latent: int, off: float = 4.0, on: float = 1.0, learned: bool = False) -> None:
        super().__init__()
        self.n_latent = n_latent
        self.off = real_number("off", off, low=0, open_low=True)
        self.on = real_number("on", on, low=0, open_low=True)
        self.learned = learned
        logs = torch.tensor([off, on]).log()
        for name, value in (("log_off", logs[0]), ("log_on", logs[1]), ("loc", 0.0), ("logvar", 0.0)):
            start = torch.full((n_latent,), float(value))
            if learned:
                self.register_parameter(name, nn.Parameter(start))
            else:
                self.register_buffer(name, start)

    def forward(self, posterior_of: PosteriorOf) -> BetaSpikeSlab:
        """Return the prior, (K,)."""
        off, on = (clip_keeping_gradient(log, *_LOG_RANGE).exp() for log in (self.log_off, self.log_on))
        scale = torch.exp(0.5 * clip_keeping_gradient(self.logvar, *LOG_VARIANCE_RANGE))
        return BetaSpikeSlab(off, on, self.loc, scale, validate_args=False)

    def sample(self, n: int, posterior_of: PosteriorOf, generator: torch.Generator) -> Tensor:
        """Return codes with exact zeros."""
        p = self(posterior_of)
        return p.sample((n,), noise=p.noise_like((n,), generator))
