"""Variational Sparse Coding, UAI 2019, and its supplement: pseudo-inputs, spikes trained first, known sources."""

from fewhot.reproduction.uai2019 import fitting as fitting  # enters the cell functions
from fewhot.reproduction.uai2019.disentanglement import FIGURE_3

ENTRIES = (FIGURE_3,)
