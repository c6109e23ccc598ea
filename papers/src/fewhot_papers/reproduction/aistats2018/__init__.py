"""On the challenges of learning with inference networks on sparse, high-dimensional data, AISTATS 2018."""

from fewhot_papers.reproduction.aistats2018 import fitting as fitting  # enters the cell functions
from fewhot_papers.reproduction.aistats2018.lda import LDA_BASELINE
from fewhot_papers.reproduction.aistats2018.mechanics import MECHANICS
from fewhot_papers.reproduction.aistats2018.rare import FIGURE_6, FIGURE_11
from fewhot_papers.reproduction.aistats2018.recommendation import TABLE_2
from fewhot_papers.reproduction.aistats2018.text import FIGURE_7, FIGURE_8, TABLE_1, TABLE_3

ENTRIES = (TABLE_1, TABLE_2, TABLE_3, LDA_BASELINE, FIGURE_7, FIGURE_8, *MECHANICS, FIGURE_6, FIGURE_11)
