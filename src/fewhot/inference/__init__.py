"""Inference procedures: which psi a batch gets, which losses a training step takes, and honest held-out numbers."""

from fewhot.inference.amortised import Amortised
from fewhot.inference.base import Inference
from fewhot.inference.evaluation import exact_bound, exact_terms, importance_bound, rows_at_once
from fewhot.inference.phases import OptimiserSpec, Phase
from fewhot.inference.refined import SVI, Refined
from fewhot.inference.refining import RefinementNoise, ascent_draws, refine
from fewhot.inference.score_function import VIMCO, LeaveOneOut, ScoreFunction

__all__ = [
    "SVI",
    "VIMCO",
    "Amortised",
    "Inference",
    "LeaveOneOut",
    "OptimiserSpec",
    "Phase",
    "Refined",
    "RefinementNoise",
    "ScoreFunction",
    "ascent_draws",
    "exact_bound",
    "exact_terms",
    "importance_bound",
    "refine",
    "rows_at_once",
]
