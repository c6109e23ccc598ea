"""The Gaussian family: dense codes."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.distributions import Distribution

from fewhot.core.checks import real_number
from fewhot.core.clipping import LOG_VARIANCE_RANGE, clip_keeping_gradient
from fewhot.core.records import Draw, Knobs, Noise, Params
from fewhot.core.registry import LATENTS
from fewhot.distributions import Gaussian, GaussianSpikeSlab, gaussian_kl
from fewhot.distributions.noise import latin_normals
from fewhot.latents.base import CodeSummary, Latent


@LATENTS.register("gaussian")
class GaussianLatent(Latent):
    r""":math:`q(z|x) = \mathcal{N}(\mu(x), \mathrm{diag}\,\sigma^2(x))`, one linear head for both.

    Parameters
    ----------
    n_in
        Width of what the encoder returns.
    n_latent
        Number of units.
    start_scale
        What :math:`\sigma` is about when training begins.
    """

    refinable = ("loc", "logvar")

    def __init__(self, n_in: int, n_latent: int, start_scale: float = 1.0) -> None:
        super().__init__()
        self.n_in = n_in
        self.n_latent = n_latent
        self.start_scale = real_number("start_scale", start_scale, low=0, open_low=True)
        self.heads = nn.Linear(n_in, 2 * n_latent)
        with torch.no_grad():
            self.heads.bias[n_latent:] += 2 * math.log(start_scale)

    def psi(self, h: Tensor) -> Params:
        """Return the mean and log variance of each row."""
        loc, logvar = self.heads(h).float().chunk(2, dim=-1)
        return {"loc": loc, "logvar": logvar}

    def posterior(self, psi: Params, knobs: Knobs) -> Gaussian:
        """Return the Gaussian."""
        scale = torch.exp(0.5 * clip_keeping_gradient(psi["logvar"], *LOG_VARIANCE_RANGE))
        return Gaussian(psi["loc"], scale, validate_args=False)

    def noise(self, n_rows: int, generator: torch.Generator) -> Noise:
        """Return standard normals."""
        return {"slab": torch.randn(n_rows, self.n_latent, generator=generator, device=generator.device)}

    def bank(self, n: int, generator: torch.Generator) -> list[Noise]:
        """Return stratified standard normals."""
        return [{"slab": row[None]} for row in latin_normals(n, self.n_latent, generator)]

    def draw(self, q: Distribution, noise: Noise) -> Draw:
        """Return the mean plus scaled noise."""
        assert isinstance(q, Gaussian)
        return Draw(q.rsample(noise["slab"].shape[:-2], noise=noise["slab"]))

    def divergence(self, q: Distribution, p: Distribution, draw: Draw) -> Params:
        """Return the closed form against a Gaussian prior, an estimate from the draw against any other."""
        if isinstance(q, Gaussian) and isinstance(p, Gaussian):
            return {"kl": gaussian_kl(q, p).sum(-1)}
        if isinstance(p, GaussianSpikeSlab):
            return {"kl": self.log_ratio(q, p, draw)}
        return super().divergence(q, p, draw)

    def summary(self, psi: Params) -> CodeSummary:
        """Return the mean and variance; every unit is active."""
        return CodeSummary(psi["loc"], psi["logvar"].clamp(*LOG_VARIANCE_RANGE).exp())
