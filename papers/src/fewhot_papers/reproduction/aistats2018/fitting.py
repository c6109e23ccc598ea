"""The cell function for documents: perplexities under ψ(x) and ψ*, and the decoder's spectrum."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fewhot.core.evaluations import watched
from fewhot.estimators import NFA
from fewhot.metrics import code_divergence, jacobian_spectrum, perplexities, rare_word_correlation, rare_words
from fewhot.metrics.matrices import row_sums
from fewhot_papers.reproduction.aistats2018.grid import INNER_STEPS, SEEDS, TUNED_ANNEALING, TUNED_BATCH
from fewhot_papers.reproduction.cells import Measured, cell_function, dataset

RARE_ROWS = 2000
NEVER = 10**6
"""Evaluations without a better bound after which training stops: it keeps the best weights and never stops."""


def estimator(settings: Mapping[str, Any], n_rows: int) -> NFA:
    """Return the unfitted model of a cell."""
    if settings["tuned"] is not None:
        return _tuned(settings, n_rows)
    return NFA(
        settings["n_units"],
        recipe="krishnan2018",
        n_layers=settings["n_layers"],
        hidden_layer_sizes=(settings["hidden"],) * settings["q_layers"],
        inference=settings["inference"],
        features=settings["features"],
        inner_steps=settings["inner_steps"],
        refined_epochs=settings["refined_epochs"] and tuple(settings["refined_epochs"]),
        kl_annealing="none" if settings["annealing"] is None else "linear",
        kl_annealing_steps=settings["annealing"],
        max_epochs=settings["epochs"],
        batch_size=settings["batch_size"],
        n_iter_no_change=NEVER,
        random_state=settings["seed"],
    )


def _tuned(settings: Mapping[str, Any], n_rows: int) -> NFA:
    n_steps = settings["epochs"] * -(-n_rows // TUNED_BATCH)
    return NFA(
        settings["n_units"],
        hidden_layer_sizes=(settings["hidden"],) * settings["q_layers"],
        kl_annealing="linear",
        kl_annealing_steps=int(TUNED_ANNEALING * n_steps),
        max_epochs=settings["epochs"],
        batch_size=TUNED_BATCH,
        n_iter_no_change=NEVER,
        random_state=settings["seed"],
        **settings["tuned"],
    )


@cell_function("aistats2018-text", version=2)
def fit_text(settings: Mapping[str, Any], data_dir: Path | None) -> Measured:
    """Fit one model to documents; measure perplexity before and after refinement, and what its units do."""
    train, validation, test = (
        dataset(settings["data"], split, data_dir).X[:rows]
        for split, rows in (("fit", settings["n_train"]), ("validation", None), ("test", settings["n_test"]))
    )
    if settings["n_words"] is not None:
        kept = np.sort(np.argsort(-np.asarray(train.sum(axis=0)).ravel(), kind="stable")[: settings["n_words"]])
        train, validation, test = (X[:, kept] for X in (train, validation, test))
    model = estimator(settings, train.shape[0]).fit(train, X_val=validation)
    ascent = INNER_STEPS if settings["n_test"] is None else settings["inner_steps"]  # a quick run is short throughout
    numbers: dict[str, float] = {}
    for steps, name in ((0, "amortised"), (ascent, "refined")):
        model.set_params(refine_steps=steps)
        found = perplexities(model.score_samples(test), row_sums(test))
        numbers |= {name: found.document, f"{name}_corpus": found.corpus}
        numbers[f"{name}_validation"] = model.perplexity(validation)
    rare = [_rare_words(model, train, X, name, ascent) for X, name in ((train, "train"), (test, "test"))]
    for found in rare:
        numbers |= found.numbers
    spectrum = jacobian_spectrum(model).values
    numbers["singular_above_one"] = float((spectrum > 1).sum())
    numbers["best_step"] = float(max(model.history_, key=lambda record: watched(record["evaluation"]))["step"])
    curves = {
        name: np.array([record["evaluation"].get(name, np.nan) for record in model.history_])
        for name in ("bound", "refined_bound")
    }
    arrays = {"spectrum": spectrum, "epoch": _epochs(model), **curves}
    if settings["seed"] == SEEDS[0]:
        arrays |= {"word_shares": np.sort((train > 0).mean(axis=0))[::-1], **rare[0].arrays, **rare[1].arrays}
    return Measured(numbers, arrays)


def _rare_words(model: NFA, train: Any, rows: Any, name: str, ascent: int) -> Measured:
    """Return how the divergence of ψ(x) from ψ* goes with the number of rare words, on some rows."""
    some = rows[:RARE_ROWS]
    said, found = (model.set_params(refine_steps=steps).codes(some) for steps in (0, ascent))
    apart, rare = code_divergence(said, found), rare_words(some, training=train)
    return Measured(
        {f"divergence_{name}": float(apart.mean()), f"rare_{name}": float(rare_word_correlation(apart, rare))},
        {f"divergences_{name}": apart, f"rare_words_{name}": rare},
    )


def _epochs(model: NFA) -> np.ndarray:
    return np.array([record["epoch"] for record in model.history_])
