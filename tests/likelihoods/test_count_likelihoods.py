from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import special, stats

from fewhot.core.records import Dense
from fewhot.likelihoods import NegativeBinomialLikelihood, PoissonLikelihood
from fewhot.likelihoods.negative_binomial import log_rising

from .cases import fitted, outputs_for, ragged_of, rows_for


@pytest.mark.parametrize("family", [PoissonLikelihood, NegativeBinomialLikelihood])
def test_a_clipped_log_mean_still_learns(family: type) -> None:
    out = torch.full((1, 1), -400.0, requires_grad=True)
    (gradient,) = torch.autograd.grad(family(1)(out).log_prob(Dense(torch.ones(1, 1))).sum(), out)
    assert gradient.item() > 0.5


@pytest.mark.parametrize("ragged", [False, True], ids=["dense", "ragged"])
def test_negative_binomial_tends_to_poisson(ragged: bool) -> None:
    x, likelihood = rows_for("poisson"), NegativeBinomialLikelihood(5)
    out = outputs_for(likelihood, len(x))
    rows = ragged_of(x) if ragged else Dense(x)
    poisson = PoissonLikelihood(5)(out).log_prob(rows)
    gaps = []
    for log_theta in (2.0, 6.0, 10.0, 18.0):
        with torch.no_grad():
            likelihood.log_dispersion.fill_(log_theta)
            gaps.append((likelihood(out).log_prob(rows) - poisson).abs().max().item())
    assert gaps[0] > 10 * gaps[1] > 100 * gaps[2]
    assert gaps[3] < 1e-4


def test_negative_binomial_variance_exceeds_the_mean_by_its_square_over_theta() -> None:
    likelihood = fitted("negative-binomial")
    px = likelihood(outputs_for(likelihood, 4))
    theta = likelihood.log_dispersion.exp()
    torch.testing.assert_close(px.build(px.params).variance, px.mean + px.mean**2 / theta)


@given(log_theta=st.floats(-10, 18), x=st.integers(0, 1000))
@example(log_theta=2.8, x=3)
@example(log_theta=5.0, x=30)
@settings(max_examples=100, deadline=None, database=None)
def test_log_rising_keeps_its_digits(log_theta: float, x: int) -> None:
    theta = torch.tensor(log_theta).exp()
    exact = -special.betaln(float(theta), x) + special.gammaln(x) if x else 0.0  # no cancellation in float64
    assert log_rising(theta, torch.tensor(float(x))).item() == pytest.approx(exact, rel=2e-6, abs=3e-5)


def test_log_rising_has_the_gradient_of_a_difference_of_digammas() -> None:
    theta = torch.tensor([1e-3, 1.0, 15.9, 16.1, 300.0, 1e5], requires_grad=True)
    x = torch.tensor(7.0)
    (gradient,) = torch.autograd.grad(log_rising(theta, x).sum(), theta)
    at = theta.detach().double().numpy()
    np.testing.assert_allclose(gradient, special.digamma(at + 7) - special.digamma(at), rtol=2e-4)


def test_log_rising_is_smooth_where_the_branches_meet() -> None:
    below, above = log_rising(torch.tensor([15.999999, 16.0]), torch.tensor(9.0))
    assert above - below == pytest.approx(0.0, abs=2e-5)


def test_a_dispersed_column_draws_the_negative_binomial_of_scipy() -> None:
    likelihood, n_draws = NegativeBinomialLikelihood(1), 20_000
    with torch.no_grad():
        likelihood.log_dispersion.fill_(-1.0)
    draws = likelihood(torch.ones(n_draws, 1)).sample(torch.Generator().manual_seed(0)).flatten().numpy()
    theta, mu = np.exp(-1.0), np.exp(1.0)
    share_of_zeros = stats.nbinom(theta, theta / (theta + mu)).pmf(0)
    standard_error = (share_of_zeros * (1 - share_of_zeros) / n_draws) ** 0.5
    assert abs((draws == 0).mean() - share_of_zeros) < 4 * standard_error
