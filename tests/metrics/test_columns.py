"""Independent columns: the densities of scipy's distributions, fitted by maximum likelihood, dense and sparse alike."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats

from fewhot.metrics.columns import Family, fit_columns

RNG = np.random.default_rng(0)
COUNTS = RNG.negative_binomial(0.7, 0.2, size=(400, 5)).astype(float)


def test_gaussian_columns_have_mean_and_variance_no_less_than_the_floor() -> None:
    X = RNG.normal(3.0, [1.0, 2.0, 0.0], size=(100, 3))
    found = fit_columns(X, "gaussian", floor=0.01).log_density(X)
    deviation = np.maximum(X.std(axis=0), 0.1)
    assert found == pytest.approx(stats.norm(X.mean(axis=0), deviation).logpdf(X).sum(axis=1))


def test_poisson_columns() -> None:
    found = fit_columns(COUNTS, "poisson").log_density(COUNTS)
    assert found == pytest.approx(stats.poisson(COUNTS.mean(axis=0)).logpmf(COUNTS).sum(axis=1))


def test_negative_binomial_columns_are_the_likeliest() -> None:
    columns = fit_columns(COUNTS, "negative-binomial")

    def density(theta: np.ndarray) -> np.ndarray:
        return stats.nbinom(theta, theta / (theta + columns.loc)).logpmf(COUNTS).sum(axis=1)

    assert columns.log_density(COUNTS) == pytest.approx(density(columns.spread))
    assert columns.spread == pytest.approx(np.full(5, 0.7), rel=0.3)
    for factor in (0.95, 1.05):
        assert density(columns.spread).sum() > density(factor * columns.spread).sum()


def test_counts_that_vary_as_poissons_have_its_density() -> None:
    X = np.tile([[0.0, 1.0], [1.0, 0.0]], (50, 1))
    narrow = fit_columns(X, "negative-binomial").log_density(X)
    assert narrow == pytest.approx(fit_columns(X, "poisson").log_density(X), abs=1e-4)


def test_a_multinomial_is_the_unigram() -> None:
    shares = COUNTS.sum(axis=0) / COUNTS.sum()
    assert fit_columns(COUNTS, "multinomial").log_density(COUNTS) == pytest.approx(COUNTS @ np.log(shares))


@pytest.mark.parametrize("family", ["bernoulli", "poisson", "negative-binomial", "multinomial"])
def test_what_no_training_row_has_is_not_impossible(family: Family) -> None:
    train = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 0.0]])
    assert np.isfinite(fit_columns(train, family).log_density(np.array([[0.0, 1.0]]))).all()


@pytest.mark.parametrize("family", ["gaussian", "bernoulli", "poisson", "negative-binomial", "multinomial"])
def test_sparse_rows_have_the_same_density(family: Family) -> None:
    X = np.minimum(COUNTS, 1.0) if family == "bernoulli" else COUNTS
    dense, sparse = (fit_columns(rows, family).log_density(rows) for rows in (X, sp.csr_array(X)))
    assert sparse == pytest.approx(dense)


def test_grey_levels_have_the_cross_entropy() -> None:
    X = RNG.random((50, 4))
    p = X.mean(axis=0)
    expected = (X * np.log(p) + (1 - X) * np.log(1 - p)).sum(axis=1)
    assert fit_columns(X, "bernoulli").log_density(X) == pytest.approx(expected)
