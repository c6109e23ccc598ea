"""Learning sparse sentence encoding without supervision (Prokhorov, Li, Shareghi and Collier, 2021)."""

from fewhot_papers.reproduction.prokhorov2021 import fitting as fitting  # enters the cell function
from fewhot_papers.reproduction.prokhorov2021.accuracy import FIGURE_2, PRETRAINED_ENCODERS
from fewhot_papers.reproduction.prokhorov2021.corpora import FIGURE_5, TABLE_2
from fewhot_papers.reproduction.prokhorov2021.sparsity import FIGURE_3, FIGURE_4

ENTRIES = (FIGURE_2, PRETRAINED_ENCODERS, FIGURE_3, FIGURE_4, FIGURE_5, TABLE_2)
