"""The categorical family: groups of units, exactly one of which is on."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.distributions import Distribution

from fewhot.core.checks import whole_number
from fewhot.core.clipping import clip_below_largest
from fewhot.core.errors import InvalidParameterError
from fewhot.core.records import Draw, Knobs, Noise, Params
from fewhot.core.registry import LATENTS
from fewhot.distributions import OneHotGroups, categorical_kl
from fewhot.distributions.noise import latin_uniforms
from fewhot.latents.base import CodeSummary, Latent
from fewhot.latents.choices import ChoiceEstimator, Concrete

EXACT = Knobs(gates="exact")


@LATENTS.register("one-hot")
class OneHotLatent(Latent):
    r""":math:`q(z|x) = \prod_n \mathrm{Categorical}(\pi_n(x))`: N choices among C classes, side by side.

    Parameters
    ----------
    n_in, n_latent
        Widths of the features and of the code, N C.
    n_classes
        The number C of classes of each choice.
    estimator
        How choices are drawn in training; ``Concrete()``, Gumbel-softmax, when not given.
    """

    gated = True
    refinable = ("logits",)

    def __init__(self, n_in: int, n_latent: int, n_classes: int = 2, estimator: ChoiceEstimator | None = None) -> None:
        super().__init__()
        self.n_in = n_in
        self.n_latent = n_latent
        self.n_classes = whole_number("n_classes", n_classes, least=2)
        if n_latent % n_classes:
            raise InvalidParameterError(
                f"{n_latent} units cannot be grouped into choices among {n_classes}; give a multiple of {n_classes}."
            )
        self.estimator = estimator or Concrete()
        self.head = nn.Linear(n_in, n_latent)

    def psi(self, h: Tensor) -> Params:
        """Return the logits of each row."""
        return {"logits": self.head(h).float()}

    def posterior(self, psi: Params, knobs: Knobs) -> OneHotGroups:
        """Return the choices, whose draws are those that ``knobs`` ask for."""
        logits = clip_below_largest(psi["logits"].unflatten(-1, (-1, self.n_classes)))
        return OneHotGroups(logits.flatten(-2), self.n_classes, self.estimator(knobs), validate_args=False)

    def noise(self, n_rows: int, generator: torch.Generator) -> Noise:
        """Return the uniform numbers by which choices are made, (n, N W)."""
        width = self._n_choices * self.estimator.noise_width(self.n_classes)
        return {"choices": torch.rand(n_rows, width, generator=generator, device=generator.device)}

    def bank(self, n: int, generator: torch.Generator) -> list[Noise]:
        """Return stratified uniform numbers, one a choice."""
        return [{"choices": row[None]} for row in latin_uniforms(n, self._n_choices, generator)]

    def training_bank(self, n: int, generator: torch.Generator) -> list[Noise]:
        """Return as many numbers as the estimator asks for."""
        return [self.noise(1, generator) for _ in range(n)]

    def draw(self, q: Distribution, noise: Noise) -> Draw:
        """Return one-hot vectors, side by side."""
        assert isinstance(q, OneHotGroups)
        z = q.draw(noise["choices"])
        return Draw(z, z)

    def divergence(self, q: Distribution, p: Distribution, draw: Draw) -> Params:
        """Return the divergence of the choices."""
        assert isinstance(q, OneHotGroups)
        assert isinstance(p, OneHotGroups)
        return {"kl": categorical_kl(q.log_probs, p.log_probs).sum(-1)}

    def summary(self, psi: Params) -> CodeSummary:
        """Return ones for the likeliest classes; a class's margin is that over the likeliest other one."""
        q = self.posterior(psi, EXACT)
        probs = q.mean
        return CodeSummary(torch.ones_like(probs), q.variance, torch.logit(probs, eps=1e-7), q.margins, probs)

    @property
    def _n_choices(self) -> int:
        return self.n_latent // self.n_classes
