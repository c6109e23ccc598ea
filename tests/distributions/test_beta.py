"""Beta laws: quantiles, implicit gradients, divergences, and what they imply of the codes below them."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy import stats

from fewhot.distributions import (
    BetaSpikeSlab,
    SpikeSlab,
    bernoulli_kl,
    beta_kl,
    hierarchical_gate_kl,
    log_odds_draw,
    log_odds_log_prob,
)
from fewhot.distributions.beta import log_gamma_draw

SHAPES = (0.5, 0.9, 1.0, 2.0, 7.3, 30.0, 100.0)


def uniforms(n: int, seed: int = 0) -> torch.Tensor:
    return torch.rand(n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("a", SHAPES)
def test_a_draw_is_the_quantile_of_its_uniform_number(a: float) -> None:
    u = torch.cat([uniforms(500), torch.tensor([1e-7, 0.5, 1 - 1e-7])])
    found = log_gamma_draw(torch.full_like(u, a), u)
    np.testing.assert_allclose(found.numpy(), np.log(stats.gamma.ppf(u.clamp(1e-7, 1 - 1e-7).numpy(), a)), atol=1e-8)


@pytest.mark.parametrize("a", SHAPES)
def test_its_gradient_is_that_of_the_quantile(a: float) -> None:
    u = uniforms(200).clamp(0.001, 0.999)
    shape = torch.full_like(u, a).requires_grad_()
    (gradient,) = torch.autograd.grad(log_gamma_draw(shape, u).sum(), shape)
    h = 1e-4 * a
    above, below = (np.log(stats.gamma.ppf(u.numpy(), a + s * h)) for s in (1, -1))
    np.testing.assert_allclose(gradient.numpy(), (above - below) / (2 * h), rtol=1e-3, atol=1e-6)


def test_edges_stay_finite() -> None:
    a = torch.tensor([0.5, 100.0], requires_grad=True)
    draw = log_odds_draw(a, a.flip(0), torch.tensor([0.0, 1.0]), torch.tensor([1.0, 0.0]))
    (gradient,) = torch.autograd.grad(draw.sum(), a)
    assert draw.isfinite().all()
    assert gradient.isfinite().all()


def test_draws_have_the_moments_of_the_beta_law_and_a_mean_with_its_gradient() -> None:
    n = 100_000
    a, b = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0)
    v = log_odds_draw(a, b, uniforms(n).float(), uniforms(n, 1).float()).sigmoid()
    assert float(v.detach().mean()) == pytest.approx(0.4, abs=4 * 0.2 / n**0.5)
    assert float(v.detach().var()) == pytest.approx(0.04, rel=0.03)
    (gradient,) = torch.autograd.grad(v.mean(), a)
    assert float(gradient) == pytest.approx(3 / 25, rel=0.02)  # b / (a + b)^2


def test_the_divergence_has_the_known_value_and_torchs() -> None:
    assert float(beta_kl(*(torch.tensor(v) for v in (2.0, 3.0, 4.0, 1.0)))) == pytest.approx(1 + math.log(3), abs=1e-5)
    one, other = torch.distributions.Beta(0.7, 5.0), torch.distributions.Beta(2.0, 2.0)
    expected = torch.distributions.kl_divergence(one, other)
    torch.testing.assert_close(beta_kl(*(torch.tensor(v) for v in (0.7, 5.0, 2.0, 2.0))), expected)


@pytest.mark.parametrize(("a", "b"), [(0.5, 0.5), (2.0, 7.3), (100.0, 1.0)])
def test_the_density_of_log_odds_is_that_of_the_rate_on_their_scale(a: float, b: float) -> None:
    odds = torch.linspace(-12, 12, 50, dtype=torch.float64)
    v = odds.sigmoid().numpy()
    expected = stats.beta(a, b).logpdf(v) + np.log(v) + np.log1p(-v)  # |dv / d odds| = v(1 - v)
    found = log_odds_log_prob(odds, *torch.tensor([a, b], dtype=torch.float64))
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


def law(off: float, on: float, loc: float = 1.2, scale: float = 0.6) -> BetaSpikeSlab:
    return BetaSpikeSlab(*(torch.tensor([value]) for value in (off, on, loc, scale)))


def test_integrated_out_it_is_a_spike_and_slab() -> None:
    made, marginal = law(7.0, 3.0), SpikeSlab(torch.tensor([0.3]).logit(), torch.tensor([1.2]), torch.tensor([0.6]))
    z = torch.tensor([0.0, 0.4, -1.0])
    torch.testing.assert_close(made.log_prob(z), marginal.log_prob(z))
    torch.testing.assert_close(made.mean, marginal.mean)


def test_gates_cost_less_than_the_laws_above_them() -> None:
    q, p = law(2.0, 3.0), law(4.0, 1.0)
    collapsed = bernoulli_kl(q.logits, p.logits)
    assert float(collapsed) == pytest.approx(0.382, abs=1e-3)
    assert float(hierarchical_gate_kl(q, p)) == pytest.approx(2.0986, abs=1e-3)
    generator = torch.Generator().manual_seed(0)
    off, on, off0, on0 = 0.5 + 10 * torch.rand(4, 500, generator=generator)
    laws = [BetaSpikeSlab(a, b, torch.zeros(500), torch.ones(500)) for a, b in ((off, on), (off0, on0))]
    assert (hierarchical_gate_kl(*laws) >= bernoulli_kl(laws[0].logits, laws[1].logits) - 1e-5).all()
