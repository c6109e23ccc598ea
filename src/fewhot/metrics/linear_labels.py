"""A linear model of labels, or of counts, whose penalty is chosen on held-out rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from fewhot.metrics.libraries import library
from fewhot.metrics.matrices import is_sparse

Target = Literal["labels", "counts"]

PENALTIES = (1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0)
"""C of scikit-learn's logistic regression, from a strong penalty to the default of a weak one; 1/alpha of its ridge."""
_MAX_ITER = 15
"""Of L-BFGS for a penalty, which begins where the one before ended: on emotions, birds and CAL500 200 find no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearLabels:
    """A logistic regression for each label, or a ridge regression for each count, on standardized columns.

    Attributes
    ----------
    centre, scale
        What standardizes a column, (p,).
    weights, intercept
        Of standardized columns, (p, K) and (K,).
    n_rows
        Training rows it learned from.
    """

    centre: np.ndarray
    scale: np.ndarray
    weights: np.ndarray
    intercept: np.ndarray
    n_rows: int

    def __call__(self, rows: Any) -> np.ndarray:
        """Return logits, or expected counts, of rows as the model observes them, dense or sparse, (n, K)."""
        weights = self.weights / self.scale[:, None]
        return np.asarray(rows @ weights) + (self.intercept - self.centre @ weights)


def fit_linear_labels(X: Any, labels: np.ndarray, X_held: Any, labels_held: np.ndarray, target: Target) -> LinearLabels:
    r"""Fit a linear model of all labels, with the penalty that is best on held-out rows.

    .. math:: \min_{W, b} \sum_i \ell(y_i, W^\top x_i + b) + \tfrac{1}{2C} \lVert W\rVert^2

    The loss is log loss of "labels", with one more row at the mean that has half of each label, and half the squared
    error of "counts". Penalties fall from one to the next until held-out rows are predicted worse.

    Parameters
    ----------
    X, labels
        Training rows, (n, p), dense or sparse, and what they have, (n, K).
    X_held, labels_held
        Other rows, by which the penalty is chosen.
    target
        What labels are.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 4))
    >>> labels = (X[:, :2] > 0).astype(float)
    >>> found = fit_linear_labels(X[:200], labels[:200], X[200:], labels[200:], "labels")
    >>> bool(((found(X[200:]) > 0) == (labels[200:] > 0)).mean() > 0.9)
    True
    """
    centre, scale = _moments(X)
    rows, held = _standardized(X, centre, scale), _standardized(X_held, centre, scale)
    at = np.zeros((X.shape[1] + 1, labels.shape[1]))
    at[-1] = labels.mean(axis=0) if target == "counts" else _logits(shares_of(labels.sum(axis=0), len(labels)))
    best, least = at, np.inf
    for C in PENALTIES:
        at = _descend(rows, labels, C, at, target)
        missed = _loss(held @ at[:-1] + at[-1], labels_held, target)
        if missed >= least:
            break
        best, least = at, missed
    return LinearLabels(centre=centre, scale=scale, weights=best[:-1], intercept=best[-1], n_rows=X.shape[0])


def shares_of(n_having: np.ndarray, n_rows: int) -> np.ndarray:
    """Return the share of rows that have each label, (K,), with half a row more for it and half a row against it."""
    return (n_having + 0.5) / (n_rows + 1)


def _logits(shares: np.ndarray) -> np.ndarray:
    return np.log(shares) - np.log1p(-shares)


def _descend(rows: Any, labels: np.ndarray, C: float, start: np.ndarray, target: Target) -> np.ndarray:
    """Return weights of columns and, last, intercepts, (p + 1, K), of least loss."""
    expit = library("scipy.special").expit

    def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
        at = flat.reshape(start.shape)
        weights, intercept = at[:-1], at[-1]
        scores = rows @ weights + intercept
        off = (expit(scores) if target == "labels" else scores) - labels
        slope = np.concatenate([rows.T @ off + weights / C, off.sum(axis=0)[None]])
        value = _loss(scores, labels, target) + float((weights**2).sum()) / (2 * C)
        if target == "labels":  # the row at the mean
            value += _loss(intercept, np.array(0.5), target)
            slope[-1] += expit(intercept) - 0.5
        return value, slope.ravel()

    found = library("scipy.optimize").minimize(
        objective, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": _MAX_ITER, "ftol": 1e-7}
    )
    return found.x.reshape(start.shape)


def _loss(scores: np.ndarray, labels: np.ndarray, target: Target) -> float:
    if target == "labels":
        return float((np.logaddexp(0, scores) - labels * scores).sum())
    return float(((scores - labels) ** 2).sum()) / 2


def _moments(X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return what standardizes columns; sparse ones are not centred, and one that does not vary is left as it is."""
    if is_sparse(X):
        mean, mean_square = (np.asarray(m.mean(axis=0)).ravel() for m in (X, X.multiply(X)))
        centre, variance = np.zeros_like(mean), mean_square - mean**2
    else:
        centre, variance = X.mean(axis=0, dtype=np.float64), X.var(axis=0, dtype=np.float64)
    return centre, np.sqrt(np.where(variance > 0, variance, 1.0))


def _standardized(X: Any, centre: np.ndarray, scale: np.ndarray) -> Any:
    if is_sparse(X):
        return X @ library("scipy.sparse").diags_array(1 / scale)
    return (X - centre) / scale
