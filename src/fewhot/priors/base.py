"""What every prior promises."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.distributions import Distribution

from fewhot.core.parts import Part
from fewhot.core.records import ColumnMoments, Rows
from fewhot.distributions import SpikeSlab

PosteriorOf = Callable[[Rows], Distribution]


class Prior(Part):
    """A distribution over codes: of batch shape (K,) or (B, K), or of event shape (K,) where units hang together."""

    n_latent: int

    def fit(self, moments: ColumnMoments) -> None:
        """Keep what is needed of the training rows; most priors need nothing."""

    def take_back(self, shift: float) -> None:
        """Stay the same law although every gate of the posteriors was shifted; most priors do anyway."""

    def forward(self, posterior_of: PosteriorOf) -> Distribution:
        """Return p(z); ``posterior_of`` encodes rows, for priors that are made of pseudo-inputs."""
        raise TypeError(f"{type(self).__name__} does not say its distribution; define forward(posterior_of).")

    def sample(self, n: int, posterior_of: PosteriorOf, generator: torch.Generator) -> Tensor:
        """Return ``n`` codes drawn from the prior with exact gates, (n, K)."""
        raise TypeError(f"{type(self).__name__} does not say how to draw; define sample(n, posterior_of, generator).")

    def values_given(self, active: Tensor, posterior_of: PosteriorOf) -> tuple[Tensor, Tensor]:
        """Return mean and deviation of every unit's value when on, in codes of which ``active`` (n, K) are on."""
        law = self(posterior_of)
        values = law.slab if isinstance(law, SpikeSlab) else law
        return values.mean.expand(active.shape), values.stddev.expand(active.shape)

    def sample_given(self, active: Tensor, posterior_of: PosteriorOf, generator: torch.Generator) -> Tensor:
        """Return a code for each row of ``active`` (n, K): values from the prior for its units, zeros elsewhere."""
        law, n = self(posterior_of), (len(active),)
        if isinstance(law, SpikeSlab):
            values = law.slab.rsample(n, noise=law.slab.noise_like(n, generator))
        else:
            values = self.sample(len(active), posterior_of, generator)
        return torch.where(active, values, 0.0)
