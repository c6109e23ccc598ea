"""Inference procedures: which psi a batch gets, which losses a training step takes, and honest held-out numbers."""

from fewhot.inference.amortised import Amortised
from fewhot.inference.base import Inference
from fewhot.inference.evaluation import exact_bound, exact_terms, importance_bound, rows_at_once
from fewhot.inference.phases import OptimiserSpec, Phase
from fewhot.inference.refined import SVI, Refined
from fewhot.inference.refining import refine

__all__ = [
    "SVI",
    "Amortised",
    "Inference",
    "OptimiserSpec",
    "Phase",
    "Refined",
    "exact_bound",
    "exact_terms",
    "importance_bound",
    "refine",
    "rows_at_once",
]
