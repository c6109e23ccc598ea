"""Threads: small steps take one, and the caller's number comes back."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import torch

import fewhot as fh
from fewhot.core.devices import few_threads

CPU = torch.device("cpu")


@pytest.fixture
def _two_threads() -> object:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("_two_threads")
@pytest.mark.parametrize(("n_products", "n_threads"), [(1e6, 1), (1e9, 2), (float("inf"), 2)])
def test_small_steps_take_one_thread(n_products: float, n_threads: int) -> None:
    with few_threads(n_products, CPU):
        assert torch.get_num_threads() == n_threads
    with pytest.raises(KeyError), few_threads(n_products, CPU):
        raise KeyError
    assert torch.get_num_threads() == 2


@pytest.mark.usefixtures("_two_threads")
def test_a_fit_of_a_small_table_takes_one_thread_and_gives_two_back() -> None:
    seen: list[int] = []
    X = torch.randn(60, 5, generator=torch.Generator().manual_seed(0))
    fh.VAE(2, hidden_layer_sizes=(8,), max_steps=5, callbacks=[lambda _: seen.append(torch.get_num_threads())]).fit(X)
    assert set(seen) == {1}
    assert torch.get_num_threads() == 2


def test_layers_that_use_weights_more_than_once_are_not_counted() -> None:
    X = torch.rand(40, 8, 8, generator=torch.Generator().manual_seed(0))
    small = {"n_components": 2, "hidden_layer_sizes": (8,), "max_steps": 2}
    assert fh.VAE(**small).fit(X).module_.products_per_row < 5000
    assert fh.VAE(**small, encoder="conv").fit(X).module_.products_per_row == float("inf")


@pytest.mark.parametrize(("imports", "expected"), [("fewhot", "1000"), ("torch, fewhot", "None")])
def test_waiting_threads_give_way_unless_torch_was_there_first(imports: str, expected: str) -> None:
    code = f"import os, {imports}; print(os.environ.get('GOMP_SPINCOUNT'))"
    clean = {name: value for name, value in os.environ.items() if name != "GOMP_SPINCOUNT"}
    out = subprocess.run([sys.executable, "-c", code], env=clean, capture_output=True, text=True, check=True)
    assert out.stdout.strip() == expected
