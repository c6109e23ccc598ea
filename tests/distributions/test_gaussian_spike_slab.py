"""The spike with a width: density, draws, moments and limits."""

from __future__ import annotations

import math

import pytest
import torch

from fewhot.distributions import Gaussian, GaussianSpikeSlab, SpikeSlab


def law(logit: float = -1.0, loc: float = 0.7, scale: float = 0.9, spike: float = 0.05) -> GaussianSpikeSlab:
    return GaussianSpikeSlab(*(torch.tensor([value]) for value in (logit, loc, scale, spike)))


@pytest.mark.parametrize("logit", [-3.0, 0.0, 2.0, math.inf, -math.inf])
def test_the_density_integrates_to_one(logit: float) -> None:
    fine = torch.linspace(-12, 12, 400_001, dtype=torch.float64)
    made = GaussianSpikeSlab(
        *(torch.tensor(v, dtype=torch.float64) for v in (logit, 0.7, 0.9, 0.05)), validate_args=False
    )
    assert float(torch.trapezoid(made.log_prob(fine).exp(), fine)) == pytest.approx(1.0, abs=1e-6)


def test_draws_have_its_moments() -> None:
    made = law()
    z = made.sample((200_000,), noise=made.noise_like((200_000,), torch.Generator().manual_seed(0)))
    assert float(z.mean()) == pytest.approx(float(made.mean), abs=4 * float(made.stddev) / 200_000**0.5)
    assert float(z.std()) == pytest.approx(float(made.stddev), rel=0.01)


def test_without_a_spike_it_is_the_slab() -> None:
    z = torch.linspace(-3, 3, 13)
    only = GaussianSpikeSlab(
        torch.tensor(math.inf), torch.tensor(0.7), torch.tensor(0.9), torch.tensor(0.05), validate_args=False
    )
    torch.testing.assert_close(only.log_prob(z), Gaussian(0.7, 0.9).log_prob(z))
    z.requires_grad_()
    (gradient,) = torch.autograd.grad(only.log_prob(z).sum(), z)
    assert gradient.isfinite().all()


def test_draws_go_to_those_of_the_exact_spike() -> None:
    made, exact = law(spike=1e-6), SpikeSlab(torch.tensor([-1.0]), torch.tensor([0.7]), torch.tensor([0.9]))
    noise = made.noise_like((50,), torch.Generator().manual_seed(0))
    torch.testing.assert_close(made.sample((50,), noise=noise), exact.sample((50,), noise=noise), rtol=0, atol=1e-5)


def test_it_expands_and_checks_like_any_law_of_torch() -> None:
    wide = law().expand((3, 1))
    assert wide.batch_shape == (3, 1)
    assert wide.sample().shape == (3, 1)
    with pytest.raises(ValueError, match="spike_scale"):
        GaussianSpikeSlab(torch.zeros(1), torch.zeros(1), torch.ones(1), torch.tensor([-1.0]), validate_args=True)
