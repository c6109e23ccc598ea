"""Column moments: numpy's, zeros counted, chunk by chunk."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fewhot.core.records import ColumnMoments
from fewhot.data import as_dataset, dataset
from fewhot.features import UnitNorm


def some_rows(n_rows: int, n_columns: int, seed: int, shift: float) -> np.ndarray:
    rng = np.random.default_rng(seed)
    x = (rng.normal(shift, 2.0, (n_rows, n_columns)) * (rng.random((n_rows, n_columns)) < 0.4)).astype(np.float32)
    x[:, 0] = 3.7  # a column that never varies
    return x


def assert_moments(moments: ColumnMoments, x: np.ndarray) -> None:
    x = x.astype(np.float64)
    std = x.std(0)
    varies = x.max(0) > x.min(0)
    np.testing.assert_allclose(moments.mean, x.mean(0), rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(moments.std, np.where(varies, std, 1.0), rtol=1e-4)
    np.testing.assert_allclose(moments.row_total, x.sum(1).mean(), rtol=1e-5, atol=1e-6)
    assert moments.mean.dtype == moments.std.dtype == torch.float32


@settings(deadline=None)
@given(
    n_rows=st.integers(2, 50),
    n_columns=st.integers(1, 8),
    seed=st.integers(0, 1000),
    shift=st.sampled_from([0.0, 1.0, 100.0]),
    sparse=st.booleans(),
)
def test_moments_are_those_of_numpy(n_rows: int, n_columns: int, seed: int, shift: float, sparse: bool) -> None:
    x = some_rows(n_rows, n_columns, seed, shift)
    assert_moments(as_dataset(sp.csr_array(x) if sparse else x).moments(), x)


@pytest.mark.parametrize("sparse", [False, True])
def test_chunks_make_no_difference(sparse: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    x = some_rows(100, 6, 0, 1.0)
    monkeypatch.setattr(dataset, "CHUNK_ELEMENTS", 42)  # 7 rows at a time
    assert_moments(as_dataset(sp.csr_array(x) if sparse else x).moments(), x)


@pytest.mark.parametrize("sparse", [False, True])
def test_moments_are_of_the_rows_as_observed(sparse: bool) -> None:
    x = some_rows(40, 5, 1, 1.0)
    moments = as_dataset(sp.csr_array(x) if sparse else x).moments(UnitNorm())
    assert_moments(moments, x / np.linalg.norm(x, axis=1, keepdims=True))


def test_a_column_of_zeros_has_deviation_one() -> None:
    moments = as_dataset(np.array([[0.0, 1.0], [0.0, 2.0]])).moments()
    assert moments.std.tolist() == [1.0, 0.5]


def test_a_large_constant_is_constant() -> None:
    moments = as_dataset(np.full((1000, 1), 123456.789)).moments()
    assert moments.std.tolist() == [1.0]


def test_a_small_spread_around_a_large_mean_is_kept() -> None:
    x = (1000 + np.random.default_rng(0).normal(0, 0.1, (5000, 1))).astype(np.float32)
    assert as_dataset(x).moments().std.item() == pytest.approx(x.astype(np.float64).std(), rel=1e-3)


def test_columns_that_vary_by_rounding_errors_count_as_constant() -> None:
    x = np.random.default_rng(0).normal(size=(200, 12)) * 0.05
    x[:, 1] *= 1e-32
    x[:, 3] = 0.02 + 6e-8 * x[:, 3]
    x[:, 4] *= 6e-8
    moments = as_dataset(x).moments()
    assert moments.nearly_constant == (1, 3, 4)
    assert moments.std[[1, 3, 4]].tolist() == [1.0, 1.0, 1.0]
    np.testing.assert_allclose(moments.std[[0, 2, *range(5, 12)]], x.std(0)[[0, 2, *range(5, 12)]], rtol=1e-4)


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_no_unit_makes_columns_constant(scale: float) -> None:
    x = np.random.default_rng(0).normal(size=(200, 4)) * scale
    assert as_dataset(x).moments().nearly_constant == ()


def test_a_column_of_shares_beside_large_counts_is_not_constant() -> None:
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.random(200) * 0.1, rng.random((200, 6)) * 1e9])
    assert as_dataset(x).moments().nearly_constant == ()


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("constant", [0.1, 1.0, -123456.789])
def test_an_exactly_constant_column_is_not_named_as_nearly_constant(constant: float, sparse: bool) -> None:
    x = np.random.default_rng(0).normal(size=(1000, 3))
    x[:, 1] = constant
    moments = as_dataset(sp.csr_array(x) if sparse else x).moments()
    assert moments.nearly_constant == ()
    assert moments.varies.tolist() == [True, False, True]
    assert moments.mean[1].item() == np.float32(constant)


def test_columns_alike_are_judged_alike() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3500, 100)) * 0.05
    x[:, ::10] = 1 + 1e-6 * rng.normal(size=(3500, 10))  # about eight steps of float32
    x[:, 5::10] = 1 + 1e-7 * rng.normal(size=(3500, 10))
    moments = as_dataset(x.astype(np.float32)).moments()
    assert moments.nearly_constant == tuple(range(5, 100, 10))
    np.testing.assert_allclose(moments.std[::10], x[:, ::10].std(0), rtol=0.02)
