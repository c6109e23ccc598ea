"""Priors p(z). They are called with a function from rows to posteriors, which fixed priors ignore."""

from fewhot.priors.base import PosteriorOf, Prior
from fewhot.priors.beta_spike_slab import BetaSpikeSlabPrior
from fewhot.priors.gaussian_spike_slab import GaussianSpikeSlabPrior
from fewhot.priors.joint_spike_slab import JointSpikeSlabPrior
from fewhot.priors.pseudo_inputs import PseudoInputPrior
from fewhot.priors.spike_slab import SpikeSlabPrior
from fewhot.priors.standard import StandardPrior

__all__ = [
    "BetaSpikeSlabPrior",
    "GaussianSpikeSlabPrior",
    "JointSpikeSlabPrior",
    "PosteriorOf",
    "Prior",
    "PseudoInputPrior",
    "SpikeSlabPrior",
    "StandardPrior",
]
