"""The discrepancy against the slow obvious sums, and against what is known of it."""

from __future__ import annotations

import pytest
import torch

from fewhot.objectives import mmd
from fewhot.objectives.mmd import SCALES, discrepancy


def samples(n: int = 9, k: int = 4, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(n, k, generator=generator), torch.randn(n, k, generator=generator)


def slowly(x: torch.Tensor, y: torch.Tensor) -> float:
    """Add up every pair, unit and width."""
    n, n_units = x.shape
    total = 0.0
    for width in SCALES:
        for d in range(n_units):
            for i in range(n):
                for j in range(n):
                    total -= 2 * width / (width + float(x[i, d] - y[j, d]) ** 2) / n**2
                    if i != j:
                        both = sum(width / (width + float(s[i, d] - s[j, d]) ** 2) for s in (x, y))
                        total += both / (n * (n - 1))
    return total


def test_it_is_the_obvious_sum() -> None:
    x, y = samples()
    assert float(discrepancy(x, y)) == pytest.approx(slowly(x, y), abs=1e-4)


@pytest.mark.parametrize("width", [1, 3])
def test_blocks_of_units_give_the_same_value_and_gradient(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = samples()
    whole = y.clone().requires_grad_()
    value = discrepancy(x, whole)
    value.backward()
    monkeypatch.setattr(mmd, "ELEMENTS_AT_ONCE", width * len(y) ** 2)
    blocked = y.clone().requires_grad_()
    again = discrepancy(x, blocked)
    again.backward()
    torch.testing.assert_close(again, value)
    torch.testing.assert_close(blocked.grad, whole.grad)


def test_memory_is_that_of_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    """No tensor of all pairs of all units is ever kept for the backward pass."""
    monkeypatch.setattr(mmd, "ELEMENTS_AT_ONCE", 40**2)
    x, y = samples(n=40, k=64)
    y.requires_grad_()
    kept: list[int] = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t.numel()) or t, lambda t: t):
        discrepancy(x, y)
    assert max(kept, default=0) < 40 * 40 * 64 / 4


def test_two_samples_of_one_law_differ_by_zero_on_average() -> None:
    values = torch.stack([discrepancy(*samples(20, 2, seed)) for seed in range(300)])
    assert abs(values.mean()) < 4 * values.std() / 300**0.5
    assert values.min() < 0


def test_it_grows_with_the_distance_of_the_laws() -> None:
    x, y = samples(200, 1)
    near, far = discrepancy(x, y + 0.5), discrepancy(x, y + 2.0)
    assert 0 < near < far


def test_a_single_row_is_finite() -> None:
    assert discrepancy(*samples(1)).isfinite()
