"""The discrepancy against the slow obvious sums, and against what is known of it."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

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


@pytest.mark.parametrize("n", [1, 2, 9])
def test_its_gradient_is_that_of_the_sums_as_written(n: int) -> None:
    """Autograd through all pairs at once, in double precision, against the gradient taken on the way."""
    x, y = (sample.double() for sample in samples(n))
    plain = y.clone().requires_grad_()
    as_written(x, plain).backward()
    quick = y.clone().requires_grad_()
    discrepancy(x, quick).backward()
    torch.testing.assert_close(quick.grad, plain.grad)


def as_written(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    n = len(y)
    off = 1 - torch.eye(n, dtype=y.dtype)[..., None]

    def kernel(u: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return sum((width / (width + (u[:, None] - v[None]).square()) for width in SCALES), torch.zeros(()))

    within = (off * (kernel(x, x) + kernel(y, y))).sum() / max(n * (n - 1), 1)
    return within - 2 * kernel(x, y).sum() / n**2


@pytest.mark.parametrize("at_once", [1, 20, 9 * 3 * 2, 9 * 9 * 3])
def test_blocks_of_units_and_rows_give_the_same_value_and_gradient(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, y = samples()
    whole = y.clone().requires_grad_()
    value = discrepancy(x, whole)
    value.backward()
    monkeypatch.setattr(mmd, "PAIRS_IN_CACHE", at_once)
    blocked = y.clone().requires_grad_()
    again = discrepancy(x, blocked)
    again.backward()
    torch.testing.assert_close(again, value)
    torch.testing.assert_close(blocked.grad, whole.grad)


class Largest(TorchDispatchMode):
    """Watches for the largest tensor that any operation returns."""

    numel = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        self.numel = max([self.numel] + [t.numel() for t in tree_leaves(out) if isinstance(t, torch.Tensor)])
        return out


def test_memory_is_that_of_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    """No tensor of more pairs is ever made, and nothing larger than the codes is kept for the backward pass."""
    monkeypatch.setattr(mmd, "PAIRS_IN_CACHE", 5000)
    x, y = samples(n=40, k=64)
    y.requires_grad_()
    kept: list[int] = []
    keeping = torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t.numel()) or t, lambda t: t)
    with keeping, Largest() as largest:
        discrepancy(x, y)
    assert max(kept) <= y.numel()
    assert y.numel() < largest.numel <= 5000


def test_without_a_gradient_none_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []
    pairs = mmd._pairs
    monkeypatch.setattr(mmd, "_pairs", lambda u, v, sloped: asked.append(sloped) or pairs(u, v, sloped))
    discrepancy(*samples())
    assert not any(asked)


def test_it_compiles_in_one_piece() -> None:
    torch.compiler.reset()
    x, y = samples()
    plain, compiled = y.clone().requires_grad_(), y.clone().requires_grad_()
    discrepancy(x, plain).backward()
    torch.compile(discrepancy, fullgraph=True, backend="aot_eager")(x, compiled).backward()
    torch.testing.assert_close(compiled.grad, plain.grad)


def test_two_samples_of_one_law_differ_by_zero_on_average() -> None:
    values = torch.stack([discrepancy(*samples(20, 2, seed)) for seed in range(300)])
    assert abs(values.mean()) < 4 * values.std() / 300**0.5
    assert values.min() < 0


def test_it_grows_with_the_distance_of_the_laws() -> None:
    x, y = samples(200, 1)
    near, far = discrepancy(x, y + 0.5), discrepancy(x, y + 2.0)
    assert 0 < near < far


def test_a_single_row_is_finite() -> None:
    x, _ = samples(1)
    assert discrepancy(x, x + 1.0).isfinite()
    assert discrepancy(x, x) == 0
