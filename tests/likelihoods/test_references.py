"""Every family against scipy.stats, from the raw decoder output, in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from scipy import special, stats

from fewhot.core.records import Dense
from fewhot.likelihoods import Likelihood

from .cases import EVERY, N_COLUMNS, N_ROWS, fitted, identify, outputs_for, rows_for

ELEMENTWISE = [(name, options) for name, options in EVERY if name != "multinomial"]


def scipy_rows(name: str, likelihood: Likelihood, out: np.ndarray) -> Any:
    """Return the frozen scipy distribution of every column."""
    state = {key: value.double().numpy() for key, value in likelihood.state_dict().items()}
    match name:
        case "bernoulli":
            return stats.bernoulli(special.expit(out))
        case "gaussian":
            m, row_log_variance = out[..., :N_COLUMNS], out[..., N_COLUMNS:]
            m = special.expit(m) if likelihood.sigmoid_mean else m
            of_columns = likelihood.variance == "per-column"
            log_variance = likelihood.log_variance.detach().numpy() if of_columns else row_log_variance
            variance = np.exp(log_variance.astype(float)) + likelihood.floor
            return stats.norm(state["loc"] + state["scale"] * m, state["scale"] * np.sqrt(variance))
        case "laplace":
            return stats.laplace(state["loc"] + state["scale"] * out, state["scale"] * likelihood.noise_scale)
        case "poisson":
            return stats.poisson(np.exp(out))
        case "negative-binomial":
            theta = np.exp(state["log_dispersion"])
            return stats.nbinom(theta, theta / (theta + np.exp(out)))
    pytest.skip(f"no scipy reference for {name}")


def log_prob_of(reference: Any, x: np.ndarray) -> np.ndarray:
    columns = reference.logpdf(x) if hasattr(reference.dist, "logpdf") else reference.logpmf(x)
    return columns.sum(-1)


@pytest.mark.parametrize(("name", "options"), ELEMENTWISE, ids=identify)
def test_log_prob_agrees_with_scipy(name: str, options: dict) -> None:
    likelihood, x = fitted(name, **options), rows_for(name)
    out = outputs_for(likelihood, 3, N_ROWS)
    expected = log_prob_of(scipy_rows(name, likelihood, out.double().numpy()), x.double().numpy())
    np.testing.assert_allclose(likelihood(out).log_prob(Dense(x)).detach(), expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize(("name", "options"), ELEMENTWISE, ids=identify)
def test_mean_agrees_with_scipy(name: str, options: dict) -> None:
    likelihood = fitted(name, **options)
    out = outputs_for(likelihood, 3, N_ROWS)
    expected = scipy_rows(name, likelihood, out.double().numpy()).mean()
    np.testing.assert_allclose(likelihood(out).mean.detach(), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("name", "options"), ELEMENTWISE, ids=identify)
def test_draws_have_the_variance_of_scipy(name: str, options: dict) -> None:
    n_draws, likelihood = 20_000, fitted(name, **options)
    out = outputs_for(likelihood, 1)
    expected = scipy_rows(name, likelihood, out.double().numpy()).var()
    draws = likelihood(out.expand(n_draws, -1)).sample(torch.Generator().manual_seed(0)).double().numpy()
    squares = (draws - draws.mean(0)) ** 2
    standard_error = squares.std(0) / n_draws**0.5
    assert (np.abs(squares.mean(0) - expected) < 4.5 * standard_error).all()


def test_multinomial_agrees_with_scipy_up_to_the_base_measure() -> None:
    likelihood, x = fitted("multinomial"), rows_for("multinomial").numpy()
    out = outputs_for(likelihood, N_ROWS)
    probs = special.softmax(out.double().numpy(), -1)
    base_measure = special.gammaln(x.sum(-1) + 1) - special.gammaln(x + 1).sum(-1)
    expected = stats.multinomial.logpmf(x, n=x.sum(-1).astype(int), p=probs) - base_measure
    np.testing.assert_allclose(likelihood(out).log_prob(Dense(torch.tensor(x))), expected, rtol=1e-5, atol=1e-5)
