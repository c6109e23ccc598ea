"""Priors p(z). They are called with a function from rows to posteriors, which fixed priors ignore."""

from fewhot.priors.base import PosteriorOf, Prior
from fewhot.priors.beta_spike_slab import BetaSpikeSlabPrior
from fewhot.priors.choices import BernoulliPrior, OneHotPrior
from fewhot.priors.gaussian_spike_slab import GaussianSpikeSlabPrior
from fewhot.priors.joint_slot_counts import JointSlotCountsPrior
from fewhot.priors.joint_spike_slab import JointSpikeSlabPrior
from fewhot.priors.pseudo_inputs import PseudoInputPrior
from fewhot.priors.slot_counts import SlotCountsPrior
from fewhot.priors.spike_slab import SpikeSlabPrior
from fewhot.priors.standard import StandardPrior

__all__ = [
    "BernoulliPrior",
    "BetaSpikeSlabPrior",
    "GaussianSpikeSlabPrior",
    "JointSlotCountsPrior",
    "JointSpikeSlabPrior",
    "OneHotPrior",
    "PosteriorOf",
    "Prior",
    "PseudoInputPrior",
    "SlotCountsPrior",
    "SpikeSlabPrior",
    "StandardPrior",
]
