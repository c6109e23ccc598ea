"""The prior that knows which units go together."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from fewhot.core.checks import real_number, whole_number
from fewhot.core.clipping import LOG_VARIANCE_RANGE, LOGIT_RANGE, clip_keeping_gradient
from fewhot.core.registry import PRIORS
from fewhot.distributions import JointSpikeSlab, SpikeSlab
from fewhot.nn import Autoregression
from fewhot.priors.base import PosteriorOf, Prior

MOST_HIDDEN = 512


@PRIORS.register("joint-spike-slab")
class JointSpikeSlabPrior(Prior):
    r"""What a unit does depends on which earlier ones are on.

    .. math:: p(z_j \mid s_{<j}) = \rho_j\,\mathcal{N}(m_j, v_j) + (1-\rho_j)\,\delta_0, \qquad
        (\operatorname{logit}\rho_j,\, m_j,\, \log v_j) = c_j + f_j(s_1, \dots, s_{j-1})

    with f a masked network of one hidden layer, 0 to begin with. It does not see the row, so the bound stays a bound.

    Parameters
    ----------
    n_latent
        Number of units.
    rate
        The on-rate of every unit to begin with.
    n_hidden
        Width of the hidden layer; when not given, twice the number of units, at most 512.
    """

    none_on: Tensor

    def __init__(self, n_latent: int, rate: float, n_hidden: int | None = None) -> None:
        super().__init__()
        self.n_latent = n_latent
        self.rate = real_number("rate", rate, low=1e-6, high=1 - 1e-6)
        self.n_hidden = min(2 * n_latent, MOST_HIDDEN) if n_hidden is None else whole_number("n_hidden", n_hidden)
        self.logits = nn.Parameter(torch.full((n_latent,), rate).logit())
        self.loc = nn.Parameter(torch.zeros(n_latent))
        self.logvar = nn.Parameter(torch.zeros(n_latent))
        self.network = Autoregression(n_latent, self.n_hidden, n_outputs=3)
        self.register_buffer("none_on", torch.zeros(n_latent), persistent=False)

    def forward(self, posterior_of: PosteriorOf) -> JointSpikeSlab:
        """Return the prior of whole codes."""
        return JointSpikeSlab(self.given, self.none_on, validate_args=False)

    def given(self, gates: Tensor) -> SpikeSlab:
        """Return the law of each unit given the gates before it, (..., K)."""
        logits, loc, logvar = (change.float() for change in self.network(gates))
        logits = clip_keeping_gradient(self.logits + logits, *LOGIT_RANGE)
        scale = torch.exp(0.5 * clip_keeping_gradient(self.logvar + logvar, *LOG_VARIANCE_RANGE))
        return SpikeSlab(logits, self.loc + loc, scale, validate_args=False)

    def sample(self, n: int, posterior_of: PosteriorOf, generator: torch.Generator) -> Tensor:
        """Return codes with exact zeros."""
        p = self(posterior_of)
        return p.sample((n,), noise=p.noise_like((n,), generator))

    def values_given(self, active: Tensor, posterior_of: PosteriorOf) -> tuple[Tensor, Tensor]:
        """Return mean and deviation of every unit's value when on, given which units before it are."""
        slab = self.given(active.to(self.none_on.dtype)).slab
        return slab.mean, slab.stddev

    def sample_given(self, active: Tensor, posterior_of: PosteriorOf, generator: torch.Generator) -> Tensor:
        """Return a code for each row of ``active``: values that go with these units, zeros elsewhere."""
        slab = self.given(active.to(self.none_on.dtype)).slab
        return torch.where(active, slab.rsample(noise=slab.noise_like(generator=generator)), 0.0)
