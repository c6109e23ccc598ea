"""The contract, on every registered gate."""

from __future__ import annotations

import pytest
import torch

from fewhot.core.parts import Configurable
from fewhot.core.records import Knobs
from fewhot.core.registry import GATES

from .examples import build

every_gate = pytest.mark.parametrize("name", GATES)

LOGITS = torch.linspace(-4, 4, 200)
NOISE = torch.rand(200, generator=torch.Generator().manual_seed(0))


def values(gate: object, how: str, logits: torch.Tensor = LOGITS) -> torch.Tensor:
    return gate(logits, Knobs(gates=how)).rsample(noise=NOISE)


@every_gate
@pytest.mark.parametrize("estimator", ["soft", "straight-through"])
@pytest.mark.parametrize("how", ["exact", "straight-through"])
def test_exact_and_straight_through_values_are_decisions(name: str, estimator: str, how: str) -> None:
    drawn = values(build(GATES, name, estimator=estimator), how)
    assert torch.equal(drawn, (1 - LOGITS.sigmoid() < NOISE).float())


@every_gate
def test_a_soft_gate_trains_softly_and_agrees_with_the_decision(name: str) -> None:
    gate = build(GATES, name, estimator="soft")
    soft, decided = values(gate, "relaxed"), values(gate, "exact")
    assert ((soft > 0) & (soft < 1)).any()
    assert torch.equal(soft > 0.5, decided > 0.5)


@every_gate
@pytest.mark.parametrize(
    ("estimator", "how"), [("soft", "relaxed"), ("straight-through", "relaxed"), ("soft", "straight-through")]
)
def test_training_gates_have_a_gradient_that_pushes_up(name: str, estimator: str, how: str) -> None:
    logits = LOGITS.clone().requires_grad_()
    values(build(GATES, name, estimator=estimator), how, logits).sum().backward()
    assert (logits.grad >= 0).all()
    assert logits.grad.sum() > 0


@every_gate
def test_exact_gates_have_none(name: str) -> None:
    assert not values(build(GATES, name), "exact", LOGITS.clone().requires_grad_()).requires_grad


@every_gate
@pytest.mark.parametrize("estimator", ["soft", "straight-through"])
def test_a_rebuilt_gate_gives_the_same_values(name: str, estimator: str) -> None:
    gate = build(GATES, name, estimator=estimator)
    assert torch.equal(values(Configurable.from_config(gate.to_config()), "relaxed"), values(gate, "relaxed"))


@every_gate
def test_an_unknown_estimator_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="estimator is 'hard'"):
        build(GATES, name, estimator="hard")
