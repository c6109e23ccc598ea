"""The references of labels: simple models of the labels of training rows, kept to be compared with."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from scipy.special import expit

from fewhot.core.seeding import derive_seed
from fewhot.data import LabelledDataset
from fewhot.estimators.references import most_rows, observed_rows, some_rows
from fewhot.estimators.thresholds import expected_threshold
from fewhot.metrics.label_references import LabelReferences
from fewhot.metrics.linear_labels import LinearLabels, Target, fit_linear_labels, shares_of
from fewhot.models.latent_model import LatentModel

MAX_WORK = 100_000_000
"""Labels times entries of the rows, a stored one of sparse rows for four: some three seconds of linear models."""
_ENTRIES_A_SCORE = 60
"""How many entries the sigmoid and the logarithm of one label's score take as long as."""
MAX_WEIGHTS = 2_000_000
MIN_ROWS = 500
"""A linear model of fewer rows of many more would be a poor one to compare with."""
_HELD_OUT = 0.2
_FEWEST = 5
"""Rows from which some are held out of a linear model."""


def label_references_of(
    module: LatentModel,
    train: LabelledDataset,
    held_out: LabelledDataset | None,
    seed: int,
    target: Target,
    average: str = "micro",
) -> LabelReferences:
    """Fit the references to the labels of training rows, or to some of them where there are many.

    Parameters
    ----------
    module
        The trained model.
    train, held_out
        The rows it learned from, and those by which it was stopped, which choose the penalty of the linear model, too;
        where there are none, a fifth of the training rows does.
    seed
        The seed of the fit, by which rows are drawn.
    target
        Whether labels are there or not, or counts.
    average
        Which F1 score thresholds are chosen for, by their expectation: "micro" or "macro".
    """
    total = train.labels.sum(0, dtype=torch.float64).cpu().numpy()
    means = shares_of(total, train.n_rows) if target == "labels" else total / train.n_rows
    linear, scores = _linear(module, train, held_out, derive_seed(seed, "label references"), target)
    thresholds: dict[str, np.ndarray] = {}
    if target == "labels":
        said = {"shares": means[None], "linear": None if scores is None else expit(scores)}
        thresholds = {name: np.atleast_1d(expected_threshold(p, average)) for name, p in said.items() if p is not None}
    return LabelReferences(target=target, n_rows=train.n_rows, means=means, linear=linear, thresholds=thresholds)


def _linear(
    module: LatentModel, train: LabelledDataset, held_out: LabelledDataset | None, seed: int, target: Target
) -> tuple[LinearLabels | None, np.ndarray | None]:
    """Return a linear model, and its scores of the rows that chose its penalty; None where it would take long."""
    n_labels = train.labels.shape[1]
    if train.n_rows < _FEWEST or train.spec.n_columns * n_labels > MAX_WEIGHTS:
        return None, None
    rows = some_rows(train, most_rows(module, train, seed), seed)
    X = observed_rows(module, rows)
    most = _most_rows(X, n_labels)
    if most < min(MIN_ROWS, rows.n_rows):
        return None, None
    if most < rows.n_rows:
        rows = some_rows(rows, most, seed)
        X = observed_rows(module, rows)
    Y = _labels(rows)
    if held_out is None:
        drawn = np.random.default_rng(seed).permutation(len(Y))
        held, kept = np.split(drawn, [max(1, int(_HELD_OUT * len(Y)))])
        X, Y, X_held, Y_held = X[kept], Y[kept], X[held], Y[held]
    else:
        judging = some_rows(held_out, most, seed)
        X_held, Y_held = observed_rows(module, judging), _labels(judging)
    linear = fit_linear_labels(X, Y, X_held, Y_held, target)
    return linear, linear(X_held)


def _most_rows(X: Any, n_labels: int) -> int:
    """Return of how many rows a linear model is quick."""
    entries = 4 * X.nnz / X.shape[0] if sp.issparse(X) else X.shape[1]
    return int(MAX_WORK / (n_labels * (entries + _ENTRIES_A_SCORE)))


def _labels(rows: LabelledDataset) -> np.ndarray:
    return rows.labels.double().cpu().numpy()
