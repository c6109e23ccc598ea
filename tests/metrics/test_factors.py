"""Linear references: densities of scikit-learn's, reconstructions of PCA, the same for sparse rows."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import multivariate_normal
from sklearn.datasets import load_diabetes, load_wine
from sklearn.decomposition import PCA, FactorAnalysis

from fewhot.metrics import factors
from fewhot.metrics.factors import fit_factors

WINE = load_wine().data


def test_factor_analysis_is_that_of_scikit_learn() -> None:
    X = load_diabetes().data * 20
    scale = X.std(axis=0)
    _, model, name = fit_factors(X[:300], 3, scale, floor=1e-6)
    known = FactorAnalysis(3, tol=1e-4, max_iter=5000, svd_method="lapack").fit(X[:300])
    assert name == "factor analysis"
    # both stop where a turn gains little: two columns are nearly alike, and their noise goes on falling slowly
    assert model.log_density(X[:300]).mean() == pytest.approx(known.score(X[:300]), abs=0.05)
    assert model.log_density(X[300:]).mean() == pytest.approx(known.score(X[300:]), abs=0.05)


@pytest.mark.parametrize("widest", [0, 1000])
def test_few_rows_have_the_density_of_probabilistic_pca(widest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(factors, "MAX_COVARIANCE", widest)
    X = np.random.default_rng(0).normal(size=(12, 20)) @ np.diag(np.linspace(1, 3, 20))
    _, model, name = fit_factors(X, 4, np.ones(20), floor=1e-3, seed=2**63 - 1)
    assert name == "probabilistic PCA"
    covariance = model.loadings.T @ model.loadings + np.diag(model.noise)
    found = model.log_density(X)
    assert found == pytest.approx(multivariate_normal(X.mean(axis=0), covariance).logpdf(X))
    total = X.var(axis=0).sum()
    assert np.trace(covariance) == pytest.approx(total)
    kept = np.linalg.eigvalsh(np.cov(X.T, bias=True))[::-1][:4]
    assert np.linalg.eigvalsh(covariance)[::-1][:4] == pytest.approx(kept, rel=1e-3)


def test_reconstructions_are_those_of_pca() -> None:
    scale = WINE.std(axis=0)
    axes, _, _ = fit_factors(WINE[:120], 3, scale, floor=1e-3)
    known = PCA(3).fit(WINE[:120] / scale)
    rows = WINE[120:] / scale
    expected = ((rows - known.inverse_transform(known.transform(rows))) ** 2).sum(axis=1)
    assert axes.squared_errors(WINE[120:]) == pytest.approx(expected)
    assert axes.squared_deviations(WINE[120:]) == pytest.approx(((rows - known.mean_) ** 2).sum(axis=1))
    assert axes.squared_deviations(WINE[120:], WINE[120:]).max() == 0


@pytest.mark.parametrize("widest", [10, 1000])
def test_sparse_rows_have_the_same_factors(widest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(factors, "MAX_COVARIANCE", widest)
    X = np.random.default_rng(0).normal(size=(200, 30)) * (np.random.default_rng(1).random((200, 30)) < 0.2)
    X[:, :3] += 3 * X[:, [5]]
    X[:, 10:14] += 3 * X[:, [15]]
    dense = fit_factors(X, 2, X.std(axis=0), floor=1e-3)
    sparse = fit_factors(sp.csr_array(X), 2, X.std(axis=0), floor=1e-3, seed=2**63 - 1)
    assert sparse[1].log_density(sp.csr_array(X)) == pytest.approx(dense[1].log_density(X), abs=0.05)
    assert sparse[0].squared_errors(sp.csr_array(X)) == pytest.approx(dense[0].squared_errors(X), rel=0.01)


def test_columns_that_are_alike_do_not_make_a_density_without_end() -> None:
    X = np.repeat(np.random.default_rng(0).normal(size=(500, 1)), 4, axis=1)
    _, model, _ = fit_factors(X, 1, np.ones(4), floor=1e-3)
    assert model.noise.min() >= 1e-3
    assert model.log_density(X).max() < 4 * 4  # a floor of 1e-3 allows 2.5 nats a column


def test_more_factors_than_columns_are_cut() -> None:
    axes, model, _ = fit_factors(WINE, 50, WINE.std(axis=0), floor=1e-3)
    assert len(axes.axes) == len(model.loadings) == 12
