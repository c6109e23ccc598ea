"""Priors p(z). They are called with a function from rows to posteriors, which fixed priors ignore."""

from fewhot.priors.base import PosteriorOf, Prior
from fewhot.priors.spike_slab import SpikeSlabPrior
from fewhot.priors.standard import StandardPrior

__all__ = ["PosteriorOf", "Prior", "SpikeSlabPrior", "StandardPrior"]
