"""Selection rules, against slow and obvious versions."""

from __future__ import annotations

import math

import pytest
import torch

from fewhot.objectives.selection import RULES, one_hot

every_rule = pytest.mark.parametrize("rule", RULES)
SCORES = torch.tensor([[0.3, -1.0, 2.0, 0.1], [-3.0, 0.2, 0.4, 0.0], [1.0, 1.0, 1.0, 1.0], [-1.0, -2.0, -3.0, -4.0]])


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def slow(rule: str, scores: list[float]) -> list[float]:
    """Return the weights as the formulas have them, in double precision."""
    if rule == "sigmoid":
        s = [sigmoid(v) for v in scores]
        norm = math.sqrt(sum(value**2 for value in s))
        s = [value / norm for value in s]
        return [value / sum(s) for value in s]
    raw = [math.exp(v) if rule == "softmax" else max(v, 0.0) for v in scores]
    u = [value / sum(raw) for value in raw] if sum(raw) else [1 / len(raw)] * len(raw)
    w = [sigmoid(60 * (value - 0.5)) for value in u]
    return [value / sum(w) for value in w]


@every_rule
def test_weights_are_those_of_the_formula(rule: str) -> None:
    got = RULES[rule](SCORES).exp()
    wanted = torch.tensor([slow(rule, row) for row in SCORES.double().tolist()])
    torch.testing.assert_close(got, wanted, rtol=2e-3, atol=1e-6)


@every_rule
@pytest.mark.parametrize("size", [0.0, 1.0, 1e3, 1e8])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_weights_add_up_and_have_gradients_whatever_the_scores(rule: str, size: float, sign: float) -> None:
    scores = (sign * size * torch.rand(5, 20, generator=torch.Generator().manual_seed(0))).requires_grad_()
    log_weights = RULES[rule](scores)
    weights = log_weights.exp()
    torch.testing.assert_close(weights.sum(-1), torch.ones(5))
    assert log_weights.isfinite().all()
    (gradient,) = torch.autograd.grad((weights * torch.arange(20.0)).sum(), scores)
    assert gradient.isfinite().all()


@pytest.mark.parametrize("rule", ["softmax", "relu"])
def test_equal_scores_of_twenty_give_equal_weights_that_still_learn(rule: str) -> None:
    """As printed, each weight would be 2e-12 here, and the divergence and its gradient would vanish."""
    scores = torch.ones(20, requires_grad=True)
    weights = RULES[rule](scores).exp()
    torch.testing.assert_close(weights.detach(), torch.full((20,), 0.05))
    (gradient,) = torch.autograd.grad(weights[0], scores)
    assert gradient[0] > 0.01


def test_where_no_score_is_positive_the_printed_rule_is_undecided() -> None:
    torch.testing.assert_close(RULES["relu"](-torch.ones(4)).exp(), torch.full((4,), 0.25))


@every_rule
def test_the_largest_score_has_the_largest_weight(rule: str) -> None:
    scores = torch.rand(30, 6, generator=torch.Generator().manual_seed(0))
    assert torch.equal(RULES[rule](scores).argmax(-1), scores.argmax(-1))


def test_an_exact_choice_is_one_hot_even_at_a_tie() -> None:
    weights = one_hot(torch.tensor([[0.0, 0.0, -1.0], [-2.0, -3.0, -1.0]])).exp()
    assert weights.tolist() == [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
