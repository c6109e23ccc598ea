"""The pseudo-input prior: a mixture of what the encoder says of a few learned rows."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from fewhot.core.checks import real_number, whole_number
from fewhot.core.clipping import clip_keeping_gradient
from fewhot.core.records import ColumnMoments, Dense
from fewhot.core.registry import PRIORS
from fewhot.distributions import SpikeSlab, SpikeSlabMixture
from fewhot.priors.base import PosteriorOf, Prior


@PRIORS.register("pseudo-inputs")
class PseudoInputPrior(Prior):
    r"""A uniform mixture of the posteriors of U learned rows.

    .. math:: p(z) = \frac{1}{U} \sum_u q(z \mid x_u)

    The rows :math:`x_u` are parameters, in units of each column's deviation about its mean, and begin as draws from
    these moments. They do not depend on the row that is coded, so the bound stays a bound.

    Parameters
    ----------
    n_latent
        Number of units.
    n_columns
        Width of the rows.
    n_pseudo_inputs
        How many rows U to learn.
    sharpness
        Sharpen the gates of the mixture to :math:`\sigma(\nu(\gamma_u - \tfrac12))`, which keeps their rates, and so
        every divergence, away from the extremes; None takes the encoder's gates as they are.
    low, high
        Bounds on the values of the learned rows, where the data have such bounds.

    References
    ----------
    Tonolini, Jensen and Murray-Smith (2019), Variational sparse coding, supplement; the sharpening is the code's.
    """

    loc: Tensor
    scale: Tensor
    gate_shift: Tensor

    def __init__(
        self,
        n_latent: int,
        n_columns: int,
        n_pseudo_inputs: int = 20,
        sharpness: float | None = 10.0,
        low: float | None = None,
        high: float | None = None,
    ) -> None:
        super().__init__()
        self.n_latent = n_latent
        self.n_columns = n_columns
        self.n_pseudo_inputs = whole_number("n_pseudo_inputs", n_pseudo_inputs)
        self.sharpness = None if sharpness is None else real_number("sharpness", sharpness, low=0, open_low=True)
        self.low = low
        self.high = high
        self.inputs = nn.Parameter(torch.randn(n_pseudo_inputs, n_columns))
        self.register_buffer("loc", torch.zeros(n_columns))
        self.register_buffer("scale", torch.ones(n_columns))
        self.register_buffer("gate_shift", torch.zeros(()))

    def fit(self, moments: ColumnMoments) -> None:
        """Keep the units in which the rows are learned."""
        self.loc.copy_(moments.mean)
        self.scale.copy_(moments.std)

    @torch.no_grad()
    def take_back(self, shift: float) -> None:
        """Stay the same law although every gate of the posteriors was shifted."""
        self.gate_shift -= shift

    def rows(self) -> Dense:
        """Return the learned rows as the encoder sees them, (U, D)."""
        low, high = -math.inf if self.low is None else self.low, math.inf if self.high is None else self.high
        return Dense(clip_keeping_gradient(self.loc + self.scale * self.inputs, low, high))

    def forward(self, posterior_of: PosteriorOf) -> SpikeSlabMixture:
        """Return the mixture of the rows' posteriors, event (K,)."""
        q = posterior_of(self.rows())
        assert isinstance(q, SpikeSlab)
        logits = q.logits + self.gate_shift
        logits = logits if self.sharpness is None else self.sharpness * (logits.sigmoid() - 0.5)
        laws = SpikeSlab(logits, q.loc, q.scale, validate_args=False)
        return SpikeSlabMixture(laws, validate_args=False)

    def sample(self, n: int, posterior_of: PosteriorOf, generator: torch.Generator) -> Tensor:
        """Return codes with exact zeros: a row at random, then a code from its law."""
        p = self(posterior_of)
        return p.sample((n,), noise=p.noise_like((n,), generator))

    def values_given(self, active: Tensor, posterior_of: PosteriorOf) -> tuple[Tensor, Tensor]:
        """Return mean and deviation of every unit's value when on, over the laws that may have these units on."""
        p = self(posterior_of)
        laws, shares = p.components.slab, p.responsibilities(active)  # (U, K), (n, U)
        mean = shares @ laws.mean
        return mean, (shares @ (laws.variance + laws.mean.square()) - mean.square()).clamp(min=0).sqrt()

    def sample_given(self, active: Tensor, posterior_of: PosteriorOf, generator: torch.Generator) -> Tensor:
        """Return a code for each row of ``active``: a law that is likely to have these units on, then its values."""
        p = self(posterior_of)
        index = torch.multinomial(p.responsibilities(active), 1, generator=generator)[:, 0]
        slab = p.component(index).slab
        return torch.where(active, slab.rsample(noise=slab.noise_like(generator=generator)), 0.0)
