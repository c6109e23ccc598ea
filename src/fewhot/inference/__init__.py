"""Inference procedures: which psi a batch gets, which losses a training step takes, and honest held-out numbers."""

from fewhot.inference.amortised import Amortised
from fewhot.inference.evaluation import exact_bound, exact_terms, importance_bound
from fewhot.inference.phases import OptimiserSpec, Phase
from fewhot.inference.refined import refine

__all__ = ["Amortised", "OptimiserSpec", "Phase", "exact_bound", "exact_terms", "importance_bound", "refine"]
