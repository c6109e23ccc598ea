"""Choices: exact draws follow the law, and each estimator has the gradient it says."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch import Tensor
from torch.distributions import Categorical, kl_divergence

from fewhot.distributions import OneHot, choices
from fewhot.distributions.one_hot import chosen

LOGITS = torch.tensor([0.2, -0.4, 0.9, 0.1], dtype=torch.float64)
C = len(LOGITS)
N = 200_000
INNER = 7
WEIGHTS = torch.tensor([1.0, -2.0, 0.5, 3.0], dtype=torch.float64)
MATRIX = torch.tensor(
    [[0.3, -1.0, 0.2, 0.0], [0.5, 1.5, -0.7, 0.1], [0.0, 0.4, -2.0, 0.9], [1.1, 0.0, 0.3, 0.6]], dtype=torch.float64
)

HARD: dict[str, tuple[Callable[[Tensor, Tensor], Tensor], int]] = {
    "straight-through": (choices.straight_through, 1),
    "second-order": (choices.second_order, 1),
    "straight-through-concrete": (choices.straight_through_concrete, C),
    "separate-concrete": (choices.GateAndChoice(hard=True), C),
    "rao-blackwellised": (partial(choices.rao_blackwellised, n_inner=INNER), 1 + INNER * C),
}


def uniform(n: int, width: int, seed: int = 0) -> Tensor:
    return torch.rand(n, width, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def quadratic(z: Tensor) -> Tensor:
    return ((z @ MATRIX) * z).sum(-1) + (z * WEIGHTS).sum(-1)


def exact_gradient(function: Callable[[Tensor], Tensor]) -> Tensor:
    logits = LOGITS.clone().requires_grad_()
    (logits.softmax(-1) * function(torch.eye(C, dtype=torch.float64))).sum().backward()
    return logits.grad


def estimates(name: str, function: Callable[[Tensor], Tensor], n: int = N) -> Tensor:
    draw, width = HARD[name]
    logits = LOGITS.expand(n, C).clone().requires_grad_()
    function(draw(logits.log_softmax(-1), uniform(n, width))).sum().backward()
    return logits.grad


def within(found: Tensor, wanted: Tensor) -> Tensor:
    return (found.mean(0) - wanted).abs() < 4.5 * found.std(0) / len(found) ** 0.5 + 1e-12


@pytest.mark.parametrize("width", [1, C])
def test_classes_are_chosen_with_their_probabilities(width: int) -> None:
    log_probs = LOGITS.log_softmax(-1).expand(N, C)
    share = torch.bincount(chosen(log_probs, uniform(N, width)), minlength=C).double() / N
    torch.testing.assert_close(share, LOGITS.softmax(-1), atol=5e-3, rtol=0)


def test_a_class_without_probability_is_never_chosen() -> None:
    log_probs = torch.tensor([[0.5, 0.5, 0.0]]).log()
    edge = torch.tensor([[1 - 1e-8], [1.0], [0.0]])
    assert (chosen(log_probs.expand(3, 3), edge) < 2).all()


@pytest.mark.parametrize("name", HARD)
def test_draws_are_exactly_one_hot_with_the_right_frequencies(name: str) -> None:
    draw, width = HARD[name]
    z = draw(LOGITS.log_softmax(-1).expand(N, C), uniform(N, width))
    assert set(z.unique().tolist()) == {0.0, 1.0}
    assert (z.sum(-1) == 1).all()
    torch.testing.assert_close(z.mean(0), LOGITS.softmax(-1), atol=5e-3, rtol=0)


@pytest.mark.parametrize("name", ["straight-through", "second-order"])
def test_a_linear_function_has_its_exact_gradient(name: str) -> None:
    linear = lambda z: (z * WEIGHTS).sum(-1)  # noqa: E731
    assert within(estimates(name, linear), exact_gradient(linear)).all()


def test_the_second_order_is_exact_for_quadratic_functions_and_the_first_is_not() -> None:
    assert within(estimates("second-order", quadratic), exact_gradient(quadratic)).all()
    assert not within(estimates("straight-through", quadratic), exact_gradient(quadratic)).all()


def test_a_class_that_cannot_be_chosen_spoils_nothing() -> None:
    logits = torch.tensor([0.3, -torch.inf, 0.7], dtype=torch.float64).requires_grad_()
    z = choices.second_order(logits.log_softmax(-1), torch.tensor([0.9], dtype=torch.float64))
    assert z.tolist() == [0.0, 0.0, 1.0]
    (slope,) = torch.autograd.grad((z * torch.arange(3)).sum(), logits)
    assert torch.isfinite(slope).all()
    assert slope[1] == 0


@pytest.mark.parametrize("temperature", [1.0, 0.5, torch.tensor(2.0, dtype=torch.float64)])
def test_the_second_order_jacobian_is_the_one_written_in_its_formula(temperature: float | Tensor) -> None:
    logits, noise = LOGITS.clone().requires_grad_(), uniform(1, 1)[0]
    z = choices.second_order(torch.log_softmax(logits, -1), noise, temperature)
    rows = [torch.autograd.grad(entry, logits, retain_graph=True)[0] for entry in z]
    spread = lambda p: torch.diag(p) - p[:, None] * p  # noqa: E731
    probs = torch.softmax(LOGITS, -1)
    middle = (z.detach() + torch.softmax(probs.log() / temperature, -1)) / 2
    torch.testing.assert_close(torch.stack(rows), 2 * spread(middle) - 0.5 * spread(probs))


def test_averaging_over_the_noise_of_a_choice_keeps_the_mean_and_lowers_the_variance() -> None:
    plain, averaged = (
        estimates(name, quadratic, 60_000) for name in ("straight-through-concrete", "rao-blackwellised")
    )
    apart = plain.mean(0) - averaged.mean(0)
    assert (apart.abs() < 4.5 * ((plain.var(0) + averaged.var(0)) / len(plain)).sqrt()).all()
    assert (averaged.var(0) < plain.var(0)).all()


@pytest.mark.parametrize("name", HARD)
def test_extreme_logits_keep_gradients_finite(name: str) -> None:
    draw, width = HARD[name]
    logits = torch.tensor([[60.0, -60.0, 0.0, -30.0]], requires_grad=True)
    (draw(logits.log_softmax(-1), uniform(1, width).float()) * WEIGHTS).sum().backward()
    assert logits.grad.isfinite().all()


def test_soft_choices_harden_as_the_temperature_falls() -> None:
    noise = uniform(1000, C)
    soft = [choices.concrete(LOGITS.log_softmax(-1).expand(1000, C), noise, t) for t in (1.0, 0.1, 0.01)]
    largest = [s.max(-1).values.mean() for s in soft]
    assert largest[0] < largest[1] < largest[2]
    assert all(torch.equal(s.argmax(-1), soft[0].argmax(-1)) for s in soft)


def test_the_separate_form_is_a_soft_gate_times_a_soft_choice() -> None:
    rate, features = 0.3, torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64)
    log_probs = torch.cat([rate * features, torch.tensor([1 - rate])]).log()[None]
    noise, temperatures = uniform(1, C), (0.7, 1.3)
    z = choices.GateAndChoice(*temperatures)(log_probs, noise)[0]
    gate = torch.sigmoid((torch.logit(torch.tensor(rate)) + torch.logit(noise[0, -1])) / temperatures[0])
    chosen_softly = torch.softmax((features.log() - torch.log(-torch.log(noise[0, :-1]))) / temperatures[1], dim=-1)
    torch.testing.assert_close(z, torch.cat([gate * chosen_softly, (1 - gate)[None]]))


def test_the_law_agrees_with_torch() -> None:
    p, q = OneHot(LOGITS), OneHot(WEIGHTS)
    ours, theirs = (p, q), (Categorical(logits=LOGITS), Categorical(logits=WEIGHTS))
    torch.testing.assert_close(kl_divergence(*ours), kl_divergence(*theirs))
    torch.testing.assert_close(p.entropy(), theirs[0].entropy())
    eye = torch.eye(C, dtype=torch.float64)
    torch.testing.assert_close(p.log_prob(eye), theirs[0].log_prob(torch.arange(C)))
    assert p.expand((3,)).sample((5,)).shape == (5, 3, C)
