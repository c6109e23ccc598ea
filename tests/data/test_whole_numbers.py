"""Whole numbers are counts only where counts describe their columns better than measured values would be."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import nbinom, norm, poisson
from sklearn.datasets import load_digits

import fewhot as fh
from fewhot.data import as_dataset
from fewhot.data.whole_numbers import _log_counts, _log_measured, count_something
from fewhot.metrics import summarise
from fewhot.models.defaults import features_for, likelihood_for


def survey(n_rows: int = 300) -> np.ndarray:
    """Return answers from 1 to 6 to twelve questions about three traits, and ages."""
    rng = np.random.default_rng(0)
    traits = np.repeat(rng.normal(size=(n_rows, 3)), 4, axis=1)
    answers = np.clip(np.rint(3.5 + 1.2 * traits + rng.normal(size=traits.shape)), 1, 6)
    return np.column_stack([answers, rng.integers(18, 80, n_rows)]).astype(np.float32)


def visits(n_rows: int = 300) -> np.ndarray:
    """Return how often people did ten things, most of them seldom and some of them often."""
    rng = np.random.default_rng(0)
    return rng.poisson(rng.gamma(0.5, 2.0, (n_rows, 10))).astype(np.float32)


@pytest.mark.parametrize(
    ("rows", "likelihood", "features"),
    [(survey(), "GaussianLikelihood", "Standardise"), (visits(), "NegativeBinomialLikelihood", "Log1p")],
)
def test_the_default_likelihood_follows_the_whole_numbers(rows: np.ndarray, likelihood: str, features: str) -> None:
    spec = as_dataset(rows).spec
    assert type(likelihood_for(spec)).__name__ == likelihood
    assert type(features_for(spec)).__name__ == features
    assert likelihood_for(spec, "poisson").n_columns == rows.shape[1]  # a choice is still a choice


def test_rows_of_a_sparse_matrix_and_of_words_are_counts() -> None:
    rng = np.random.default_rng(0)
    words = rng.poisson(rng.dirichlet(np.full(50, 0.1), size=200) * 12)
    assert count_something(words)
    assert count_something((words > 0) * rng.integers(1, 3, words.shape))
    assert count_something(load_digits().data)


def test_both_densities_are_those_of_scipy() -> None:
    rng = np.random.default_rng(1)
    x = np.column_stack([rng.poisson(3.0, 50), rng.negative_binomial(2, 0.2, 50)]).astype(float)
    mean, variance = np.array([3.0, 8.0]), np.array([2.5, 40.0])
    p = mean[1] / variance[1]
    slow = np.column_stack([poisson.logpmf(x[:, 0], 3.0), nbinom.logpmf(x[:, 1], mean[1] * p / (1 - p), p)])
    np.testing.assert_allclose(_log_counts(x, mean, variance), slow, rtol=1e-9)
    s = np.sqrt(variance)
    slow = np.log(norm.cdf((x + 0.5 - mean) / s) - norm.cdf((x - 0.5 - mean) / s))
    np.testing.assert_allclose(_log_measured(x, mean, variance), slow, rtol=1e-6)


def test_a_survey_is_fitted_better_than_its_columns_alone() -> None:
    rows = survey(600)
    found = fh.VSC(16, l0=3, max_steps=800, device="cpu", random_state=0).fit(rows[:500])
    summary = summarise(found, rows[500:])
    assert summary.value("bound") > summary.value("reference_columns")


@pytest.mark.parametrize("scale", [9.9e4, 1.1e5, 1e17])
def test_wide_columns_are_as_likely_as_their_density(scale: float) -> None:
    x = np.rint(scale * np.random.default_rng(0).normal(size=(50, 1)))
    mean, variance = x.mean(axis=0), np.array([scale**2])
    np.testing.assert_allclose(_log_measured(x, mean, variance), norm(mean, scale).logpdf(x), rtol=1e-6)
