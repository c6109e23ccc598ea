"""The Gaussian and its divergence."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.distributions import Normal, kl_divergence

from fewhot.core.errors import InvalidInputError
from fewhot.core.seeding import stream
from fewhot.distributions import Gaussian, gaussian_kl


def gaussian(loc: float, scale: float) -> Gaussian:
    return Gaussian(torch.tensor(loc, dtype=torch.float64), torch.tensor(scale, dtype=torch.float64))


@pytest.mark.parametrize("divergence", [kl_divergence, gaussian_kl])
@pytest.mark.parametrize(("m", "s", "expected"), [(0.0, 1.0, 0.910825624), (0.2, 1.5, 0.718512954)])
def test_kl_has_the_reference_value(divergence, m: float, s: float, expected: float) -> None:
    assert divergence(gaussian(1.2, 0.6), gaussian(m, s)).item() == pytest.approx(expected, abs=1e-9)


def test_kl_of_torch_dispatches_between_gaussian_and_normal() -> None:
    q, p = gaussian(1.2, 0.6), gaussian(0.2, 1.5)
    plain = Normal(p.loc, p.scale)
    torch.testing.assert_close(kl_divergence(q, plain), gaussian_kl(q, p))


@settings(deadline=None)
@given(loc=st.floats(-10, 10), scale=st.floats(0.01, 10), other_loc=st.floats(-10, 10), other_scale=st.floats(0.01, 10))
def test_kl_is_never_negative(loc: float, scale: float, other_loc: float, other_scale: float) -> None:
    assert gaussian_kl(gaussian(loc, scale), gaussian(other_loc, other_scale)) >= -1e-12


def test_kl_of_a_law_with_itself_is_exactly_zero() -> None:
    q = Gaussian(torch.randn(100), torch.rand(100) + 0.1)
    assert (gaussian_kl(q, q) == 0).all()


def test_given_noise_is_scaled_and_shifted() -> None:
    q = Gaussian(torch.tensor([1.0, 2.0]), torch.tensor([0.5, 3.0]))
    torch.testing.assert_close(q.rsample(noise=torch.tensor([2.0, -1.0])), torch.tensor([2.0, -1.0]))


def test_draw_differentiates_to_loc_and_scale() -> None:
    loc, scale = torch.zeros(3, requires_grad=True), torch.ones(3, requires_grad=True)
    noise = torch.tensor([0.5, -1.0, 2.0])
    Gaussian(loc, scale).rsample(noise=noise).sum().backward()
    assert torch.equal(loc.grad, torch.ones(3))
    assert torch.equal(scale.grad, noise)


def test_one_noise_for_all_rows_is_broadcast_to_the_whole_draw() -> None:
    q = Gaussian(torch.zeros(4, 3), torch.ones(4, 3))
    z = q.rsample((5,), noise=torch.tensor([[1.0, 2.0, 3.0]]))
    assert z.shape == (5, 4, 3)
    assert (z == torch.tensor([1.0, 2.0, 3.0])).all()


@pytest.mark.parametrize("shape", [(4, 2), (7, 4, 3), (2, 3)])
def test_noise_of_a_wrong_shape_is_refused_with_the_shapes(shape: tuple[int, ...]) -> None:
    q = Gaussian(torch.zeros(4, 3), torch.ones(4, 3))
    with pytest.raises(InvalidInputError, match=r"does not broadcast to \(4, 3\)"):
        q.rsample(noise=torch.zeros(shape))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_noise_has_the_shape_and_precision_of_a_draw(dtype: torch.dtype) -> None:
    noise = Gaussian(torch.zeros(4, 3, dtype=dtype), torch.ones(4, 3, dtype=dtype)).noise_like((2,))
    assert noise.shape == (2, 4, 3)
    assert noise.dtype == dtype


def test_noise_repeats_with_its_generator() -> None:
    q = Gaussian(torch.zeros(3), torch.ones(3))
    assert torch.equal(q.noise_like((2,), stream(0, "noise")), q.noise_like((2,), stream(0, "noise")))


def test_expand_keeps_the_class() -> None:
    q = Gaussian(torch.zeros(3), torch.ones(3)).expand((2, 3))
    assert isinstance(q, Gaussian)
    assert q.rsample().shape == (2, 3)


def test_draws_have_the_mean_and_variance_of_the_law() -> None:
    n = 100_000
    z = gaussian(1.2, 0.6).rsample((n,), gaussian(0.0, 1.0).noise_like((n,), stream(0, "moments")))
    assert abs(z.mean() - 1.2) < 4 * 0.6 / n**0.5
    assert abs(z.var() - 0.36) < 4 * 0.36 * (2 / n) ** 0.5


def test_draw_density_and_divergence_compile_as_one_graph() -> None:
    def step(loc, scale, noise):
        q = Gaussian(loc, scale, validate_args=False)
        p = Gaussian(torch.zeros_like(loc), torch.ones_like(scale), validate_args=False)
        z = q.rsample(noise=noise)
        return z, q.log_prob(z), gaussian_kl(q, p)

    inputs = torch.randn(4), torch.rand(4) + 0.1, torch.randn(4)
    compiled = torch.compile(step, fullgraph=True, backend="eager")
    for actual, expected in zip(compiled(*inputs), step(*inputs), strict=True):
        torch.testing.assert_close(actual, expected)
