"""The integration rules against values known otherwise."""

import math

import pytest
import torch
from scipy.integrate import quad

from fewhot.distributions.quadrature import logistic_expectation, softplus_tail


def test_logistic_weights_sum_to_one() -> None:
    total = logistic_expectation(torch.ones_like, torch.zeros((), dtype=torch.float64))
    assert total.item() == pytest.approx(1.0, abs=1e-14)


@pytest.mark.parametrize("width", [0.1, 0.3, 1.0])
def test_logistic_expectation_resolves_narrow_steps(width: float) -> None:
    def integrand(x: float) -> float:
        return 0.25 / math.cosh(x / 2) ** 2 / (1 + math.exp(-(x + 1.3) / width))

    expected = quad(integrand, -40, 40, points=[-1.3], epsabs=1e-13, limit=400)[0]
    actual = logistic_expectation(lambda x: ((x + 1.3) / width).sigmoid(), torch.zeros((), dtype=torch.float64))
    assert actual.item() == pytest.approx(expected, abs=1e-11)


@pytest.mark.parametrize("x", [0.0, 1e-3, 0.5, 3.0, 25.0, 200.0])
def test_softplus_tail_agrees_with_adaptive_integration(x: float) -> None:
    expected = quad(lambda t: math.log1p(math.exp(-t)), 0, x, points=[min(x, 5.0)], epsabs=1e-13, limit=400)[0]
    assert softplus_tail(torch.tensor(x, dtype=torch.float64)).item() == pytest.approx(expected, abs=1e-12)


def test_softplus_tail_tends_to_its_limit() -> None:
    assert softplus_tail(torch.tensor(1e3, dtype=torch.float64)).item() == pytest.approx(math.pi**2 / 12, abs=1e-12)
