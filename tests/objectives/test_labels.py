"""What labels say of a code: probabilities that are next to nothing still move, and nothing overflows."""

from __future__ import annotations

import pytest
import torch

from fewhot.distributions import SlotCounts
from fewhot.objectives.labels import presence_likelihood, sample_likelihood


def law(gate: float, feature: float, n_slots: int) -> tuple[SlotCounts, torch.Tensor, torch.Tensor]:
    """Return the law of one row, whose first unit has this logit among three, and its logits as leaves."""
    gates = torch.full((1, 1), gate, requires_grad=True)
    features = torch.tensor([[[feature, 0.0, 0.0]]], requires_grad=True)
    return SlotCounts(gates, features, n_slots), gates, features


@pytest.mark.parametrize("feature", [-10.0, -20.0, -50.0, -120.0, -1e4])
@pytest.mark.parametrize("n_slots", [1, 8])
def test_a_present_label_is_learned_however_unlikely_it_is(feature: float, n_slots: int) -> None:
    q, _, features = law(-5.0, feature, n_slots)
    presence_likelihood(q, torch.tensor([[1.0, 0.0, 0.0]]), 3).sum().backward()
    assert features.grad is not None
    assert features.grad[0, 0, 0] == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("feature", [-12.0, -15.0, -30.0])
def test_the_log_of_a_small_probability_is_as_in_double_precision(feature: float) -> None:
    q, *_ = law(-1.0, feature, 5)
    slot = torch.tensor(-1.0).double().sigmoid() * torch.softmax(torch.tensor([feature, 0, 0]).double(), -1)[0]
    expected = torch.log(-torch.expm1(5 * torch.log1p(-slot)))
    found = presence_likelihood(q, torch.tensor([[1.0]]), 1)
    torch.testing.assert_close(found[0].double(), expected, rtol=1e-5, atol=0)


@pytest.mark.parametrize("gate", [-1e4, -100.0, 0.0, 100.0])
@pytest.mark.parametrize("feature", [-1e4, -100.0, 0.0, 100.0])
@pytest.mark.parametrize("present", [0.0, 1.0])
def test_presence_and_its_gradients_are_finite(gate: float, feature: float, present: float) -> None:
    q, *logits = law(gate, feature, 1000)
    value = presence_likelihood(q, torch.tensor([[present, 0.0, 1.0]]), 3)
    (1000 * value).sum().backward()
    assert value.isfinite().all()
    assert all(x.grad is not None and x.grad.isfinite().all() for x in logits)


@pytest.mark.parametrize("count", [9e-7, 1e-12, 1e-25])
def test_a_small_count_of_a_present_label_is_brought_up(count: float) -> None:
    z = torch.tensor([[count]], requires_grad=True)
    value = sample_likelihood(z, torch.ones(1, 1), 1)
    value.sum().backward()
    assert z.grad is not None
    torch.testing.assert_close(value.detach(), torch.tensor([count]).log())
    torch.testing.assert_close(z.grad, 1 / z.detach())


def test_a_count_just_below_one_of_an_absent_label_is_brought_down() -> None:
    z = torch.tensor([[1 - 5e-7, 1.0]], requires_grad=True)
    sample_likelihood(z, torch.zeros(1, 2), 2).sum().backward()
    assert z.grad is not None
    assert (z.grad < 0).all()


@pytest.mark.parametrize("count", [0.0, 1e-45, 1e-38, 1e-6, 1.0, 40.0])
@pytest.mark.parametrize("present", [0.0, 1.0])
def test_soft_counts_have_finite_values_and_gradients(count: float, present: float) -> None:
    z = torch.tensor([[count]], requires_grad=True)
    value = sample_likelihood(z, torch.tensor([[present]]), 1)
    (1000 * value).sum().backward()
    assert z.grad is not None
    assert value.isfinite().all()
    assert z.grad.isfinite().all()


@pytest.mark.parametrize("present", [0.0, 1.0])
def test_a_count_that_is_no_number_gives_none(present: float) -> None:
    assert sample_likelihood(torch.tensor([[torch.nan]]), torch.tensor([[present]]), 1).isnan().all()
