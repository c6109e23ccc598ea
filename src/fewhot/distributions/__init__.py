"""Distributions: Gaussian, gates, spike and slab, choices, counts; one family a file, each with its divergence.

All follow `torch.distributions`, and add to it explicit noise: ``noise_like`` draws the random numbers, ``rsample``
and ``sample`` accept them.
"""

from fewhot.distributions.beta import beta_kl as beta_kl
from fewhot.distributions.beta import log_odds_draw as log_odds_draw
from fewhot.distributions.beta import log_odds_log_prob as log_odds_log_prob
from fewhot.distributions.beta_spike_slab import BetaSpikeSlab as BetaSpikeSlab
from fewhot.distributions.beta_spike_slab import hierarchical_gate_kl as hierarchical_gate_kl
from fewhot.distributions.blended_spike_slab import BlendedSpikeSlab as BlendedSpikeSlab
from fewhot.distributions.gates import BinaryConcreteGate as BinaryConcreteGate
from fewhot.distributions.gates import Estimator as Estimator
from fewhot.distributions.gates import ExactGate as ExactGate
from fewhot.distributions.gates import Gate as Gate
from fewhot.distributions.gates import RelaxedGate as RelaxedGate
from fewhot.distributions.gates import SharpSigmoidGate as SharpSigmoidGate
from fewhot.distributions.gates import bernoulli_kl as bernoulli_kl
from fewhot.distributions.gaussian import Gaussian as Gaussian
from fewhot.distributions.gaussian import gaussian_kl as gaussian_kl
from fewhot.distributions.gaussian_spike_slab import GaussianSpikeSlab as GaussianSpikeSlab
from fewhot.distributions.joint_slot_counts import JointSlotCounts as JointSlotCounts
from fewhot.distributions.joint_spike_slab import JointSpikeSlab as JointSpikeSlab
from fewhot.distributions.one_hot import Choice as Choice
from fewhot.distributions.one_hot import CoinFlips as CoinFlips
from fewhot.distributions.one_hot import OneHot as OneHot
from fewhot.distributions.one_hot import OneHotGroups as OneHotGroups
from fewhot.distributions.one_hot import categorical_kl as categorical_kl
from fewhot.distributions.slot_counts import SlotCounts as SlotCounts
from fewhot.distributions.slot_counts import SlotKL as SlotKL
from fewhot.distributions.slot_counts import slot_kl as slot_kl
from fewhot.distributions.spike_slab import Relaxation as Relaxation
from fewhot.distributions.spike_slab import SpikeSlab as SpikeSlab
from fewhot.distributions.spike_slab import SpikeSlabKL as SpikeSlabKL
from fewhot.distributions.spike_slab import kl_parts as kl_parts
from fewhot.distributions.spike_slab_mixture import MixtureKL as MixtureKL
from fewhot.distributions.spike_slab_mixture import SpikeSlabMixture as SpikeSlabMixture
from fewhot.distributions.spike_slab_mixture import choice_kl as choice_kl
from fewhot.distributions.spike_slab_mixture import component_kl as component_kl
from fewhot.distributions.spike_slab_mixture import mixture_kl_bound as mixture_kl_bound

__all__ = [
    "BetaSpikeSlab",
    "BinaryConcreteGate",
    "BlendedSpikeSlab",
    "Choice",
    "CoinFlips",
    "Estimator",
    "ExactGate",
    "Gate",
    "Gaussian",
    "GaussianSpikeSlab",
    "JointSlotCounts",
    "JointSpikeSlab",
    "MixtureKL",
    "OneHot",
    "OneHotGroups",
    "Relaxation",
    "RelaxedGate",
    "SharpSigmoidGate",
    "SlotCounts",
    "SlotKL",
    "SpikeSlab",
    "SpikeSlabKL",
    "SpikeSlabMixture",
    "bernoulli_kl",
    "beta_kl",
    "categorical_kl",
    "choice_kl",
    "component_kl",
    "gaussian_kl",
    "hierarchical_gate_kl",
    "kl_parts",
    "log_odds_draw",
    "log_odds_log_prob",
    "mixture_kl_bound",
    "slot_kl",
]
