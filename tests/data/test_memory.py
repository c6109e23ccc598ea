"""Sparse data never become one dense matrix: not while being read, not in training, not in encoding."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from fewhot.codes import encode
from fewhot.codes.encoding import Encoding
from fewhot.core.seeding import stream
from fewhot.data import Order, RaggedDataset
from fewhot.models import vsc
from fewhot.training import Settings
from fewhot.training.step import TrainStep

N_ROWS, N_COLUMNS, BATCH = 5000, 2000, 100
LIMIT = N_ROWS * N_COLUMNS // 10


class NoLargeTensors(TorchDispatchMode):
    """Fails on any tensor of a tenth of the dense matrix or more."""

    def __torch_dispatch__(self, func: Callable, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        out = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(out):
            assert not isinstance(leaf, Tensor) or leaf.numel() < LIMIT, f"{func} made a tensor of {tuple(leaf.shape)}"
        return out


@contextmanager
def no_large_arrays() -> Iterator[None]:
    """Fail when arrays of numpy and scipy together reach a quarter of the dense matrix, in float32."""
    tracemalloc.start()
    try:
        yield
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < N_ROWS * N_COLUMNS * 4 // 4, f"{peak / 1e6:.0f} MB at the peak"


@pytest.fixture(scope="module")
def matrix() -> sp.csr_array:
    return sp.random_array((N_ROWS, N_COLUMNS), density=0.01, format="csr", rng=0).sign()


def test_the_guard_catches_a_dense_matrix() -> None:
    with pytest.raises(AssertionError, match="made a tensor"), NoLargeTensors():
        torch.zeros(N_ROWS, N_COLUMNS)
    with pytest.raises(AssertionError, match="at the peak"), no_large_arrays():
        np.ones((N_ROWS, N_COLUMNS), dtype=np.float32)


def test_reading_and_going_through_the_rows(matrix: sp.csr_array) -> None:
    with NoLargeTensors(), no_large_arrays():
        data = RaggedDataset.of(matrix)
        data.moments()
        data.subset(np.arange(0, N_ROWS, 2))
        n_rows = sum(batch.x.n_rows for batch in data.batches(BATCH))
    assert n_rows == N_ROWS


def test_training_steps(matrix: sp.csr_array) -> None:
    data = RaggedDataset.of(matrix)
    with NoLargeTensors(), no_large_arrays():
        model = vsc(data.spec, n_latent=8, hidden_layer_sizes=(16,), l0=2, n_steps=20)
        model.fit_features(data.moments(model.observation))
        step = TrainStep(model, Settings(max_steps=20, batch_size=BATCH), stream(0, "noise"))
        order = Order(N_ROWS, BATCH, 0, data.device)
        for i in range(20):
            rows, index = order(i)
            step(data.batch(index, data.width(rows)))
    assert not step.halt.raised


def test_encoding(matrix: sp.csr_array, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["fewhot.codes.encoding"], "BATCH", BATCH)
    monkeypatch.setattr(sys.modules["fewhot.codes.encoding"], "SCORE_DRAWS", 1)
    data = RaggedDataset.of(matrix)
    model = vsc(data.spec, n_latent=8, hidden_layer_sizes=(16,), l0=2, n_steps=20)
    with NoLargeTensors(), no_large_arrays():
        codes = encode(model, data, Encoding(), sparse=True)
    assert codes.values.shape == (N_ROWS, 8)
