"""Variational Sparse Coding, UAI 2019, and its supplement: pseudo-inputs, spikes trained first, known sources."""

from fewhot_papers.reproduction.uai2019 import fitting as fitting  # enters the cell functions
from fewhot_papers.reproduction.uai2019.activation import FIGURE_6, FIGURE_7
from fewhot_papers.reproduction.uai2019.bounds import ELBO, ELBO_HAR
from fewhot_papers.reproduction.uai2019.disentanglement import FIGURE_3, FIGURE_3_BINARY
from fewhot_papers.reproduction.uai2019.faces import FACES

ENTRIES = (ELBO, ELBO_HAR, FIGURE_3, FIGURE_3_BINARY, FIGURE_6, FIGURE_7, FACES)
