"""Sparse rows: the batches of dense ones, in a finite set of shapes, without the dense matrix."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fewhot.data import RaggedDataset


def untidy(n_rows: int, n_columns: int, n_entries: int, seed: int, index_type: type = np.int32) -> sp.csr_array:
    """Return CSR rows as users have them: empty rows, duplicates, unsorted columns, explicit zeros."""
    rng = np.random.default_rng(seed)
    counts = rng.multinomial(n_entries, rng.dirichlet(np.full(n_rows, 0.3)))
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(index_type)
    columns = rng.integers(0, n_columns, n_entries).astype(index_type)
    values = rng.integers(-3, 4, n_entries).astype(np.float64) / 2
    matrix = sp.csr_array((n_rows, n_columns), dtype=np.float64)
    matrix.indptr, matrix.indices, matrix.data = offsets, columns, values
    return matrix


matrices = st.builds(
    untidy,
    n_rows=st.integers(1, 12),
    n_columns=st.integers(1, 30),
    n_entries=st.integers(0, 120),
    seed=st.integers(0, 10_000),
    index_type=st.sampled_from([np.int32, np.int64]),
)


@settings(deadline=None)
@given(matrix=matrices, size=st.integers(1, 15))
def test_batches_are_the_dense_rows(matrix: sp.csr_array, size: int) -> None:
    batches = [batch.x.dense() for batch in RaggedDataset.of(matrix).batches(size)]
    np.testing.assert_array_equal(torch.cat(batches).numpy(), matrix.toarray().astype(np.float32))


@settings(deadline=None)
@given(matrix=matrices)
def test_every_column_is_stored_at_most_once_a_row(matrix: sp.csr_array) -> None:
    """A likelihood adds up stored entries, so a duplicate would count as two observations."""
    data = RaggedDataset.of(matrix)
    for start, end in itertools.pairwise(data.offsets.tolist()):
        columns = data.columns[start:end].tolist()
        assert len(set(columns)) == len(columns)


@settings(deadline=None)
@given(matrix=matrices, seed=st.integers(0, 100))
def test_rows_come_in_any_order_and_repeatedly(matrix: sp.csr_array, seed: int) -> None:
    data = RaggedDataset.of(matrix)
    rows = np.random.default_rng(seed).integers(0, matrix.shape[0], 9)
    batch = data.batch(torch.from_numpy(rows), data.width(rows))
    np.testing.assert_array_equal(batch.x.dense().numpy(), matrix.toarray()[rows].astype(np.float32))
    assert batch.index.tolist() == rows.tolist()


@settings(deadline=None)
@given(matrix=matrices, seed=st.integers(0, 100))
def test_a_subset_has_the_rows_asked_for(matrix: sp.csr_array, seed: int) -> None:
    rows = np.random.default_rng(seed).integers(0, matrix.shape[0], 7)
    subset = RaggedDataset.of(matrix).subset(rows)
    assert subset.n_rows == subset.spec.n_rows == 7
    (batch,) = subset.batches(7)
    np.testing.assert_array_equal(batch.x.dense().numpy(), matrix.toarray()[rows].astype(np.float32))


@settings(deadline=None)
@given(matrix=matrices)
def test_the_callers_matrix_is_left_as_it_is(matrix: sp.csr_array) -> None:
    before = [a.copy() for a in (matrix.data, matrix.indices, matrix.indptr)]
    data = RaggedDataset.of(matrix)
    data.values.fill_(99.0)
    for then, now in zip(before, (matrix.data, matrix.indices, matrix.indptr), strict=True):
        np.testing.assert_array_equal(then, now)


@pytest.mark.parametrize("make", [sp.csr_matrix, sp.csc_array, sp.coo_array, sp.lil_array, sp.dok_array])
def test_any_sparse_format_will_do(make: type) -> None:
    dense = np.array([[0.0, 2.0, 0.0], [0.0, 0.0, 0.0], [1.0, 0.0, 3.0]])
    (batch,) = RaggedDataset.of(make(dense)).batches(3)
    np.testing.assert_array_equal(batch.x.dense().numpy(), dense)


def test_widths_come_from_a_finite_set() -> None:
    dense = np.tril(np.ones((100, 100)))  # row i has i + 1 entries
    data = RaggedDataset.of(sp.csr_array(dense))
    widths = [data.width(np.array([row])) for row in range(100)]
    assert set(widths) == {8, 16, 32, 64, 128}
    assert all(row + 1 <= width for row, width in enumerate(widths))
    assert data.width(np.array([0, 40])) == 64


@pytest.mark.parametrize("length", [8, 16, 32])
def test_a_full_width_is_not_doubled(length: int) -> None:
    assert RaggedDataset.of(sp.csr_array(np.ones((1, length)))).width(np.array([0])) == length


def test_rows_without_a_width_given_lose_nothing() -> None:
    matrix = sp.csr_array(np.eye(3))
    batch = RaggedDataset.of(matrix).batch(torch.tensor([2, 0]))
    np.testing.assert_array_equal(batch.x.dense().numpy(), np.eye(3)[[2, 0]])


def test_padding_has_column_and_value_zero() -> None:
    data = RaggedDataset.of(sp.csr_array(np.array([[0.0, 0.0, 5.0], [1.0, 2.0, 3.0]])))
    x = data.batch(torch.tensor([0]), 8).x
    assert x.indices.tolist() == [[2, 0, 0, 0, 0, 0, 0, 0]]
    assert x.values.tolist() == [[5.0, 0, 0, 0, 0, 0, 0, 0]]
    assert (x.indices.dtype, x.values.dtype, x.n_columns) == (torch.int64, torch.float32, 3)


def test_a_matrix_of_zeros_has_empty_rows() -> None:
    data = RaggedDataset.of(sp.csr_array((4, 6)))
    (batch,) = data.batches(4)
    assert torch.equal(batch.x.dense(), torch.zeros(4, 6))
    assert (data.spec.minimum, data.spec.maximum, data.spec.binary) == (0.0, 0.0, True)


@settings(deadline=None)
@given(matrix=matrices)
def test_the_description_counts_the_zeros_that_are_not_stored(matrix: sp.csr_array) -> None:
    dense, spec = matrix.toarray(), RaggedDataset.of(matrix).spec
    assert (spec.n_rows, spec.n_columns) == dense.shape
    assert (spec.minimum, spec.maximum) == (dense.min(), dense.max())
    assert spec.integral == bool((dense == np.floor(dense)).all())
    assert spec.binary == bool(np.isin(dense, (0, 1)).all())
    assert spec.sparse


def test_rows_without_a_zero_have_no_zero_in_their_range() -> None:
    spec = RaggedDataset.of(sp.csr_array(np.array([[2.0, 3.0], [5.0, 4.0]]))).spec
    assert (spec.minimum, spec.maximum) == (2.0, 5.0)


@pytest.mark.parametrize("dtype", [int, np.uint8, np.int16, np.float32])
def test_rows_without_a_zero_are_read_in_any_type(dtype: type) -> None:
    spec = RaggedDataset.of(sp.csr_array(np.arange(1, 7).reshape(2, 3).astype(dtype))).spec
    assert (spec.minimum, spec.maximum, spec.integral, spec.binary) == (1, 6, True, False)
