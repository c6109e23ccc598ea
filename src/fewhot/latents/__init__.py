"""Latent families: features to local parameters psi, psi to a posterior, a posterior to codes."""

from fewhot.latents.base import CodeSummary, Latent
from fewhot.latents.bernoulli import BernoulliLatent
from fewhot.latents.beta_spike_slab import BetaSpikeSlabLatent
from fewhot.latents.choices import ChoiceEstimator, WithoutGradient, choice_estimator
from fewhot.latents.gaussian import GaussianLatent
from fewhot.latents.one_hot import OneHotLatent
from fewhot.latents.relaxations import BinaryConcrete, SharpSigmoid
from fewhot.latents.slot_counts import SlotCountsLatent
from fewhot.latents.spike_slab import SpikeSlabLatent

__all__ = [
    "BernoulliLatent",
    "BetaSpikeSlabLatent",
    "BinaryConcrete",
    "ChoiceEstimator",
    "CodeSummary",
    "GaussianLatent",
    "Latent",
    "OneHotLatent",
    "SharpSigmoid",
    "SlotCountsLatent",
    "SpikeSlabLatent",
    "WithoutGradient",
    "choice_estimator",
]
