"""Learning sparsity of representations with discrete latent variables (Xu, Onoro Rubio, Serra and Niepert)."""

from fewhot_papers.reproduction.xu import fitting as fitting  # enters the cell functions
from fewhot_papers.reproduction.xu.counting import TABLE_3
from fewhot_papers.reproduction.xu.images import FIGURE_3, FIGURE_4, GAP, TABLE_1
from fewhot_papers.reproduction.xu.labels import FIGURE_5, TABLE_2

ENTRIES = (TABLE_1, GAP, FIGURE_3, FIGURE_4, TABLE_2, FIGURE_5, TABLE_3)
