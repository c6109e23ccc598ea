"""Dense rows, on the device or mapped."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from fewhot.data import DenseDataset, dense

X = np.array([[0.0, 1.0, 0.25], [1.0, 0.0, 0.5], [1.0, 1.0, 0.75], [0.0, 0.0, 1.0]])


@pytest.fixture
def mapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> np.ndarray:
    monkeypatch.setattr(dense, "MAPPED_ABOVE_BYTES", 10)
    np.save(tmp_path / "x.npy", X)
    return np.load(tmp_path / "x.npy", mmap_mode="r")


def test_batches_go_through_all_rows_in_order() -> None:
    batches = list(DenseDataset.of(X).batches(3))
    assert [batch.x.n_rows for batch in batches] == [3, 1]
    np.testing.assert_array_equal(torch.cat([b.x.x for b in batches]), X)
    assert torch.cat([b.index for b in batches]).tolist() == [0, 1, 2, 3]


def test_the_callers_array_and_the_data_are_strangers() -> None:
    x = X.astype(np.float32)
    data = DenseDataset.of(x)
    x[:] = 9.0
    np.testing.assert_array_equal(data.batch(torch.arange(4)).x.x, X)


@pytest.mark.parametrize(
    "change",
    [np.asfortranarray, lambda x: x[::-1][::-1], lambda x: np.float16(x)],
    ids=["fortran", "reversed twice", "half"],
)
def test_any_layout_is_read(change: object) -> None:
    x = change(X)
    x.flags.writeable = False
    np.testing.assert_array_equal(DenseDataset.of(x).batch(torch.arange(4)).x.x, X)


def test_a_subset_has_the_rows_asked_for() -> None:
    subset = DenseDataset.of(X).subset(np.array([3, 1, 1]))
    assert subset.n_rows == 3
    np.testing.assert_array_equal(subset.batch(torch.arange(3)).x.x, X[[3, 1, 1]])


def test_a_large_mapped_array_is_read_batch_by_batch(mapped: np.ndarray) -> None:
    data = DenseDataset.of(mapped).to(torch.device("cpu"))
    assert data.array is mapped
    assert not data.resident
    batch = data.batch(torch.tensor([2, 0]))
    assert batch.x.x.dtype == torch.float32
    np.testing.assert_array_equal(batch.x.x, X[[2, 0]])
    np.testing.assert_array_equal(data.subset(np.array([1])).batch(torch.tensor([0])).x.x, X[[1]])


def test_mapped_and_resident_rows_have_the_same_moments(mapped: np.ndarray) -> None:
    one, other = DenseDataset.of(mapped).moments(), DenseDataset.of(X.copy()).moments()
    assert torch.equal(one.mean, other.mean)
    assert torch.equal(one.std, other.std)


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        ([[0, 1]], (0, 1, True, True)),
        ([[0.5, 1]], (0.5, 1, False, False)),
        ([[0, 7]], (0, 7, True, False)),
        ([[-1, 1]], (-1, 1, True, False)),
        ([[True, False]], (0, 1, True, True)),
    ],
)
def test_the_description_says_what_the_values_are(x: list, expected: tuple) -> None:
    spec = DenseDataset.of(np.array(x)).spec
    assert (spec.minimum, spec.maximum, spec.integral, spec.binary) == expected
    assert not spec.sparse


def test_the_description_looks_at_every_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense, "CHUNK_ELEMENTS", 4)
    x = np.ones((9, 2))
    x[0, 0], x[8, 1] = -2.0, 4.5
    spec = DenseDataset.of(x).spec
    assert (spec.minimum, spec.maximum, spec.integral, spec.binary) == (-2.0, 4.5, False, False)


def test_dense_rows_need_no_width() -> None:
    assert DenseDataset.of(X).width(np.arange(4)) == 0
