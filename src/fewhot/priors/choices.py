"""Priors of discrete codes: every class of a choice, or every unit, as likely as another, or learned."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from fewhot.core.checks import real_number, truth, whole_number
from fewhot.core.clipping import LOGIT_RANGE, clip_keeping_gradient
from fewhot.core.registry import PRIORS
from fewhot.distributions import ExactGate, OneHotGroups
from fewhot.priors.base import PosteriorOf, Prior


class _Logits(Prior):
    """A prior that is a vector of logits, fixed or learned."""

    logits: Tensor

    def __init__(self, n_latent: int, learned: bool, start: float) -> None:
        super().__init__()
        self.n_latent = n_latent
        self.learned = truth("learned", learned)
        logits = torch.full((n_latent,), start)
        if learned:
            self.logits = nn.Parameter(logits)
        else:
            self.register_buffer("logits", logits)

    def values_given(self, active: Tensor, posterior_of: PosteriorOf) -> tuple[Tensor, Tensor]:
        """Return one, without deviation: a unit that is on has no other value."""
        ones = torch.ones(active.shape, device=active.device)
        return ones, torch.zeros_like(ones)

    def sample_given(self, active: Tensor, posterior_of: PosteriorOf, generator: torch.Generator) -> Tensor:
        """Return ones for the units of each row of ``active``; there is nothing to draw."""
        return active.to(self.logits.dtype)


@PRIORS.register("one-hot")
class OneHotPrior(_Logits):
    r""":math:`p(z) = \prod_n \mathrm{Categorical}(\kappa_n)`, uniform or learned.

    Parameters
    ----------
    n_latent, n_classes
        Width of the code, and classes of each choice.
    learned
        Whether the probabilities are parameters.
    """

    def __init__(self, n_latent: int, n_classes: int = 2, learned: bool = False) -> None:
        super().__init__(n_latent, learned, 0.0)
        self.n_classes = whole_number("n_classes", n_classes, least=2)

    def forward(self, posterior_of: PosteriorOf) -> OneHotGroups:
        """Return the prior, over codes (K,)."""
        return OneHotGroups(self.logits, self.n_classes, validate_args=False)

    def sample(self, n: int, posterior_of: PosteriorOf, generator: torch.Generator) -> Tensor:
        """Return one-hot vectors, side by side."""
        shape = (n, self.n_latent // self.n_classes)
        return self(posterior_of).draw(torch.rand(shape, generator=generator, device=generator.device))


@PRIORS.register("bernoulli")
class BernoulliPrior(_Logits):
    r""":math:`p(z) = \prod_j \mathrm{Bernoulli}(\rho_j)`.

    Parameters
    ----------
    n_latent
        Number of units.
    rate
        The on-rate :math:`\rho_j` of every unit, to begin with or for good.
    learned
        Whether rates are parameters.
    """

    def __init__(self, n_latent: int, rate: float = 0.5, learned: bool = False) -> None:
        self.rate = real_number("rate", rate, low=1e-6, high=1 - 1e-6)
        super().__init__(n_latent, learned, math.log(rate / (1 - rate)))

    def forward(self, posterior_of: PosteriorOf) -> ExactGate:
        """Return the prior, (K,)."""
        return ExactGate(clip_keeping_gradient(self.logits, *LOGIT_RANGE), validate_args=False)

    def sample(self, n: int, posterior_of: PosteriorOf, generator: torch.Generator) -> Tensor:
        """Return zeros and ones."""
        p = self(posterior_of)
        return p.sample((n,), noise=p.noise_like((n,), generator))
