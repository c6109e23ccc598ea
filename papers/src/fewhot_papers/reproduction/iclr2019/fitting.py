"""The cell function: fit the faithful recipe once, measure all that any figure asks of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fewhot.core.records import DataSpec
from fewhot.core.seeding import derive_seed
from fewhot.estimators import VAE, VSC
from fewhot.models.latent_model import LatentModel
from fewhot_papers.reproduction import measuring
from fewhot_papers.reproduction.cells import Measured, cell_function, dataset
from fewhot_papers.reproduction.fitting import arguments, first_rows
from fewhot_papers.reproduction.iclr2019.grid import VAE_ALPHA

TRAINING_ROWS = 10_000


class ConstantRateVAE(VAE):
    """The VAE trained as the published VSC is: at a constant step size."""

    def _build(self, spec: DataSpec, n_steps: int) -> LatentModel:
        model = super()._build(spec, n_steps)
        model.schedules = {}
        return model


def estimator(settings: Mapping[str, Any], n_columns: int) -> VAE | VSC:
    """Return the unfitted model of a cell."""
    common = arguments(settings, n_columns)
    if settings["alpha"] == VAE_ALPHA:
        return ConstantRateVAE(**common)
    return VSC(recipe="iclr2019", alpha=settings["alpha"], **common)


@cell_function("iclr2019-fit", version=2)
def fit_and_measure(settings: Mapping[str, Any], data_dir: Path | None) -> Measured:
    """Fit one model and measure it on the test rows."""
    train, test = (dataset(settings["data"], split, data_dir) for split in ("train", "test"))
    X, y = first_rows(train, settings["n_train"])
    X_test, y_test = first_rows(test, settings["n_test"])
    model = estimator(settings, X.shape[1]).fit(X)
    seed = derive_seed(settings["seed"], "measuring") % 2**31
    numbers = measuring.bounds(model, X_test) | measuring.sparsity(model, X_test)
    numbers["training_objective"] = float(model.history_[-1]["terms"]["bound"])
    numbers["reconstruction_r2"] = measuring.explained(model, X_test)
    if settings["labels"]:
        numbers |= measuring.probes(model, (X, y), (X_test, y_test), settings["labels"], seed)
    arrays: dict[str, np.ndarray] = {}
    if "training bound" in settings["measure"]:
        numbers["bound_train"] = float(model.score(X[:TRAINING_ROWS]))
    if "neighbours" in settings["measure"]:
        numbers |= measuring.neighbours(model, (X, y), (X_test, y_test), seed)
    if "pictures" in settings["measure"]:
        arrays = measuring.pictures(model, X_test, y_test, seed)
    return Measured(numbers, arrays)
