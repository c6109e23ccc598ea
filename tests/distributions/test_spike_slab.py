"""The spike and slab: exact zeros, density, gradients and divergence."""

from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.distributions import Independent, kl_divergence

from fewhot.core.errors import InvalidInputError
from fewhot.core.seeding import stream
from fewhot.distributions import (
    BinaryConcreteGate,
    ExactGate,
    Gaussian,
    SharpSigmoidGate,
    SpikeSlab,
    bernoulli_kl,
    gaussian_kl,
    kl_parts,
)

inf = torch.inf

RELAXATIONS = {
    "exact": None,
    "concrete-straight": partial(BinaryConcreteGate, temperature=0.5),
    "concrete-soft": partial(BinaryConcreteGate, temperature=0.5, estimator="soft"),
    "sharp-soft": partial(SharpSigmoidGate, sharpness=50.0),
}
relaxations = pytest.mark.parametrize("relaxation", RELAXATIONS.values(), ids=RELAXATIONS.keys())

rates = st.floats(0.0, 1.0)
locs = st.floats(-5, 5)
scales = st.floats(0.05, 5)


def double(value: float) -> Tensor:
    return torch.tensor(value, dtype=torch.float64)


def law(rate: float, loc: float = 0.0, scale: float = 1.0, **options) -> SpikeSlab:
    return SpikeSlab(double(rate).logit(), double(loc), double(scale), **options)


def batch(relaxation=None, **options) -> SpikeSlab:
    logits, loc, scale = torch.linspace(-2, 2, 12).reshape(4, 3), torch.linspace(-1, 1, 3), torch.tensor(0.5)
    return SpikeSlab(logits, loc, scale, relaxation, **options)


# Divergence


def test_kl_has_the_reference_value_of_the_fixed_prior() -> None:
    assert kl_divergence(law(0.3, 1.2, 0.6), law(0.1)).item() == pytest.approx(0.426911274, abs=1e-9)


def test_kl_with_a_shared_rate_is_the_rate_times_the_slab_term() -> None:
    assert kl_divergence(law(0.3, 1.2, 0.6), law(0.3)).item() == pytest.approx(0.273247687, abs=1e-9)


def test_kl_of_gates_always_on_is_exactly_the_gaussian_one() -> None:
    q, p = law(1.0, 1.2, 0.6), law(1.0, 0.2, 1.5)
    assert torch.equal(kl_divergence(q, p), gaussian_kl(q.slab, p.slab))


@pytest.mark.parametrize("rho", [0.0, 0.1, 0.9])
def test_kl_of_a_gate_always_off_is_minus_log_of_the_off_probability(rho: float) -> None:
    expected = -torch.log1p(-double(rho))
    torch.testing.assert_close(kl_divergence(law(0.0, 3.0, 0.1), law(rho)), expected)


@pytest.mark.parametrize(("gamma", "rho"), [(0.3, 0.0), (0.3, 1.0), (1.0, 0.0), (0.0, 1.0)])
def test_kl_is_infinite_where_the_prior_rules_out_what_has_mass(gamma: float, rho: float) -> None:
    assert kl_divergence(law(gamma), law(rho)) == inf


def test_slab_term_of_a_gate_always_off_is_zero_however_far_the_slabs() -> None:
    logits = torch.tensor(-inf, requires_grad=True)
    loc = torch.tensor(1e30, requires_grad=True)
    q = SpikeSlab(logits, loc, torch.tensor(1.0))
    slab = kl_parts(q, SpikeSlab(torch.tensor(0.0), torch.tensor(0.0), torch.tensor(1.0))).slab
    slab.backward()
    assert slab == 0
    assert logits.grad == 0
    assert loc.grad == 0


def test_parts_of_the_kl_are_the_gate_and_the_weighted_slab() -> None:
    q, p = law(0.3, 1.2, 0.6), law(0.1, 0.2, 1.5)
    gate, slab = kl_parts(q, p)
    torch.testing.assert_close(gate, bernoulli_kl(q.logits, p.logits))
    torch.testing.assert_close(slab, 0.3 * gaussian_kl(q.slab, p.slab))
    torch.testing.assert_close(gate + slab, kl_divergence(q, p))


@settings(deadline=None)
@given(gamma=rates, loc=locs, scale=scales, rho=rates, other_loc=locs, other_scale=scales)
def test_kl_is_never_negative(gamma, loc, scale, rho, other_loc, other_scale) -> None:
    assert kl_divergence(law(gamma, loc, scale), law(rho, other_loc, other_scale)) >= -1e-12


@settings(deadline=None)
@given(gamma=rates, loc=locs, scale=scales)
def test_kl_of_a_law_with_itself_is_exactly_zero(gamma: float, loc: float, scale: float) -> None:
    assert kl_divergence(law(gamma, loc, scale), law(gamma, loc, scale)) == 0


@pytest.mark.parametrize("gamma", [0.01, 0.5, 0.99])
def test_kl_agrees_with_monte_carlo(gamma: float) -> None:
    n = 200_000
    q, p = law(gamma, 0.7, 0.3), law(0.1)
    z = q.sample((n,), q.noise_like((n,), stream(0, "kl")))
    log_ratio = q.log_prob(z) - p.log_prob(z)
    assert abs(log_ratio.mean() - kl_divergence(q, p)) < 4 * log_ratio.std() / n**0.5


@pytest.mark.parametrize("logit", [-50.0, -15.0, 15.0, 50.0])
@pytest.mark.parametrize("prior_logit", [-inf, -15.0, 15.0, inf])
def test_kl_of_extreme_gates_has_finite_gradients(logit: float, prior_logit: float) -> None:
    parameters = [torch.tensor(x, requires_grad=True) for x in (logit, 0.5, 0.7)]
    p = SpikeSlab(torch.tensor(prior_logit), torch.tensor(0.0), torch.tensor(1.0))
    value = kl_divergence(SpikeSlab(*parameters), p)
    assert not value.isnan()
    assert all(gradient.isfinite() for gradient in torch.autograd.grad(value, parameters))


# Law


def test_log_prob_is_a_mass_at_zero_and_a_density_elsewhere() -> None:
    q = law(0.3, 1.2, 0.6)
    torch.testing.assert_close(q.log_prob(double(0.0)), double(0.7).log())
    elsewhere = double(0.3).log() + Gaussian(double(1.2), double(0.6)).log_prob(double(0.9))
    torch.testing.assert_close(q.log_prob(double(0.9)), elsewhere)


def test_mass_and_density_add_to_one() -> None:
    q = law(0.3, 1.2, 0.6)
    z = torch.linspace(-8, 10, 20_000, dtype=torch.float64)  # no point is exactly zero
    total = q.log_prob(double(0.0)).exp() + torch.trapezoid(q.log_prob(z).exp(), z)
    assert total.item() == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize(("rate", "value", "expected"), [(0.0, 0.0, 0.0), (0.0, 1.0, -inf), (1.0, 0.0, -inf)])
def test_log_prob_of_certain_gates(rate: float, value: float, expected: float) -> None:
    assert law(rate).log_prob(double(value)) == expected


@pytest.mark.parametrize("rate", [0.05, 0.5, 0.9])
def test_mean_and_variance_agree_with_monte_carlo(rate: float) -> None:
    n = 100_000
    q = law(rate, 1.2, 0.6)
    z = q.sample((n,), q.noise_like((n,), stream(1, "moments")))
    squares = (z - q.mean).square()
    assert abs(z.mean() - q.mean) < 4 * z.std() / n**0.5
    assert abs(squares.mean() - q.variance) < 4 * squares.std() / n**0.5


@pytest.mark.parametrize("rate", [0.05, 0.5, 0.9])
def test_entropy_agrees_with_monte_carlo(rate: float) -> None:
    n = 100_000
    q = law(rate, 1.2, 0.6)
    surprise = -q.log_prob(q.sample((n,), q.noise_like((n,), stream(2, "entropy"))))
    assert abs(surprise.mean() - q.entropy()) < 4 * surprise.std() / n**0.5


@pytest.mark.parametrize("rate", [0.0, 1.0])
def test_moments_of_certain_gates_are_those_of_zero_or_of_the_slab(rate: float) -> None:
    q = law(rate, 1.2, 0.6)
    assert q.mean == rate * 1.2
    assert q.variance.item() == pytest.approx(rate * 0.36)
    torch.testing.assert_close(q.entropy(), rate * q.slab.entropy())


@relaxations
def test_law_does_not_depend_on_the_relaxation(relaxation) -> None:
    q, exact, z = batch(relaxation), batch(), torch.tensor([0.0, 0.5, -1.0])
    assert torch.equal(q.log_prob(z), exact.log_prob(z))
    assert torch.equal(q.mean, exact.mean)
    assert torch.equal(q.entropy(), exact.entropy())


# Draws


@relaxations
def test_sampled_units_are_exactly_zero_where_off_and_the_slab_where_on(relaxation) -> None:
    q = batch(relaxation)
    noise = q.noise_like((100,), stream(0, "sample"))
    z, on, slab = q.sample((100,), noise), ExactGate(q.logits).on(noise["gate"]), q.slab.rsample((100,), noise["slab"])
    assert torch.equal(z[on], slab[on])
    assert (z[~on] == 0).all()
    assert not torch.signbit(z[~on]).any()


@relaxations
def test_share_of_exact_zeros_is_the_off_probability(relaxation) -> None:
    n = 100_000
    q = law(0.2, 1.2, 0.6, relaxation=relaxation)
    zeros = (q.sample((n,), q.noise_like((n,), stream(0, "zeros"))) == 0).double()
    assert abs(zeros.mean() - 0.8) < 4 * (0.2 * 0.8 / n) ** 0.5


@relaxations
def test_sample_has_no_gradient(relaxation) -> None:
    q = SpikeSlab(*(torch.ones(3, requires_grad=True) for _ in range(3)), relaxation)
    assert not q.sample().requires_grad


@relaxations
def test_draw_is_the_gate_times_the_slab(relaxation) -> None:
    q = batch(relaxation)
    noise = q.noise_like((5,), stream(0, "draw"))
    draw = q.draw((5,), noise)
    torch.testing.assert_close(draw.gate, q.gate.rsample((5,), noise["gate"]))
    torch.testing.assert_close(draw.z, draw.gate * q.slab.rsample((5,), noise["slab"]))
    assert torch.equal(q.rsample((5,), noise), draw.z)


def test_straight_through_draws_equal_exact_samples() -> None:
    q = batch(RELAXATIONS["concrete-straight"])
    noise = q.noise_like((100,), stream(0, "common"))
    assert torch.equal(q.rsample((100,), noise), q.sample((100,), noise))


@pytest.mark.parametrize("name", ["concrete-straight", "concrete-soft", "sharp-soft"])
def test_relaxed_draws_differentiate_to_every_parameter(name: str) -> None:
    parameters = [torch.full((20,), value, requires_grad=True) for value in (0.1, 0.7, 0.5)]
    q = SpikeSlab(*parameters, RELAXATIONS[name])
    assert q.has_rsample
    gradients = torch.autograd.grad(q.rsample((50,)).sum(), parameters)
    assert all((gradient != 0).any() for gradient in gradients)


def test_exact_draws_differentiate_to_the_slab_of_units_that_are_on() -> None:
    logits, loc = torch.zeros(50, requires_grad=True), torch.zeros(50, requires_grad=True)
    q = SpikeSlab(logits, loc, torch.ones(50))
    draw = q.draw()
    draw.z.sum().backward()
    assert not q.has_rsample
    assert logits.grad is None
    assert torch.equal(loc.grad, draw.gate)


@relaxations
@pytest.mark.parametrize("logit", [-inf, -50.0, -15.0, 15.0, 50.0, inf])
@pytest.mark.parametrize("boundary", [0.0, 1.0])
def test_extreme_gates_and_boundary_noise_stay_finite(relaxation, logit: float, boundary: float) -> None:
    parameters = [torch.tensor(value, requires_grad=True) for value in (logit, 0.7, 0.5)]
    z = SpikeSlab(*parameters, relaxation).rsample(noise={"gate": torch.tensor(boundary), "slab": torch.tensor(1.0)})
    gradients = torch.autograd.grad(z, parameters, allow_unused=True, materialize_grads=True)
    assert z.isfinite()
    assert all(gradient.isfinite() for gradient in gradients)


def test_noise_repeats_with_its_generator() -> None:
    q = batch()
    first, second = q.noise_like((2,), stream(0, "n")), q.noise_like((2,), stream(0, "n"))
    assert first.keys() == {"gate", "slab"}
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_noise_of_a_wrong_shape_is_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"does not broadcast to \(4, 3\)"):
        batch().rsample(noise={"gate": torch.rand(2, 4, 3), "slab": torch.randn(4, 3)})


# Shapes, precision, arguments, compilation


def test_parameters_broadcast_to_the_batch_shape() -> None:
    q = batch()
    assert q.batch_shape == (4, 3)
    assert q.loc.shape == q.scale.shape == (4, 3)
    assert q.rsample((2,), {"gate": torch.rand(1, 3), "slab": torch.randn(())}).shape == (2, 4, 3)
    assert q.log_prob(torch.zeros(2, 4, 3)).shape == (2, 4, 3)


@relaxations
def test_expand_keeps_the_law_and_the_relaxation(relaxation) -> None:
    q = SpikeSlab(torch.tensor([-1.0, 1.0]), torch.zeros(2), torch.ones(2), relaxation)
    wide = q.expand((5, 2))
    assert wide.rsample((3,)).shape == (3, 5, 2)
    assert type(wide.gate) is type(q.gate)
    torch.testing.assert_close(wide.variance, q.variance.expand(5, 2))
    assert q.batch_shape == (2,)


def test_independent_sums_density_and_divergence_over_the_code() -> None:
    q, p = batch(), SpikeSlab(torch.zeros(4, 3), torch.zeros(4, 3), torch.ones(4, 3))
    z = q.sample()
    torch.testing.assert_close(Independent(q, 1).log_prob(z), q.log_prob(z).sum(-1))
    total = kl_divergence(Independent(q, 1), Independent(p, 1))
    torch.testing.assert_close(total, kl_divergence(q, p).sum(-1))


@relaxations
def test_double_precision_is_kept(relaxation) -> None:
    q = law(0.3, 1.2, 0.6, relaxation=relaxation)
    assert all(x.dtype == torch.float64 for x in (q.rsample(), q.sample(), q.log_prob(q.sample()), q.entropy()))


def test_half_precision_is_widened() -> None:
    q = SpikeSlab(*(torch.ones(3, dtype=torch.bfloat16) for _ in range(3)))
    assert q.rsample().dtype == torch.float32
    assert kl_divergence(q, q).dtype == torch.float32


@pytest.mark.parametrize(("name", "values"), [("scale", (0.0, 0.0, -1.0)), ("logits", (torch.nan, 0.0, 1.0))])
def test_parameters_outside_their_range_are_refused(name: str, values: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match=name):
        SpikeSlab(*(torch.tensor(value) for value in values), validate_args=True)


@pytest.mark.parametrize("gate", [None, BinaryConcreteGate, SharpSigmoidGate])
def test_draw_density_and_divergence_compile_as_one_graph(gate) -> None:
    def step(logits, loc, sharpness, gate_noise, slab_noise):
        relaxation = None if gate is None else lambda x: gate(x, sharpness, validate_args=False)
        q = SpikeSlab(logits, loc, torch.ones_like(loc), relaxation, validate_args=False)
        p = SpikeSlab(torch.full((), -2.0), torch.zeros(()), torch.ones(()), validate_args=False)
        draw = q.draw(noise={"gate": gate_noise, "slab": slab_noise})
        parts = kl_parts(q, p)
        return draw.z, draw.gate, q.log_prob(draw.z), parts.gate, parts.slab, q.entropy()

    inputs = torch.randn(4, 3), torch.randn(4, 3), torch.tensor(0.7), torch.rand(4, 3), torch.randn(4, 3)
    compiled = torch.compile(step, fullgraph=True, backend="eager")
    for actual, expected in zip(compiled(*inputs), step(*inputs), strict=True):
        torch.testing.assert_close(actual, expected)


def test_registered_divergence_compiles_once_it_has_been_dispatched() -> None:
    def divergence(logits: Tensor) -> Tensor:
        ones = torch.ones_like(logits)
        q = SpikeSlab(logits, ones, ones, validate_args=False)
        return kl_divergence(q, SpikeSlab(0 * ones, 0 * ones, ones, validate_args=False))

    logits = torch.linspace(-1, 1, 5)
    expected = divergence(logits)  # torch remembers the pair; its first search is not traceable
    torch.testing.assert_close(torch.compile(divergence, fullgraph=True, backend="eager")(logits), expected)
