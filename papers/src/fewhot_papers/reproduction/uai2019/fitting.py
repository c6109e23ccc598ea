"""The models of the paper, trained as it says, and the cell functions for faces and for images of clothes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from fewhot.core.records import DataSpec
from fewhot.core.schedules import Linear, Piecewise, Schedule
from fewhot.core.seeding import derive_seed
from fewhot.estimators import VAE, VSC, BetaTCVAE
from fewhot.estimators.base import LatentEstimator
from fewhot.metrics import class_activation, code_matrix, source_correlation
from fewhot.models.latent_model import LatentModel
from fewhot_papers.data import Smiley, smiley
from fewhot_papers.reproduction import measuring
from fewhot_papers.reproduction.cells import Measured, cell_function, dataset
from fewhot_papers.reproduction.fitting import arguments, first_rows
from fewhot_papers.reproduction.uai2019 import classes

SLABS_FROM, SLABS_IN = 0.25, 0.3
"""Shares of the steps between which the values come in, on Smiley."""
TRAIN_SEED, TEST_SEED, HELD_OUT_SEED = 0, 1, 2
"""Seeds of the dataset's training and test rows, and of rows that are neither."""


ACTIVE, LARGEST_SHARE, DENSE_START = 9, 0.55, 0.5
"""What the VSC with a dense start is asked for: 18 sources are there in half of the faces each."""


class SmileyVSC(VSC):
    """The published VSC with the schedule of Smiley: the values come in sooner after the spikes than on other data."""

    def _build(self, spec: DataSpec, n_steps: int) -> LatentModel:
        model = super()._build(spec, n_steps)
        begin = int(SLABS_FROM * n_steps)
        slabs = Linear(0.0, 1.0, max(1, int(SLABS_IN * n_steps) - begin), begin=begin)
        model.schedules |= {"slab_share": slabs, **_drop(n_steps)}
        return model


class SteppedVAE(VAE):
    """The VAE with the step sizes of the published VSC."""

    def _build(self, spec: DataSpec, n_steps: int) -> LatentModel:
        model = super()._build(spec, n_steps)
        model.schedules |= _drop(n_steps)
        return model


class SteppedBetaTCVAE(BetaTCVAE):
    """The beta-TCVAE with the step sizes of the published VSC."""

    def _build(self, spec: DataSpec, n_steps: int) -> LatentModel:
        model = super()._build(spec, n_steps)
        model.schedules |= _drop(n_steps)
        return model


def _drop(n_steps: int) -> dict[str, Schedule]:
    return {"learning_rate": Piecewise([1.0, 0.1], [int(SLABS_IN * n_steps)])}


def estimator(settings: Mapping[str, Any], n_columns: int) -> LatentEstimator:
    """Return the unfitted model of a cell."""
    common, binary = arguments(settings, n_columns), settings.get("pictures") == "binary"
    if binary:
        common |= {"observation": "as-is", "likelihood": "bernoulli"}
    match settings["model"]:
        case "vsc":
            kind = SmileyVSC if settings["data"] == "smiley" else VSC
            return kind(recipe="uai2019", alpha=settings["alpha"], **common)
        case "vsc-dense":
            gates: dict[str, Any] = {"dense_start": DENSE_START, "decoder_sees_gates": True}
            return VSC(l0=ACTIVE, max_share=LARGEST_SHARE, **gates, **common)
        case "beta-vae":
            return (VAE if binary else SteppedVAE)(beta=settings["beta"], **common)
        case "beta-tcvae":
            return (BetaTCVAE if binary else SteppedBetaTCVAE)(beta=settings["beta"], **common)
        case other:
            raise ValueError(f"No model of this paper is called {other!r}.")


@cell_function("uai2019-smiley", version=3)
def fit_smiley(settings: Mapping[str, Any], data_dir: Path | None) -> Measured:
    """Fit one model to faces and correlate its units with the sources of test rows, and of rows to choose by."""
    normalise = settings["pictures"] == "unit-norm"
    X = faces(TRAIN_SEED, settings["n_train"], normalise).X
    test, held_out = (faces(seed, settings["n_test"], normalise) for seed in (TEST_SEED, HELD_OUT_SEED))
    model = estimator(settings, X.shape[1]).fit(X)
    found = source_correlation(test.sources, model.transform(test.X))
    means = source_correlation(test.sources, code_matrix(model, test.X, "mean"))
    numbers = {
        "contrast": found.contrast,
        "contrast_used": found.contrast_used,
        "contrast_means": means.contrast,
        "contrast_held_out": source_correlation(held_out.sources, model.transform(held_out.X)).contrast,
        "best_correlation": float(abs(found.correlation).max(axis=1).mean()),
        "units_used": float(found.used),
        "units_linked": float(found.linked),
        "bound": model.score(test.X),
        **measuring.sparsity(model, test.X),
    }
    return Measured(numbers, {"correlation": found.correlation})


@lru_cache(maxsize=6)
def faces(seed: int, n_rows: int, normalise: bool) -> Smiley:
    """Return faces with their sources, kept in memory for the next cell."""
    return smiley(n_rows, normalise=normalise, random_state=seed)


@cell_function("uai2019-fashion", version=1)
def fit_fashion(settings: Mapping[str, Any], data_dir: Path | None) -> Measured:
    """Fit one model to images of clothes; measure its bounds, and what units, samples and walks say of classes."""
    train, test = (
        first_rows(dataset(settings["data"], split, data_dir), settings[f"n_{split}"]) for split in ("train", "test")
    )
    model = estimator(settings, train[0].shape[1]).fit(train[0])
    numbers = measuring.bounds(model, test[0]) | measuring.sparsity(model, test[0])
    numbers["reconstruction_r2"] = measuring.explained(model, test[0])
    if isinstance(model, VSC):
        found = model.bounds(test[0])
        numbers |= {f"bound_{name}": float(found[name].mean(dtype=float)) for name in ("corrected", "paper")}
    arrays: dict[str, np.ndarray] = {}
    seed = derive_seed(settings["seed"], "measuring") % 2**31
    if "classes" in settings["measure"]:
        p_active = class_activation(model, *test).p_active
        numbers |= classes.differences(p_active)
        arrays["p_active"] = p_active
    if "neighbours" in settings["measure"]:
        numbers |= measuring.neighbours(model, train, test, seed)
    if "walks" in settings["measure"]:
        numbers |= classes.walks(model, train, test, seed)
    if "pictures" in settings["measure"]:
        arrays |= measuring.pictures(model, *test, seed) | classes.shown_walks(model, *test)
    return Measured(numbers, arrays)
