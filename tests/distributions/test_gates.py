"""Gates: decisions, relaxations, laws and divergence."""

import math
from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.distributions import Bernoulli, Independent, kl_divergence

from fewhot.core.errors import InvalidInputError, InvalidParameterError
from fewhot.core.seeding import stream
from fewhot.distributions import BinaryConcreteGate, ExactGate, Gate, RelaxedGate, SharpSigmoidGate, bernoulli_kl
from fewhot.distributions.gates import ESTIMATORS

Build = Callable[..., Gate]

inf = torch.inf
finite_logits = st.floats(-30, 30)


def concrete(temperature: float, estimator: str) -> Build:
    return lambda logits, **options: BinaryConcreteGate(logits, temperature, estimator, **options)


def sharp(sharpness: float, estimator: str) -> Build:
    return lambda logits, **options: SharpSigmoidGate(logits, sharpness, estimator, **options)


SOFT = {
    "concrete-0.1": concrete(0.1, "soft"),
    "concrete-0.7": concrete(0.7, "soft"),
    "concrete-2": concrete(2.0, "soft"),
    "sharp-5": sharp(5.0, "soft"),
    "sharp-50": sharp(50.0, "soft"),
    "sharp-200": sharp(200.0, "soft"),
}
HARD = {
    "exact": ExactGate,
    "concrete-straight": concrete(0.7, "straight-through"),
    "concrete-cold-straight": concrete(0.1, "straight-through"),
    "sharp-straight": sharp(50.0, "straight-through"),
}
soft_gates = pytest.mark.parametrize("build", SOFT.values(), ids=SOFT.keys())
hard_gates = pytest.mark.parametrize("build", HARD.values(), ids=HARD.keys())
all_gates = pytest.mark.parametrize("build", (SOFT | HARD).values(), ids=(SOFT | HARD).keys())


def double(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def pair(logits: Tensor, kind: str) -> tuple[RelaxedGate, RelaxedGate]:
    if kind == "concrete":
        return BinaryConcreteGate(logits, 0.5, "soft"), BinaryConcreteGate(logits, 0.5, "straight-through")
    return SharpSigmoidGate(logits, 20.0, "soft"), SharpSigmoidGate(logits, 20.0, "straight-through")


# Decisions


@all_gates
@pytest.mark.parametrize("p", [0.01, 0.3, 0.5, 0.97])
def test_a_draw_exceeds_one_half_with_the_on_probability(build: Build, p: float) -> None:
    n = 10_000
    uniform = (torch.arange(n, dtype=torch.float64) + 0.5) / n  # stratified: the share is right to 1/n
    draws = build(double(p).logit()).rsample((n,), uniform[:, None])
    assert abs((draws > 0.5).double().mean() - p) <= 1 / n


@all_gates
def test_all_gates_decide_alike_on_the_same_noise(build: Build) -> None:
    logits = torch.linspace(-6, 6, 25)
    noise = ExactGate(logits).noise_like((200,), stream(0, "gates"))
    expected = ExactGate(logits).rsample((200,), noise)
    assert torch.equal(build(logits).sample((200,), noise), expected)
    assert torch.equal((build(logits).rsample((200,), noise) > 0.5).float(), expected)


@all_gates
def test_sample_is_exact_and_has_no_gradient(build: Build) -> None:
    draw = build(torch.zeros(50, requires_grad=True)).sample((20,))
    assert set(draw.unique().tolist()) == {0.0, 1.0}
    assert not draw.requires_grad


@hard_gates
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_hard_draws_are_exactly_zero_or_one(build: Build, dtype: torch.dtype) -> None:
    draws = build(torch.linspace(-20, 20, 401, dtype=dtype)).rsample((100,))
    assert ((draws == 0) | (draws == 1)).all()


@all_gates
def test_infinite_logits_are_always_on_or_off(build: Build) -> None:
    draws = build(torch.tensor([-inf, inf])).sample((1000,))
    assert torch.equal(draws.mean(0), torch.tensor([0.0, 1.0]))


# Gradients


@pytest.mark.parametrize("kind", ["concrete", "sharp"])
def test_straight_through_carries_the_gradient_of_the_soft_value(kind: str) -> None:
    logits = torch.linspace(-3, 3, 30, requires_grad=True)
    soft, straight = pair(logits, kind)
    noise = soft.noise_like((10,), stream(0, "gradient"))
    expected = torch.autograd.grad(soft.rsample((10,), noise).square().sum(), logits)[0]
    # d/ds of s^2 is 2 s: with the soft slope 2 s passed by hand, the two gradients are the same number.
    draw = straight.rsample((10,), noise)
    actual = torch.autograd.grad(draw, logits, grad_outputs=2 * soft.rsample((10,), noise).detach())[0]
    assert torch.equal(actual, expected)
    assert (actual != 0).any()


def test_exact_gate_passes_no_gradient_and_says_so() -> None:
    gate = ExactGate(torch.zeros(3, requires_grad=True))
    assert not gate.has_rsample
    assert not gate.rsample().requires_grad


@pytest.mark.parametrize("kind", ["concrete", "sharp"])
def test_relaxed_gates_say_that_they_have_a_gradient(kind: str) -> None:
    assert all(gate.has_rsample for gate in pair(torch.zeros(3), kind))


def test_temperature_can_be_learned() -> None:
    temperature = torch.tensor(0.5, requires_grad=True)
    BinaryConcreteGate(torch.tensor([1.0, inf, -inf]), temperature, "soft").rsample().sum().backward()
    assert temperature.grad is not None
    assert temperature.grad.isfinite()
    assert temperature.grad != 0


@all_gates
@pytest.mark.parametrize("logit", [-inf, -50.0, -15.0, 15.0, 50.0, inf])
@pytest.mark.parametrize("noise", [0.0, 1e-7, 0.5, 1.0])
def test_extreme_logits_and_boundary_noise_stay_finite(build: Build, logit: float, noise: float) -> None:
    logits = torch.tensor([logit], requires_grad=True)
    draw = build(logits).rsample(noise=torch.tensor(noise))
    assert draw.isfinite().all()
    if draw.requires_grad:
        draw.sum().backward()
        assert logits.grad is not None
        assert logits.grad.isfinite().all()


@all_gates
@pytest.mark.parametrize("logit", [-inf, -50.0, -15.0, 15.0, 50.0, inf])
@pytest.mark.parametrize("value", [0.0, 1.0])
def test_log_prob_of_boundary_values_is_never_nan(build: Build, logit: float, value: float) -> None:
    logits = torch.tensor([logit], requires_grad=True)
    log_prob = build(logits).log_prob(torch.tensor([value]))
    assert not log_prob.isnan().any()
    if log_prob.requires_grad:
        log_prob.sum().backward()
        assert logits.grad is not None
        assert not logits.grad.isnan().any()


@all_gates
@pytest.mark.parametrize("quantity", ["mean", "variance", "entropy"])
def test_moments_of_extreme_gates_are_never_nan(build: Build, quantity: str) -> None:
    logits = torch.tensor([-inf, -50.0, -15.0, 0.0, 15.0, 50.0, inf], requires_grad=True)
    gate = build(logits)
    value = gate.entropy() if quantity == "entropy" else getattr(gate, quantity)
    value.sum().backward()
    assert logits.grad is not None
    assert value.isfinite().all()
    assert logits.grad.isfinite().all()


# Noise


@all_gates
def test_noise_stays_away_from_zero_and_one(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "rand", lambda *shape, **options: torch.tensor([0.0, 1.0]))
    margin = torch.finfo(torch.float32).eps
    assert torch.equal(build(torch.zeros(2)).noise_like(), torch.tensor([margin, 1 - margin]))


@all_gates
def test_boundary_noise_does_not_turn_a_certain_gate(build: Build) -> None:
    draws = build(torch.tensor([-inf, inf])).sample((2,), torch.tensor([[0.0], [1.0]]))
    assert torch.equal(draws, torch.tensor([[0.0, 1.0], [0.0, 1.0]]))


@pytest.mark.parametrize("gate", [BinaryConcreteGate, SharpSigmoidGate])
@pytest.mark.parametrize("boundary", [0.0, 1.0])
def test_boundary_noise_gives_sharpness_a_finite_gradient(gate, boundary: float) -> None:
    sharpness = torch.tensor(2.0, requires_grad=True)
    gate(torch.tensor([-inf, 0.0, inf]), sharpness).rsample(noise=torch.tensor(boundary)).sum().backward()
    assert sharpness.grad is not None
    assert sharpness.grad.isfinite()


@all_gates
def test_noise_repeats_with_its_generator(build: Build) -> None:
    gate = build(torch.zeros(5))
    assert torch.equal(gate.noise_like((2,), stream(3, "a")), gate.noise_like((2,), stream(3, "a")))


@all_gates
def test_noise_of_a_wrong_shape_is_refused(build: Build) -> None:
    with pytest.raises(InvalidInputError, match=r"\(2,\).*does not broadcast to \(3,\)"):
        build(torch.zeros(3)).rsample(noise=torch.full((2,), 0.5))


# Laws


@hard_gates
def test_hard_gates_have_the_bernoulli_law(build: Build) -> None:
    logits, value = torch.linspace(-9, 9, 7), torch.tensor([0.0, 1, 0, 1, 0, 1, 0])
    gate, reference = build(logits), Bernoulli(logits=logits)
    torch.testing.assert_close(gate.log_prob(value), reference.log_prob(value))
    torch.testing.assert_close(gate.mean, reference.mean)
    torch.testing.assert_close(gate.variance, reference.variance)
    torch.testing.assert_close(gate.entropy(), reference.entropy())


@all_gates
def test_log_probabilities_keep_their_precision_far_out(build: Build) -> None:
    gate = build(torch.tensor([-50.0, 50.0]))
    torch.testing.assert_close(gate.log_on, torch.tensor([-50.0, 0.0]))
    torch.testing.assert_close(gate.log_off, torch.tensor([0.0, -50.0]))
    torch.testing.assert_close(gate.probs, torch.tensor([math.exp(-50), 1.0]))


@pytest.mark.parametrize(
    ("c", "p", "expected"),
    [(50, 0, 0.013862944), (50, 0.01, 0.019481540), (50, 0.5, 0.5), (50, 1, 0.986137056), (200, 0, 0.003465736)],
)
def test_sharp_sigmoid_mean_has_the_reference_value(c: float, p: float, expected: float) -> None:
    assert SharpSigmoidGate(double(p).logit(), c).mean.item() == pytest.approx(expected, abs=1e-9)


@soft_gates
@pytest.mark.parametrize("logit", [-4.0, 0.5, 2.0])
def test_soft_mean_and_variance_agree_with_monte_carlo(build: Build, logit: float) -> None:
    n = 100_000
    gate = build(double(logit))
    draws = gate.rsample((n,), gate.noise_like((n,), stream(1, "moments")))
    squares = (draws - gate.mean).square()
    assert abs(draws.mean() - gate.mean) < 4 * draws.std() / n**0.5
    assert abs(squares.mean() - gate.variance) < 4 * squares.std() / n**0.5


@soft_gates
@pytest.mark.parametrize("logit", [-4.0, -2.0])  # mostly off: a value near 0 keeps its logit, one near 1 is rounded
def test_soft_entropy_agrees_with_monte_carlo(build: Build, logit: float) -> None:
    n = 100_000
    gate = build(double(logit))
    surprise = -gate.log_prob(gate.rsample((n,), gate.noise_like((n,), stream(1, "entropy"))))
    assert abs(surprise.mean() - gate.entropy()) < 4 * surprise.std() / n**0.5


@all_gates
def test_swapping_on_and_off_mirrors_the_law(build: Build) -> None:
    logits = torch.linspace(-5, 5, 11, dtype=torch.float64)
    gate, mirrored = build(logits), build(-logits)
    torch.testing.assert_close(mirrored.mean, 1 - gate.mean)
    torch.testing.assert_close(mirrored.variance, gate.variance)
    torch.testing.assert_close(mirrored.entropy(), gate.entropy())


@pytest.mark.parametrize("name", ["concrete-0.7", "concrete-2", "sharp-5"])  # mass where float64 resolves 1 - s
@pytest.mark.parametrize("logit", [-1.5, 0.0, 1.0])
def test_soft_density_integrates_to_one(name: str, logit: float) -> None:
    y = torch.linspace(-30, 30, 200_001, dtype=torch.float64)
    s = y.sigmoid()
    density = SOFT[name](double(logit)).log_prob(s).exp() * s * (-y).sigmoid()  # of y = logit s
    assert torch.trapezoid(density, y).item() == pytest.approx(1.0, abs=1e-4)  # a jump costs half a step


@soft_gates
def test_soft_draws_have_positive_density_in_single_precision(build: Build) -> None:
    gate = build(torch.linspace(-4, 4, 81))
    noise = torch.cat([torch.zeros(1), torch.linspace(0, 1, 2001), torch.ones(1)])
    draws = gate.rsample((2003,), noise[:, None])
    assert gate.log_prob(draws).isfinite().all()


def test_sharp_sigmoid_has_no_density_beyond_its_range() -> None:
    gate = SharpSigmoidGate(torch.tensor(0.0), 4.0)  # its logit is uniform on [-2, 2]
    values = torch.tensor([-2.01, -1.99, 1.99, 2.01]).sigmoid()
    assert gate.log_prob(values).isfinite().tolist() == [False, True, True, False]


def test_support_follows_the_estimator() -> None:
    half = torch.tensor([0.5, 0.5])
    soft, straight = (BinaryConcreteGate(torch.zeros(2), 0.5, name, validate_args=True) for name in ESTIMATORS)
    assert soft.log_prob(half).isfinite().all()
    with pytest.raises(ValueError, match="support"):
        straight.log_prob(half)


# Divergence


def test_kl_slope_has_the_reference_value() -> None:
    rate = double(0.3).requires_grad_()
    bernoulli_kl(rate.logit(), double(0.5).logit()).backward()
    assert rate.grad is not None
    assert rate.grad.item() == pytest.approx(-0.847297860, abs=1e-9)


@settings(deadline=None)
@given(q=finite_logits, p=finite_logits)
def test_kl_is_never_negative(q: float, p: float) -> None:
    assert bernoulli_kl(double(q), double(p)) >= -1e-12


@settings(deadline=None)
@given(q=st.floats(-1e3, 1e3) | st.sampled_from([-inf, inf]))
def test_kl_of_a_gate_with_itself_is_exactly_zero(q: float) -> None:
    assert bernoulli_kl(torch.tensor(q), torch.tensor(q)) == 0


@settings(deadline=None)
@given(q=finite_logits, p=finite_logits)
def test_kl_agrees_with_torch(q: float, p: float) -> None:
    expected = kl_divergence(Bernoulli(logits=double(q)), Bernoulli(logits=double(p)))
    torch.testing.assert_close(bernoulli_kl(double(q), double(p)), expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    ("q", "p", "expected"),
    [
        (inf, inf, 0.0),
        (-inf, -inf, 0.0),
        (inf, -inf, inf),
        (-inf, inf, inf),
        (0.0, inf, inf),
        (0.0, -inf, inf),
        (50.0, -inf, inf),
        (-inf, 0.0, math.log(2)),
        (inf, 0.0, math.log(2)),
    ],
)
def test_kl_of_certain_gates(q: float, p: float, expected: float) -> None:
    assert bernoulli_kl(torch.tensor(q), torch.tensor(p)).item() == pytest.approx(expected)


@pytest.mark.parametrize("q", [-inf, -50.0, -15.0, 0.0, 15.0, 50.0, 200.0, inf])
@pytest.mark.parametrize("p", [-inf, -50.0, -15.0, 0.0, 15.0, 50.0, 200.0, inf])
def test_kl_has_a_finite_gradient_everywhere(q: float, p: float) -> None:
    q_logits, p_logits = torch.tensor(q, requires_grad=True), torch.tensor(p, requires_grad=True)
    value = bernoulli_kl(q_logits, p_logits)
    value.backward()
    assert not value.isnan()
    assert q_logits.grad is not None
    assert q_logits.grad.isfinite()
    assert p_logits.grad is not None
    assert p_logits.grad.isfinite()


@all_gates
def test_kl_between_gates_is_that_of_their_decisions(build: Build) -> None:
    q, p = torch.linspace(-3, 3, 7), torch.linspace(2, -2, 7)
    torch.testing.assert_close(kl_divergence(build(q), ExactGate(p)), bernoulli_kl(q, p))


@hard_gates
def test_kl_agrees_with_monte_carlo(build: Build) -> None:
    n = 100_000
    q, p = build(double(-0.8)), build(double(1.1))
    draws = q.sample((n,), q.noise_like((n,), stream(0, "kl")))
    log_ratio = q.log_prob(draws) - p.log_prob(draws)
    assert abs(log_ratio.mean() - kl_divergence(q, p)) < 4 * log_ratio.std() / n**0.5


# Shapes, precision, arguments, compilation


@all_gates
def test_draws_have_sample_shape_then_batch_shape(build: Build) -> None:
    gate = build(torch.zeros(4, 3))
    assert gate.batch_shape == (4, 3)
    assert gate.rsample((2,), noise=torch.tensor([0.1, 0.5, 0.9])).shape == (2, 4, 3)
    assert gate.sample((2,)).shape == (2, 4, 3)


@all_gates
def test_expand_keeps_the_class_and_the_law(build: Build) -> None:
    gate = build(torch.tensor([-1.0, 0.5, 2.0]))
    wide = gate.expand((2, 3))
    assert type(wide) is type(gate)
    assert wide.rsample((5,)).shape == (5, 2, 3)
    torch.testing.assert_close(wide.mean, gate.mean.expand(2, 3))
    assert gate.batch_shape == (3,)


@all_gates
def test_independent_sums_over_the_event(build: Build) -> None:
    gate = build(torch.zeros(4, 3))
    draws = gate.rsample()
    torch.testing.assert_close(Independent(gate, 1).log_prob(draws), gate.log_prob(draws).sum(-1))


@all_gates
def test_double_precision_is_kept(build: Build) -> None:
    gate = build(torch.zeros(3, dtype=torch.float64))
    draws = gate.rsample()
    values = (draws, gate.sample(), gate.log_prob(draws), gate.mean, gate.variance, gate.entropy())
    assert all(value.dtype == torch.float64 for value in values)


@all_gates
def test_half_precision_is_widened(build: Build) -> None:
    assert build(torch.zeros(3, dtype=torch.bfloat16)).rsample().dtype == torch.float32


@all_gates
def test_logits_that_are_not_numbers_are_refused(build: Build) -> None:
    with pytest.raises(ValueError, match="logits"):
        build(torch.tensor([0.0, torch.nan]), validate_args=True)


@pytest.mark.parametrize(("gate", "name"), [(BinaryConcreteGate, "temperature"), (SharpSigmoidGate, "sharpness")])
@pytest.mark.parametrize("value", [0.0, -1.0, torch.tensor(-1.0)])
def test_sharpness_and_temperature_must_be_positive(gate, name: str, value: float | Tensor) -> None:
    with pytest.raises(ValueError, match=name):
        gate(torch.zeros(3), value, validate_args=True)


@pytest.mark.parametrize(("gate", "name"), [(BinaryConcreteGate, "temperature"), (SharpSigmoidGate, "sharpness")])
def test_sharpness_and_temperature_must_be_scalars(gate, name: str) -> None:
    with pytest.raises(InvalidParameterError, match=rf"{name} has shape \(3,\)"):
        gate(torch.zeros(3), torch.ones(3))


@pytest.mark.parametrize("gate", [BinaryConcreteGate, SharpSigmoidGate])
def test_unknown_estimator_is_refused_with_the_known_ones(gate) -> None:
    with pytest.raises(InvalidParameterError, match="'hard'; it must be one of 'soft', 'straight-through'"):
        gate(torch.zeros(3), 1.0, "hard")


@pytest.mark.parametrize("gate", [BinaryConcreteGate, SharpSigmoidGate])
def test_a_number_and_a_tensor_are_the_same_sharpness(gate) -> None:
    logits, noise = torch.linspace(-2, 2, 5), torch.full((5,), 0.4)
    expected = gate(logits, 1.5, "soft").rsample(noise=noise)
    assert torch.equal(gate(logits, torch.tensor(1.5), "soft").rsample(noise=noise), expected)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("gate", [BinaryConcreteGate, SharpSigmoidGate])
def test_draw_law_and_divergence_compile_as_one_graph(gate, estimator: str) -> None:
    def step(logits, sharpness, noise):
        q = gate(logits, sharpness, estimator, validate_args=False)
        p = ExactGate(torch.zeros_like(logits), validate_args=False)
        s = q.rsample(noise=noise)
        moments = q.mean, q.variance, q.entropy()
        return s, q.log_prob(s), *moments, bernoulli_kl(q.logits, p.logits), p.rsample(noise=noise)

    inputs = torch.linspace(-1, 1, 4), torch.tensor(0.7), torch.rand(4)
    compiled = torch.compile(step, fullgraph=True, backend="eager")
    for actual, expected in zip(compiled(*inputs), step(*inputs), strict=True):
        torch.testing.assert_close(actual, expected)
