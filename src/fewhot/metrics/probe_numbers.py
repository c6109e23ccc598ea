"""What classifiers read from codes, beside the commonest class and the columns themselves."""

from __future__ import annotations

from typing import Any

import numpy as np

from fewhot.core.errors import InvalidInputError
from fewhot.core.records import UNLABELED
from fewhot.metrics.code_kinds import KINDS, Kind, code_matrix
from fewhot.metrics.libraries import library
from fewhot.metrics.marginal_probing import MarginalKind, MarginalProbe, marginal_probe
from fewhot.metrics.matrices import is_sparse, rows_at
from fewhot.metrics.numbers import measured, with_se
from fewhot.metrics.observed import as_array
from fewhot.metrics.probing import ProbeResult, linear_probe, probe_codes, stratified_rows
from fewhot.metrics.summary import Number

N_LABELS = 5000
SEED = 0
BATCH = 4096
MAX_DENSE_ENTRIES = 50_000_000
"""Of wider rows no classifier is trained on the columns."""
_PROBED: tuple[Kind, ...] = tuple(kind for kind in KINDS if kind != "slab_mean")


def probe_numbers(estimator: Any, X: Any, y: np.ndarray, X_train: Any, y_train: Any) -> list[Number]:
    """Return what a linear classifier reads from each kind of code, then what it has to be compared with."""
    found: ProbeResult | None = None
    numbers: list[Number] = []
    for kind in ("map",) if estimator.refine_steps_ else _PROBED:
        if X_train is None:
            found = _probe_halves(code_matrix(estimator, X, kind, SEED), y, kind)
        else:
            found = linear_probe(estimator, X_train, y_train, X, y, N_LABELS, kind, SEED)
        if found is None:
            return []
        meaning = f"accuracy of a linear classifier on {kind} codes, from {found.n_labels} labels"
        numbers.append(_probed(f"probe_{kind}", found, meaning))
    assert found is not None
    if X_train is not None:
        labels = np.asarray(y_train)
        rows = stratified_rows(labels, N_LABELS, SEED)
        train, test = (X_train, rows, labels[rows]), (X, np.arange(len(y)), y)
    else:
        rows, rest = halves(y) or (np.arange(0), np.arange(0))
        train, test = (X, rows, y[rows]), (X, rest, y[rest])
    return [*numbers, *_without_codes(estimator, train, test, found.majority)]


def marginal_probe_numbers(estimator: Any, X: Any, y: np.ndarray, X_train: Any, y_train: Any) -> list[Number]:
    """Return what a small network reads from sampled codes, averaged over draws, and from codes without draws."""
    if X_train is not None:
        return _marginal(estimator, (X_train, np.asarray(y_train)), (X, y))
    parts = halves(y)
    if parts is None:
        return []
    rows, rest = parts
    rest = rest[np.isin(y[rest], y[rows])]  # a class of one row cannot be both learned and tested
    return _marginal(estimator, (rows_at(X, rows), y[rows]), (rows_at(X, rest), y[rest]))


def _marginal(estimator: Any, train: tuple[Any, np.ndarray], test: tuple[Any, np.ndarray]) -> list[Number]:
    kinds: tuple[MarginalKind, ...] = ("map",) if estimator.refine_steps_ else ("sample", "map", "mean")
    found = [marginal_probe(estimator, *train, *test, kind=kind, random_state=SEED) for kind in kinds]
    numbers: list[Number] = []
    for kind, result in zip(kinds, found, strict=True):
        of = f"{result.n_draws} sampled codes a row, averaged over" if kind == "sample" else f"{kind} codes"
        meaning = f"accuracy of a network with two layers of 32 on {of}, from {len(train[1])} labels"
        numbers.append(_probed(f"marginal_probe_{kind}", result, meaning))
    places = [(rows, np.arange(len(labels)), labels) for rows, labels in (train, test)]
    return [*numbers, *_without_codes(estimator, places[0], places[1], found[0].majority)]


def labeled_rows(X: Any, y: Any) -> tuple[Any, Any]:
    """Return the rows that have a label, and their labels."""
    if y is None or not (labels := np.asarray(y) == UNLABELED).any():
        return X, y
    rows = np.flatnonzero(~labels)
    return rows_at(X, rows), np.asarray(y)[rows]


def check_labels(y: np.ndarray, n_rows: int) -> None:
    """Refuse labels that are not one per row."""
    if y.shape != (n_rows,):
        raise InvalidInputError(f"y has shape {y.shape} for {n_rows} rows; give one label a row.")


def halves(y: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Return rows to learn from, in proportion to the classes, and the others; None where labels do not allow it."""
    if len(y) < 4 or len(np.unique(y)) < 2:
        return None
    rows = stratified_rows(y, min(N_LABELS, len(y) // 2), SEED)
    rest = np.setdiff1d(np.arange(len(y)), rows)
    return (rows, rest) if len(np.unique(y[rows])) > 1 else None


def _without_codes(
    estimator: Any, train: tuple[Any, Any, np.ndarray], test: tuple[Any, Any, np.ndarray], majority: float
) -> list[Number]:
    """Return how often the commonest class is right, and what a linear classifier reads from the columns.

    ``train`` and ``test`` are each rows, the numbers of those to take, and their labels.
    """
    commonest = "accuracy of always naming the commonest class of these rows: what no code at all would reach"
    numbers = [measured("probe_majority", majority, "share of rows", commonest)]
    columns = [_columns(estimator, X, rows) for X, rows, _ in (train, test)]
    if any(matrix is None for matrix in columns):
        return numbers
    found = probe_codes(columns[0], train[2], columns[1], test[2], "columns")
    of = "counts of words" if getattr(estimator, "vocabulary_", None) is not None else "columns themselves"
    meaning = f"accuracy of a linear classifier on the {of}, from {found.n_labels} labels"
    return [*numbers, with_se(measured("probe_columns", found.accuracy, "share of rows", meaning), found.se)]


def _columns(estimator: Any, X: Any, rows: np.ndarray) -> Any:
    """Return rows as the model is given them, as a matrix; None where that would be too large."""
    data = estimator._rows(X).subset(rows)
    if not data.spec.sparse and data.n_rows * data.spec.n_columns > MAX_DENSE_ENTRIES:
        return None
    parts = [as_array(batch.x) for batch in data.batches(BATCH)]
    return library("scipy.sparse").vstack(parts, format="csr") if is_sparse(parts[0]) else np.concatenate(parts)


def _probed(name: str, found: ProbeResult | MarginalProbe, meaning: str) -> Number:
    """Return the accuracy of a probe, judged by how many of the majority vote's errors it avoids."""
    avoided = (found.accuracy - found.majority) / (1 - found.majority) if found.majority < 1 else float("nan")
    return with_se(measured(name, found.accuracy, "share of rows", meaning, avoided, rule="probe"), found.se)


def _probe_halves(codes: Any, y: np.ndarray, kind: Kind) -> ProbeResult | None:
    """Learn from one half of the rows and test on the other; None where the labels do not allow it."""
    parts = halves(y)
    if parts is None:
        return None
    rows, rest = parts
    return probe_codes(codes[rows], y[rows], codes[rest], y[rest], kind)
