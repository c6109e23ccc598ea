"""What the fits of published figures share: unit-norm rows under a Gaussian of learned variance, no early stopping."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from fewhot.likelihoods import GaussianLikelihood

FLOOR = math.exp(-9)


def arguments(settings: Mapping[str, Any], n_columns: int) -> dict[str, Any]:
    """Return the arguments that every estimator of a cell takes."""
    return {
        "n_components": settings["n_units"],
        "hidden_layer_sizes": (settings["hidden"],),
        "observation": "unit-norm",
        "likelihood": GaussianLikelihood(n_columns, floor=FLOOR, standardise=False, variance="per-row"),
        "max_steps": settings["steps"],
        "batch_size": settings["batch_size"],
        "learning_rate": settings["learning_rate"],
        "n_iter_no_change": None,
        "compile": "auto",
        "random_state": settings["seed"],
    }


def first_rows(loaded: Any, n_rows: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the first rows and their labels; the files are in random order."""
    return loaded.X[:n_rows], loaded.y[:n_rows]
