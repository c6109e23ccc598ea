"""Variational Sparse Coding, the ICLR 2019 submission: every figure with results, on MNIST and Fashion-MNIST."""

from fewhot_papers.reproduction.iclr2019 import fitting as fitting  # enters the cell function
from fewhot_papers.reproduction.iclr2019.bounds import FIGURE_2, FIGURE_9, FIGURE_10
from fewhot_papers.reproduction.iclr2019.faces import FIGURE_4_FACES, FIGURE_7_FACES
from fewhot_papers.reproduction.iclr2019.generation import FIGURE_12, FIGURE_13
from fewhot_papers.reproduction.iclr2019.probing import FIGURE_3, FIGURE_11
from fewhot_papers.reproduction.iclr2019.sparsity import FIGURE_7, FIGURE_8

ENTRIES = (
    *(FIGURE_2, FIGURE_3, FIGURE_4_FACES, FIGURE_7, FIGURE_7_FACES, FIGURE_8),
    *(FIGURE_9, FIGURE_10, FIGURE_11, FIGURE_12, FIGURE_13),
)
