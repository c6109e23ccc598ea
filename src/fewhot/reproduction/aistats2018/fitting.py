"""The cell function for documents: perplexities under ψ(x) and ψ*, and the decoder's spectrum."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fewhot.estimators import NFA
from fewhot.metrics import jacobian_spectrum
from fewhot.reproduction.cells import Measured, cell_function, dataset

NEVER = 10**6
"""Evaluations without a better bound after which training stops: it keeps the best weights and never stops."""


def estimator(settings: Mapping[str, Any]) -> NFA:
    """Return the unfitted model of a cell."""
    return NFA(
        settings["n_units"],
        recipe="krishnan2018",
        n_layers=settings["n_layers"],
        hidden_layer_sizes=(settings["hidden"],) * 2,
        inference=settings["inference"],
        features=settings["features"],
        inner_steps=settings["inner_steps"],
        max_epochs=settings["epochs"],
        batch_size=settings["batch_size"],
        n_iter_no_change=NEVER,
        random_state=settings["seed"],
    )


@cell_function("aistats2018-text", version=1)
def fit_text(settings: Mapping[str, Any], data_dir: Path | None) -> Measured:
    """Fit one model to documents; measure perplexity before and after refinement, and what its units do."""
    train, validation, test = (
        dataset(settings["data"], split, data_dir).X[:rows]
        for split, rows in (("fit", settings["n_train"]), ("validation", None), ("test", settings["n_test"]))
    )
    model = estimator(settings).fit(train, X_val=validation)
    numbers: dict[str, float] = {}
    for steps, name in ((0, "amortised"), (settings["inner_steps"], "refined")):
        model.set_params(refine_steps=steps)
        numbers[name] = model.perplexity(test)
        numbers[f"{name}_validation"] = model.perplexity(validation)
        numbers[f"{name}_corpus"] = model.perplexity(test, average="corpus")
    spectrum = jacobian_spectrum(model).values
    numbers["singular_above_one"] = float((spectrum > 1).sum())
    numbers["best_step"] = float(max(model.history_, key=lambda record: _watched(record["evaluation"]))["step"])
    curves = {
        name: np.array([record["evaluation"].get(name, np.nan) for record in model.history_])
        for name in ("bound", "refined_bound")
    }
    return Measured(numbers, {"spectrum": spectrum, "epoch": _epochs(model), **curves})


def _watched(evaluation: Mapping[str, float]) -> float:
    return evaluation.get("refined_bound", evaluation["bound"])


def _epochs(model: NFA) -> np.ndarray:
    return np.array([record["epoch"] for record in model.history_])
