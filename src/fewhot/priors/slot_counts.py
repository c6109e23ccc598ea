"""The prior of gated counts: how often slots are on, and what they choose."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from fewhot.core.checks import real_number, truth, whole_number
from fewhot.core.clipping import LOGIT_RANGE
from fewhot.core.registry import PRIORS
from fewhot.distributions import SlotCounts
from fewhot.distributions.one_hot import chosen
from fewhot.distributions.slot_counts import preferences
from fewhot.priors.base import PosteriorOf, Prior


@PRIORS.register("slot-counts")
class SlotCountsPrior(Prior):
    r""":math:`\omega_\ell \sim \mathrm{Bernoulli}(\lambda_0)`, :math:`s_\ell \sim \mathrm{Categorical}(\kappa)`.

    Learned ones need no clip: the slope of the divergence by a logit is the prior's probability less the posterior's,
    which is gone where both are near 0 or 1.

    Parameters
    ----------
    n_latent, n_slots
        Numbers of units and of slots.
    rate
        The probability :math:`\lambda_0` that a slot is on, to begin with or for good.
    shared
        Whether all slots have the same law; only learned ones can differ.
    learned
        Whether rates and what slots choose are parameters; else every unit is as likely as any other.
    preference
        As in the family: how much likelier a slot finds units of its own to begin with.
    """

    gates: Tensor
    features: Tensor

    def __init__(
        self,
        n_latent: int,
        n_slots: int,
        rate: float = 0.5,
        shared: bool = True,
        learned: bool = False,
        preference: float = 0.0,
    ) -> None:
        super().__init__()
        self.n_latent = n_latent
        self.n_slots = whole_number("n_slots", n_slots)
        self.rate = real_number("rate", rate, low=0, high=1, open_low=True)
        self.shared = truth("shared", shared)
        self.learned = truth("learned", learned)
        self.preference = real_number("preference", preference, low=0)
        n_laws = 1 if shared or not learned else n_slots
        logit = min(math.inf if rate == 1 else math.log(rate / (1 - rate)), LOGIT_RANGE[1])
        start = {"gates": torch.full((n_laws,), logit), "features": preferences(n_laws, n_latent, preference)}
        for name, value in start.items():
            if learned:
                self.register_parameter(name, nn.Parameter(value))
            else:
                self.register_buffer(name, value)

    def forward(self, posterior_of: PosteriorOf) -> SlotCounts:
        """Return the prior, over codes (K,)."""
        return SlotCounts(self.gates, self.features, self.n_slots, validate_args=False)

    def sample(self, n: int, posterior_of: PosteriorOf, generator: torch.Generator) -> Tensor:
        """Return counts."""
        p = self(posterior_of)
        return p.sample((n,), noise=p.noise_like((n,), generator))

    def values_given(self, active: Tensor, posterior_of: PosteriorOf) -> tuple[Tensor, Tensor]:
        """Return mean and deviation of every unit's count where it is at least 1."""
        weights = self._counts_when_on(posterior_of)  # (K, L)
        counts = torch.arange(1, self.n_slots + 1, device=weights.device)
        mean = (weights * counts).sum(-1)
        variance = (weights * (counts - mean[:, None]).square()).sum(-1)
        return mean.expand(active.shape), variance.sqrt().expand(active.shape)

    def sample_given(self, active: Tensor, posterior_of: PosteriorOf, generator: torch.Generator) -> Tensor:
        """Return counts of at least 1 for the units of each row of ``active``, unit by unit; zeros elsewhere."""
        log_weights = self._counts_when_on(posterior_of).log()  # (K, L)
        noise = torch.rand((*active.shape, 1), generator=generator, device=generator.device)
        counts = 1 + chosen(log_weights.expand(*active.shape, -1), noise)
        return torch.where(active, counts.to(log_weights.dtype), 0.0)

    def _counts_when_on(self, posterior_of: PosteriorOf) -> Tensor:
        """Return the probabilities of counts 1 to L of each unit that is chosen at all, (K, L).

        Those of a binomial law with the unit's mean: exact where slots share their law.
        """
        rate = (self(posterior_of).mean / self.n_slots).clamp(1e-12, 1 - 1e-6)
        counts = torch.arange(1, self.n_slots + 1, device=rate.device, dtype=rate.dtype)
        total = rate.new_tensor(float(self.n_slots))
        ways = torch.lgamma(total + 1) - torch.lgamma(counts + 1) - torch.lgamma(total - counts + 1)
        log_rate, log_rest = rate.log()[:, None], torch.log1p(-rate)[:, None]
        return torch.softmax(ways + counts * log_rate + (total - counts) * log_rest, dim=-1)
