"""Independent columns: the log density of rows under one distribution per column, the same for all rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from fewhot.metrics.libraries import library
from fewhot.metrics.matrices import column_moments, dense, is_sparse, row_sums

Family = Literal["gaussian", "bernoulli", "poisson", "negative-binomial", "multinomial"]
HALF = 0.5
"""What a column that no row has counts as, in all rows together: held-out rows may have it."""
_LOG_DISPERSION_RANGE = (-10.0, 15.0)
_BISECTIONS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class IndependentColumns:
    """One distribution per column, without a code.

    Attributes
    ----------
    family
        "gaussian", "bernoulli" (cross-entropy where values lie between 0 and 1), "poisson", "negative-binomial", or
        "multinomial" (of a row's counts given their total, its base measure dropped).
    loc
        Mean of each column, (p,); of "multinomial" the share of each column.
    spread
        Variance of "gaussian", dispersion of "negative-binomial", (p,); empty for the others.
    """

    family: Family
    loc: np.ndarray
    spread: np.ndarray

    def log_density(self, X: Any) -> np.ndarray:
        """Return the log density of each row in nats, (n,); sparse rows stay sparse but for "gaussian"."""
        return _DENSITIES[self.family](self, X)


def fit_columns(
    X: Any, family: Family, floor: np.ndarray | float = 0.0, *, one_variance: bool = False
) -> IndependentColumns:
    """Fit one distribution per column by maximum likelihood.

    Parameters
    ----------
    X
        Rows, (n, p), dense or sparse.
    family
        Which distributions, as in `IndependentColumns`.
    floor
        Least variance of each column, of "gaussian".
    one_variance
        Whether all columns of "gaussian" have the same variance.

    Examples
    --------
    >>> columns = fit_columns(np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 0.0], [0.0, 1.0]]), "bernoulli")
    >>> columns.log_density(np.array([[1.0, 1.0]])).round(3).tolist()  # log of 3/4 times 1/2
    [-0.981]
    """
    n = X.shape[0]
    if family == "gaussian":
        mean, deviation = column_moments(X.astype(np.float64))
        variance = np.full_like(mean, (deviation**2).mean()) if one_variance else deviation**2
        return IndependentColumns(family=family, loc=mean, spread=np.maximum(variance, floor))
    totals = np.maximum(np.asarray(X.sum(axis=0), dtype=np.float64).ravel(), HALF)
    if family == "multinomial":
        return IndependentColumns(family=family, loc=totals / totals.sum(), spread=np.empty(0))
    if family == "bernoulli":
        return IndependentColumns(family=family, loc=np.minimum(totals, n - HALF) / n, spread=np.empty(0))
    spread = _dispersions(X, totals / n) if family == "negative-binomial" else np.empty(0)
    return IndependentColumns(family=family, loc=totals / n, spread=spread)


def _gaussian(columns: IndependentColumns, X: Any) -> np.ndarray:
    rows = np.asarray(dense(X), dtype=np.float64) - columns.loc
    return -0.5 * (rows**2 / columns.spread + np.log(2 * np.pi * columns.spread)).sum(axis=1)


def _bernoulli(columns: IndependentColumns, X: Any) -> np.ndarray:
    off = np.log1p(-columns.loc)
    return _product(X, np.log(columns.loc) - off) + off.sum()


def _multinomial(columns: IndependentColumns, X: Any) -> np.ndarray:
    return _product(X, np.log(columns.loc))


def _poisson(columns: IndependentColumns, X: Any) -> np.ndarray:
    def log_factorial(x: np.ndarray, column: np.ndarray) -> np.ndarray:
        return library("scipy.special").gammaln(x + 1)

    return _product(X, np.log(columns.loc)) - columns.loc.sum() - row_sums(_of_counts(X, log_factorial))


def _negative_binomial(columns: IndependentColumns, X: Any) -> np.ndarray:
    gammaln = library("scipy.special").gammaln
    mean, theta = columns.loc, columns.spread
    at_zero = -theta * np.log1p(mean / theta)

    def above_zero(x: np.ndarray, column: np.ndarray) -> np.ndarray:
        size = theta[column]
        return gammaln(size + x) - gammaln(size) - gammaln(x + 1) - x * np.log1p(size / mean[column])

    return at_zero.sum() + row_sums(_of_counts(X, above_zero))


_DENSITIES: dict[Family, Any] = {
    "gaussian": _gaussian,
    "bernoulli": _bernoulli,
    "poisson": _poisson,
    "negative-binomial": _negative_binomial,
    "multinomial": _multinomial,
}


def _product(X: Any, weights: np.ndarray) -> np.ndarray:
    return np.asarray(X @ weights, dtype=np.float64).ravel()


def _sparse(X: Any) -> Any:
    return library("scipy.sparse").csr_array(X, dtype=np.float64)


def _of_counts(X: Any, value: Any) -> Any:
    """Return a sparse matrix of ``value(x, column)`` for every count that is not 0."""
    rows = _sparse(X) if not is_sparse(X) else X.astype(np.float64).tocsr()
    rows.data = value(rows.data, rows.indices)
    return rows


def _dispersions(X: Any, mean: np.ndarray) -> np.ndarray:
    r"""Return the dispersion of each column given its mean, by bisection of the likelihood's derivative.

    .. math:: \sum_i \big[\psi(\theta + x_i) - \psi(\theta)\big] - n \log(1 + \mu / \theta) = 0

    Equal counts of a column are taken together. A column that varies no more than Poisson's goes to the upper end.
    """
    digamma = library("scipy.special").digamma
    rows = _sparse(X)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    pairs, times = np.unique(np.stack([rows.indices.astype(np.float64), rows.data]), axis=1, return_counts=True)
    column, count = pairs[0].astype(int), pairs[1]
    low, high = (np.full(len(mean), end) for end in _LOG_DISPERSION_RANGE)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        theta = np.exp(middle)
        gain = times * (digamma(theta[column] + count) - digamma(theta[column]))
        slope = np.bincount(column, gain, minlength=len(mean)) - rows.shape[0] * np.log1p(mean / theta)
        low, high = np.where(slope > 0, middle, low), np.where(slope > 0, high, middle)
    return np.exp((low + high) / 2)
