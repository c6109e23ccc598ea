"""Objectives: named terms, what is reported kept apart from what is differentiated."""

from fewhot.objectives.baseline import LearnedBaseline
from fewhot.objectives.dial import Dial
from fewhot.objectives.labels import LabelLikelihood
from fewhot.objectives.mmd import MMD
from fewhot.objectives.objective import Objective, Term
from fewhot.objectives.penalties import ActivationNorm
from fewhot.objectives.pseudo_inputs import PseudoInputKL
from fewhot.objectives.terms import KL, Reconstruction
from fewhot.objectives.total_correlation import TotalCorrelation

__all__ = [
    "KL",
    "MMD",
    "ActivationNorm",
    "Dial",
    "LabelLikelihood",
    "LearnedBaseline",
    "Objective",
    "PseudoInputKL",
    "Reconstruction",
    "Term",
    "TotalCorrelation",
]
