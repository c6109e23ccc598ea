"""Latent families: features to local parameters psi, psi to a posterior, a posterior to codes."""

from fewhot.latents.base import CodeSummary, Latent
from fewhot.latents.beta_spike_slab import BetaSpikeSlabLatent
from fewhot.latents.gaussian import GaussianLatent
from fewhot.latents.relaxations import BinaryConcrete, SharpSigmoid
from fewhot.latents.spike_slab import SpikeSlabLatent

__all__ = [
    "BetaSpikeSlabLatent",
    "BinaryConcrete",
    "CodeSummary",
    "GaussianLatent",
    "Latent",
    "SharpSigmoid",
    "SpikeSlabLatent",
]
