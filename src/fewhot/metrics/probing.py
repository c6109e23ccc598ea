"""What a linear classifier can read from codes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fewhot.core.checks import whole_number
from fewhot.core.errors import InvalidInputError
from fewhot.core.seeding import derive_seed, resolve_seed
from fewhot.metrics.code_kinds import Kind, code_matrix
from fewhot.metrics.libraries import library
from fewhot.metrics.matrices import as_matrix, has_rows, is_sparse, rows_at

INVERSE_PENALTY = 1.0
"""scikit-learn's C, fixed: the sum of the labelled rows' losses plus half the squared weights."""
_MAX_ITERATIONS = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeResult:
    """How well a linear classifier does on codes.

    Attributes
    ----------
    accuracy
        Share of test rows it gets right.
    se
        Standard error of that share over test rows.
    n_labels
        Labelled rows it learned from.
    kind
        Which code it saw.
    majority
        Share of the commonest class among the test rows: what no code at all would reach.
    """

    accuracy: float
    se: float
    n_labels: int
    kind: str
    majority: float


def linear_probe(
    estimator: Any,
    X_train: Any,
    y_train: Any,
    X_test: Any,
    y_test: Any,
    n_labels: int = 5000,
    kind: Kind = "map",
    random_state: Any = 0,
) -> ProbeResult:
    """Return the test accuracy of a linear classifier on codes, learned from a few labels.

    Multinomial logistic regression with ``C=1`` on codes divided by their standard deviation over the labelled rows;
    nothing is tuned. Codes of kinds ``"mean"`` and ``"sample"`` can rank models differently: report both.

    Parameters
    ----------
    estimator
        A fitted estimator.
    X_train, y_train
        Rows and labels to draw labelled rows from, in proportion to the classes.
    X_test, y_test
        Rows and labels to test on.
    n_labels
        How many labelled rows; all of them where there are fewer.
    kind
        Which code, as in `code_matrix`.
    random_state
        Seed of the choice of rows and of sampled codes.
    """
    seed = resolve_seed(random_state)
    labels = np.asarray(y_train)
    rows = stratified_rows(labels, n_labels, seed)
    train = _codes_of_rows(estimator, X_train, rows, kind, derive_seed(seed, "train"))
    test = code_matrix(estimator, X_test, kind, derive_seed(seed, "test"))
    return probe_codes(train, labels[rows], test, y_test, kind)


def probe_codes(train: Any, y_train: Any, test: Any, y_test: Any, kind: str = "map") -> ProbeResult:
    """Return the accuracy on ``test`` codes of the classifier of `linear_probe` learned from ``train`` codes."""
    train, test = as_matrix(train, "train"), as_matrix(test, "test")
    labels, truth = np.asarray(y_train), np.asarray(y_test)
    for name, codes, given in (("train", train, labels), ("test", test, truth)):
        if given.shape != codes.shape[:1]:
            raise InvalidInputError(
                f"{given.shape} labels were given for {codes.shape[0]} {name} rows; give one label a row."
            )
    if len(np.unique(labels)) < 2:
        raise InvalidInputError("The labelled rows are all of one class; a probe needs at least two.")
    # An intercept that is not penalised takes up the mean, so leaving sparse codes uncentred changes nothing.
    scaler = library("sklearn.preprocessing").StandardScaler(with_mean=not is_sparse(train)).fit(train)
    classifier = library("sklearn.linear_model").LogisticRegression(C=INVERSE_PENALTY, max_iter=_MAX_ITERATIONS)
    predicted = classifier.fit(scaler.transform(train), labels).predict(scaler.transform(test))
    accuracy = float((predicted == truth).mean())
    return ProbeResult(
        accuracy=accuracy,
        se=float(np.sqrt(accuracy * (1 - accuracy) / len(truth))),
        n_labels=len(labels),
        kind=kind,
        majority=float(np.unique(truth, return_counts=True)[1].max() / len(truth)),
    )


def stratified_rows(labels: Any, n: int, random_state: Any = 0) -> np.ndarray:
    """Return ``n`` row numbers, in order, in proportion to the classes (largest remainders); all if there are fewer.

    Examples
    --------
    >>> labels = np.array([0] * 60 + [1] * 30 + [2] * 10)
    >>> np.bincount(labels[stratified_rows(labels, 10)]).tolist()
    [6, 3, 1]
    """
    whole_number("n_labels", n)
    given = np.asarray(labels)
    if n >= len(given):
        return np.arange(len(given))
    classes, counts = np.unique(given, return_counts=True)
    generator = np.random.default_rng(derive_seed(resolve_seed(random_state), "labels"))
    quota = n * counts / counts.sum()
    take = np.floor(quota).astype(int)
    order = np.lexsort((generator.random(len(take)), take - quota))  # largest remainders first, ties by chance
    take[order[: n - take.sum()]] += 1
    chosen = [
        generator.choice(np.flatnonzero(given == label), k, replace=False)
        for label, k in zip(classes, take, strict=True)
    ]
    return np.sort(np.concatenate(chosen))


def _codes_of_rows(estimator: Any, X: Any, rows: np.ndarray, kind: Kind, seed: int) -> Any:
    """Encode the chosen rows; containers that cannot be indexed by row numbers are encoded whole."""
    if has_rows(X):
        return code_matrix(estimator, rows_at(X, rows), kind, seed)
    return code_matrix(estimator, X, kind, seed)[rows]
