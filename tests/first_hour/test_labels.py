"""Labels and counts as they come: no worse than linear models, by labels that are told and by how likely they are."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge
from sklearn.metrics import r2_score
from sklearn.preprocessing import StandardScaler

import fewhot as fh
from fewhot.data import compose, load_dataset
from fewhot.estimators.thresholds import expected_threshold
from fewhot.metrics import macro_f1, micro_f1

N_TRAIN = {"emotions": 391, "birds": 322, "cal500": 400, "bibtex": 4880, "delicious": 12920}
MOST_ROWS = 4000  # of training and of test rows, so that logistic regressions of 983 labels take minutes


def factors(seed: int, n_rows: int = 1200) -> tuple[np.ndarray, np.ndarray]:
    """Return 60 columns and 14 labels, four on per row and some of them rare, that six factors say something of."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=(n_rows, 6))
    X = hidden @ rng.normal(size=(6, 60)) / 2 + rng.normal(size=(n_rows, 60))
    scores = hidden @ rng.normal(size=(6, 14)) / 2 + rng.normal(size=(n_rows, 14))
    cuts = [np.quantile(score, 1 - rate) for score, rate in zip(scores.T, np.linspace(0.05, 0.55, 14), strict=True)]
    return X, (scores > cuts).astype(int)


@cache
def table(name: str) -> tuple[np.ndarray, np.ndarray]:
    folder = os.environ.get("FEWHOT_DATA")
    if folder is None:
        pytest.skip("FEWHOT_DATA names no folder of real tables")
    parts = ("all",) if name == "cal500" else ("train", "test")
    read = [load_dataset(name, part, Path(folder)) for part in parts]
    X, Y = ([m.toarray() if sp.issparse(m) else m for m in map(what, read)] for what in (lambda d: d.X, lambda d: d.y))
    return np.concatenate(X).astype(np.float32), np.concatenate(Y).astype(int)


def logistic(X: np.ndarray, Y: np.ndarray, X_test: np.ndarray) -> np.ndarray:
    """Return what a logistic regression says of each label, on standardized columns."""
    scaler = StandardScaler().fit(X)
    found = np.empty((len(X_test), Y.shape[1]))
    for label, y in enumerate(Y.T):
        if y.min() == y.max():
            found[:, label] = y[0]
        else:
            model = LogisticRegression(max_iter=1000).fit(scaler.transform(X), y)
            found[:, label] = model.predict_proba(scaler.transform(X_test))[:, 1]
    return found


def above_logistic(X: np.ndarray, Y: np.ndarray, n_train: int, seed: int) -> dict[str, float]:
    """Return by how much a first fit is above logistic regression: F1 by one half, F1 by our rule, log likelihood."""
    order = np.random.default_rng(seed).permutation(len(X))
    train, test = order[:n_train][:MOST_ROWS], order[n_train:][:MOST_ROWS]
    model = fh.SDLGMClassifier(random_state=seed).fit(X[train], Y[train])
    theirs, ours, true = logistic(X[train], Y[train], X[test]), model.predict(X[test]), Y[test]
    same_rule = theirs >= expected_threshold(theirs, "micro")
    return {
        "micro": micro_f1(true, ours) - micro_f1(true, theirs >= 0.5),
        "macro": macro_f1(true, ours) - macro_f1(true, theirs >= 0.5),
        "micro by the same rule": micro_f1(true, ours) - micro_f1(true, same_rule),
        "log likelihood": log_likelihood(true, model.predict_proba(X[test])) - log_likelihood(true, theirs),
    }


def log_likelihood(labels: np.ndarray, probabilities: np.ndarray) -> float:
    p = np.clip(probabilities, 1e-6, 1 - 1e-6)
    return float(np.where(labels, np.log(p), np.log1p(-p)).sum(axis=1).mean())


def check(found: list[dict[str, float]]) -> None:
    """Refuse what is below by more than one standard error of the splits; of a single split, what is below."""
    for name in found[0]:
        apart = np.array([one[name] for one in found])
        error = apart.std(ddof=1) / len(apart) ** 0.5 if len(apart) > 1 else 0.0
        assert apart.mean() >= -error, (name, apart.tolist())


def test_a_first_fit_of_labels_is_no_worse_than_logistic_regression() -> None:
    check([above_logistic(*factors(0), 800, 0)])


def test_labels_that_are_sure_are_as_good_as_certain() -> None:
    rng = np.random.default_rng(0)
    Y = np.zeros((400, 12), dtype=int)
    for row in Y:
        row[rng.choice(12, 4, replace=False)] = 1
    p = fh.SDLGMClassifier(random_state=0, max_steps=500).fit(Y + rng.normal(0, 0.1, Y.shape), Y).predict_proba(Y)
    assert p[Y == 1].min() > 0.85
    assert p[Y == 0].max() < 0.15


@pytest.mark.slow
@pytest.mark.parametrize(("name", "n_splits"), [("emotions", 5), ("birds", 5), ("cal500", 5)])
def test_small_real_tables(name: str, n_splits: int) -> None:
    check([above_logistic(*table(name), N_TRAIN[name], seed) for seed in range(n_splits)])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bibtex", "delicious"])
def test_large_real_tables(name: str) -> None:
    check([above_logistic(*table(name), N_TRAIN[name], 0)])


@pytest.mark.slow
def test_counts_of_digits_are_no_worse_than_linear_ones() -> None:
    found = []
    for seed in range(3):
        digits = load_digits()
        order = np.random.default_rng(seed).permutation(len(digits.target))
        train, test = (
            compose(digits.images[rows] / 16, digits.target[rows], n_rows, random_state=seed)
            for rows, n_rows in ((order[:1400], 3000), (order[1400:], 1000))
        )
        scaler = StandardScaler().fit(train.X)
        above = {}
        ours = r2_score(test.counts, fh.SDLGMCounter(random_state=seed).fit(train.X, train.counts).predict(test.X))
        for linear in (Ridge, PoissonRegressor):
            told = [
                linear().fit(scaler.transform(train.X), y).predict(scaler.transform(test.X)) for y in train.counts.T
            ]
            above[linear.__name__] = ours - r2_score(test.counts, np.clip(np.stack(told, axis=1), 0, None))
        found.append(above)
    check(found)
