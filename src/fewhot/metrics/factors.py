"""Linear Gaussian references: principal axes, and factor analysis as a density of rows."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from fewhot.metrics.libraries import library
from fewhot.metrics.matrices import dense, is_sparse, scale_columns

MAX_COVARIANCE = 1000
"""Up to so many columns a full covariance is made, and factor analysis fitted; beyond, probabilistic PCA."""
_MAX_ITERATIONS = 300
_TOLERANCE = 1e-5  # nats per row and column
_DENSE_SOLVER = 64  # up to so many columns all of a matrix is worked on


@dataclass(frozen=True, slots=True, kw_only=True)
class FactorModel:
    r"""A linear Gaussian code of k dimensions.

    .. math:: x = \mu + s \odot (W^\top z + \varepsilon), \qquad z \sim \mathcal{N}(0, I_k), \quad
        \varepsilon \sim \mathcal{N}(0, \mathrm{diag}\,\psi)

    Attributes
    ----------
    mean, scale
        Location and unit of each column, (p,).
    loadings
        W, (k, p), in those units.
    noise
        Variances :math:`\psi`, (p,): of their own for each column (factor analysis), or all alike (probabilistic PCA).
    """

    mean: np.ndarray
    scale: np.ndarray
    loadings: np.ndarray
    noise: np.ndarray

    def log_density(self, X: Any) -> np.ndarray:
        """Return the exact log density of each row in nats, in the units of the data, (n,)."""
        z = in_units(X, self.mean, self.scale)
        weighted = self.loadings / self.noise
        precision = np.eye(len(self.loadings)) + weighted @ self.loadings.T
        factor = library("scipy.linalg").cholesky(precision, lower=True)
        projected = library("scipy.linalg").solve_triangular(factor, weighted @ z.T, lower=True)
        distance = (z**2 / self.noise).sum(axis=1) - (projected**2).sum(axis=0)
        log_det = 2 * np.log(np.diag(factor)).sum() + np.log(self.noise).sum() + 2 * np.log(self.scale).sum()
        return -0.5 * (distance + log_det + z.shape[1] * np.log(2 * np.pi))


@dataclass(frozen=True, slots=True, kw_only=True)
class PrincipalAxes:
    """The first k principal axes of rows.

    Attributes
    ----------
    mean, scale
        Location and unit of each column, (p,).
    axes
        Orthonormal directions, (k, p), in those units.
    """

    mean: np.ndarray
    scale: np.ndarray
    axes: np.ndarray

    def squared_errors(self, X: Any) -> np.ndarray:
        """Return the squared error of each row's reconstruction, in the units of the columns, (n,)."""
        z = in_units(X, self.mean, self.scale)
        return np.maximum((z**2).sum(axis=1) - ((z @ self.axes.T) ** 2).sum(axis=1), 0.0)

    def squared_deviations(self, X: Any, fitted: Any = None) -> np.ndarray:
        """Return the squared distance of each row from ``fitted`` rows, or from the mean, in the same units, (n,)."""
        other = self.mean if fitted is None else np.asarray(fitted, dtype=np.float64)
        return (in_units(X, other, self.scale) ** 2).sum(axis=1)


def fit_factors(
    X: Any, n_factors: int, scale: np.ndarray, floor: float, seed: int = 0, *, one_variance: bool = False
) -> tuple[PrincipalAxes, FactorModel, str]:
    """Fit principal axes and a factor model to rows; return both and the name of the latter.

    Factor analysis where there are more rows than columns and at most 1000 columns; else, and with ``one_variance``,
    probabilistic PCA, which has one variance for all columns and does not overfit where rows are few. No variance
    falls below ``floor``.

    Parameters
    ----------
    X
        Rows, (n, p), dense or sparse.
    n_factors
        How many dimensions; fewer where the rows allow no more.
    scale
        Unit of each column, (p,).
    floor
        Least variance of the noise, in those units.
    seed
        Seed of the search for axes of wide rows.
    one_variance
        Whether the noise of all columns has the same variance.

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(size=(500, 1)) * np.ones(4)
    >>> axes, model, name = fit_factors(rows, 1, np.ones(4), floor=1e-3)
    >>> name, bool(axes.squared_errors(rows).max() < 1e-9)
    ('factor analysis', True)
    """
    n, p = X.shape
    k = max(1, min(n_factors, n - 1, p - 1))
    mean = np.asarray(X.mean(axis=0), dtype=np.float64).ravel()
    if p <= MAX_COVARIANCE:
        covariance = _covariance(X, mean, scale)
        values, axes = _top_eigenpairs(covariance, k)
        total = float(np.trace(covariance))
    else:
        covariance = None
        values, axes, total = _wide_eigenpairs(X, mean, scale, k, seed)
    if covariance is not None and n > p > k and not one_variance:
        name, (loadings, noise) = "factor analysis", _factor_analysis(covariance, k, floor)
    else:
        name, (loadings, noise) = "probabilistic PCA", _probabilistic_pca(values, axes, total, floor)
    at = {"mean": mean, "scale": scale}
    return PrincipalAxes(**at, axes=axes), FactorModel(**at, loadings=loadings, noise=noise), name


def in_units(X: Any, mean: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Return rows in the units of their columns, dense: give a few rows at a time."""
    return (np.asarray(dense(X), dtype=np.float64) - mean) / scale


def _covariance(X: Any, mean: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Return the covariance of columns in their units, (p, p)."""
    if is_sparse(X):
        rows = scale_columns(X.astype(np.float64), 1 / scale)
        centre = mean / scale
        return np.asarray((rows.T @ rows).toarray()) / X.shape[0] - np.outer(centre, centre)
    z = in_units(X, mean, scale)
    return z.T @ z / len(z)


def _top_eigenpairs(matrix: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the k largest eigenvalues, largest first, (k,), and their vectors as rows, (k, p)."""
    p = len(matrix)
    if p > _DENSE_SOLVER and k < p // 4:  # at 768 columns Lanczos is ten times quicker
        solver = library("scipy.sparse.linalg")
        start = np.random.default_rng(0).normal(size=p)
        with suppress(solver.ArpackNoConvergence):
            values, vectors = solver.eigsh(matrix, k, v0=start, tol=1e-7)
            order = np.argsort(values)[::-1]
            return values[order], vectors[:, order].T
    values, vectors = library("scipy.linalg").eigh(matrix, subset_by_index=[p - k, p - 1])
    return values[::-1], vectors[:, ::-1].T


def _wide_eigenpairs(
    X: Any, mean: np.ndarray, scale: np.ndarray, k: int, seed: int
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the same of the covariance of wide rows, which is never made, and its trace; sparse rows stay sparse."""
    pca, rows = library("sklearn.decomposition").PCA, X
    seed %= 2**32  # all that numpy's old generators take
    if is_sparse(X):
        rows = scale_columns(X.astype(np.float64), 1 / scale)
        found = pca(k, svd_solver="arpack", random_state=seed).fit(rows)
    else:
        rows = in_units(X, mean, scale)
        found = pca(k, svd_solver="randomized", random_state=seed).fit(rows)
    shrunk = (X.shape[0] - 1) / X.shape[0]
    return found.explained_variance_ * shrunk, found.components_, _total_variance(rows)


def _total_variance(rows: Any) -> float:
    squares: Any = rows.multiply(rows) if is_sparse(rows) else rows**2
    mean = np.asarray(rows.mean(axis=0), dtype=np.float64).ravel()
    return float(squares.sum() / rows.shape[0] - (mean**2).sum())


def _probabilistic_pca(
    values: np.ndarray, axes: np.ndarray, total: float, floor: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return loadings and noise by the closed form of Tipping and Bishop (1999)."""
    k, p = int(axes.shape[0]), int(axes.shape[1])
    variance = max((total - values.sum()) / max(p - k, 1), floor)
    loadings: np.ndarray = axes * np.sqrt(np.maximum(values - variance, 0.0))[:, None]
    return loadings, np.full(p, variance)


def _factor_analysis(covariance: np.ndarray, k: int, floor: float) -> tuple[np.ndarray, np.ndarray]:
    """Return maximum-likelihood loadings and noise: given the noise, the loadings are an eigenproblem (Barber, 2012).

    scikit-learn's `FactorAnalysis` takes the same turns on rows; with a covariance a turn costs nothing in rows, and
    noise can keep to a floor.
    """
    variances = np.diag(covariance).copy()
    noise = np.maximum(variances, floor)
    best: tuple[float, np.ndarray, np.ndarray] = (-np.inf, noise, noise)
    for _ in range(_MAX_ITERATIONS):
        root = np.sqrt(noise)
        values, axes = _top_eigenpairs(covariance / np.outer(root, root), k)
        values = np.maximum(values, 1.0)
        loadings = axes * np.sqrt(values - 1.0)[:, None] * root
        fit = -0.5 * (np.log(noise).sum() + np.log(values).sum() + (variances / noise).sum() - (values - 1.0).sum())
        gained = fit - best[0]
        if gained > 0:
            best = (float(fit), loadings, noise)
        if gained < _TOLERANCE * len(noise):
            break
        noise = np.maximum(variances - (loadings**2).sum(axis=0), floor)
    return best[1], best[2]
