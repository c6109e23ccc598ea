"""The Bernoulli family: units that are on or off, and nothing else."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.distributions import Distribution

from fewhot.core.clipping import LOGIT_RANGE, clip_keeping_gradient
from fewhot.core.records import Draw, Knobs, Noise, Params
from fewhot.core.registry import LATENTS
from fewhot.distributions import CoinFlips, Gate, bernoulli_kl
from fewhot.distributions.noise import latin_uniforms
from fewhot.latents.base import CodeSummary, Latent
from fewhot.latents.choices import ChoiceEstimator, Concrete


@LATENTS.register("bernoulli")
class BernoulliLatent(Latent):
    r""":math:`q(z|x) = \prod_j \mathrm{Bernoulli}(\gamma_j(x))`.

    Parameters
    ----------
    n_in, n_latent
        Widths of the features and of the code.
    estimator
        How units are drawn in training, each a choice between on and off; ``Concrete()`` when not given.
    """

    gated = True
    refinable = ("logits",)

    def __init__(self, n_in: int, n_latent: int, estimator: ChoiceEstimator | None = None) -> None:
        super().__init__()
        self.n_in = n_in
        self.n_latent = n_latent
        self.estimator = estimator or Concrete()
        self.head = nn.Linear(n_in, n_latent)

    def psi(self, h: Tensor) -> Params:
        """Return the logits of each row."""
        return {"logits": self.head(h).float()}

    @torch.no_grad()
    def shift_gates(self, shift: float) -> None:
        """Add ``shift`` to the logit of every unit."""
        self.head.bias.add_(shift)

    def posterior(self, psi: Params, knobs: Knobs) -> CoinFlips:
        """Return the coins, whose draws are those that ``knobs`` ask for."""
        logits = clip_keeping_gradient(psi["logits"], *LOGIT_RANGE)
        return CoinFlips(logits, self.estimator(knobs), validate_args=False)

    def noise(self, n_rows: int, generator: torch.Generator) -> Noise:
        """Return the uniform numbers by which coins fall, (n, K W)."""
        width = self.n_latent * self.estimator.noise_width(2)
        return {"coins": torch.rand(n_rows, width, generator=generator, device=generator.device)}

    def bank(self, n: int, generator: torch.Generator) -> list[Noise]:
        """Return stratified uniform numbers, one a unit."""
        return [{"coins": row[None]} for row in latin_uniforms(n, self.n_latent, generator)]

    def training_bank(self, n: int, generator: torch.Generator) -> list[Noise]:
        """Return as many numbers as the estimator asks for."""
        return [self.noise(1, generator) for _ in range(n)]

    def draw(self, q: Distribution, noise: Noise) -> Draw:
        """Return which units are on."""
        assert isinstance(q, CoinFlips)
        z = q.draw(noise["coins"])
        return Draw(z, z)

    def divergence(self, q: Distribution, p: Distribution, draw: Draw) -> Params:
        """Return the divergence of the coins."""
        assert isinstance(q, Gate)
        assert isinstance(p, Gate)
        return {"kl": bernoulli_kl(q.logits, p.logits).sum(-1)}

    def summary(self, psi: Params) -> CodeSummary:
        """Return ones, with the logits that say which of them are on."""
        logits = psi["logits"].clamp(*LOGIT_RANGE)
        variance = logits.sigmoid() * (-logits).sigmoid()
        return CodeSummary(torch.ones_like(logits), variance, logits)
