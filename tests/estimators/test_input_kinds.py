"""The same numbers in another container or layout give the same fit and the same codes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anndata
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import torch

from fewhot import VAE, VSC
from fewhot.data import dense as dense_data
from tests.estimators.cases import count_rows, dense, grey_rows, same_weights, small


def _strided(x: np.ndarray) -> np.ndarray:
    wide = np.zeros((2 * len(x), 3 * x.shape[1]), x.dtype)
    wide[::2, ::3] = x
    return wide[::2, ::3]


def _read_only(x: np.ndarray) -> np.ndarray:
    x = x.copy()
    x.flags.writeable = False
    return x


def _anndata(x: Any) -> anndata.AnnData:
    n, p = x.shape
    return anndata.AnnData(
        x, obs=pd.DataFrame(index=[f"c{i}" for i in range(n)]), var=pd.DataFrame(index=[*map(str, range(p))])
    )


DENSE: dict[str, Callable[[np.ndarray], Any]] = {
    "float64": lambda x: x.astype(np.float64),
    "fortran": np.asfortranarray,
    "strided": _strided,
    "reversed": lambda x: x[::-1][::-1],
    "read-only": _read_only,
    "list": lambda x: x.tolist(),
    "pandas": lambda x: pd.DataFrame(x, columns=[f"f{j}" for j in range(x.shape[1])]),
    "polars": lambda x: pl.DataFrame(x, schema=[f"f{j}" for j in range(x.shape[1])]),
    "anndata": _anndata,
    "torch-float32": torch.from_numpy,
    "torch-float64": lambda x: torch.from_numpy(x).double(),
    "torch-requires-grad": lambda x: torch.from_numpy(x).clone().requires_grad_(),
    "torch-transposed": lambda x: torch.from_numpy(x.T.copy()).T,
}
WHOLE: dict[str, Callable[[np.ndarray], Any]] = {
    "int64": lambda x: x.astype(np.int64),
    "uint8": lambda x: x.astype(np.uint8),
    "float16": lambda x: x.astype(np.float16),
    "bfloat16": lambda x: torch.from_numpy(x).bfloat16(),
    "torch-int32": lambda x: torch.from_numpy(x).int(),
}
SPARSE: dict[str, Callable[[np.ndarray], Any]] = {
    "csr-matrix": sp.csr_matrix,
    "csc": sp.csc_array,
    "coo": sp.coo_array,
    "float64": lambda x: sp.csr_array(x.astype(np.float64)),
    "int32": lambda x: sp.csr_array(x.astype(np.int32)),
    "int64-indices": lambda x: _with_int64_indices(sp.csr_array(x)),
    "unsorted": lambda x: _unsorted(sp.csr_array(x)),
    "duplicates": lambda x: _with_duplicates(sp.csr_array(x)),
    "anndata": lambda x: _anndata(sp.csr_matrix(x)),
    "anndata-csc": lambda x: _anndata(sp.csc_matrix(x)),
}


def _with_int64_indices(csr: sp.csr_array) -> sp.csr_array:
    csr.indices, csr.indptr = csr.indices.astype(np.int64), csr.indptr.astype(np.int64)
    return csr


def _unsorted(csr: sp.csr_array) -> sp.csr_array:
    for start, stop in zip(csr.indptr[:-1], csr.indptr[1:], strict=True):
        csr.indices[start:stop] = csr.indices[start:stop][::-1].copy()
        csr.data[start:stop] = csr.data[start:stop][::-1].copy()
    return sp.csr_array((csr.data, csr.indices, csr.indptr), shape=csr.shape)


def _with_duplicates(csr: sp.csr_array) -> sp.csr_array:
    halves = (np.repeat(csr.data / 2, 2), np.repeat(csr.indices, 2), csr.indptr * 2)
    return sp.csr_array(halves, shape=csr.shape)


def _with_stored_zeros(x: np.ndarray) -> sp.csr_array:
    n, p = x.shape
    return sp.csr_array((x.ravel().copy(), np.tile(np.arange(p), n), np.arange(0, n * p + 1, p)), shape=x.shape)


@pytest.fixture(scope="module")
def dense_reference() -> VSC:
    return small(VSC).fit(grey_rows())


@pytest.fixture(scope="module")
def count_reference() -> VSC:
    return small(VSC).fit(count_rows())


@pytest.fixture(scope="module")
def sparse_reference() -> VSC:
    return small(VSC).fit(sp.csr_array(count_rows()))


def _assert_same(estimator: VSC, reference: VSC, X: Any, plain: Any) -> None:
    assert same_weights(estimator, reference)
    np.testing.assert_array_equal(dense(estimator.transform(X)), dense(reference.transform(plain)))
    np.testing.assert_array_equal(estimator.score_samples(X), reference.score_samples(plain))


@pytest.mark.parametrize("kind", DENSE)
def test_dense_kinds_equal_the_array(dense_reference: VSC, kind: str) -> None:
    X = DENSE[kind](grey_rows())
    _assert_same(small(VSC).fit(X), dense_reference, X, grey_rows())


@pytest.mark.parametrize("kind", WHOLE)
def test_whole_number_types_equal_the_array(count_reference: VSC, kind: str) -> None:
    X = WHOLE[kind](count_rows())
    _assert_same(small(VSC).fit(X), count_reference, X, count_rows())


def test_booleans_equal_zeros_and_ones() -> None:
    X = grey_rows() > 0.3
    _assert_same(small(VSC).fit(X), small(VSC).fit(X.astype(np.float32)), X, X.astype(np.float32))


@pytest.mark.parametrize("kind", SPARSE)
def test_sparse_kinds_equal_the_csr_array(sparse_reference: VSC, kind: str) -> None:
    X = SPARSE[kind](count_rows())
    _assert_same(small(VSC).fit(X), sparse_reference, X, sp.csr_array(count_rows()))


@pytest.mark.parametrize("kind", ["unsorted", "duplicates", "int64-indices"])
def test_the_callers_sparse_matrix_is_left_as_it_is(kind: str) -> None:
    X, twin = SPARSE[kind](count_rows()), SPARSE[kind](count_rows())
    small(VSC).fit(X).score(X)
    for name in ("data", "indices", "indptr"):
        assert getattr(X, name).dtype == getattr(twin, name).dtype
        np.testing.assert_array_equal(getattr(X, name), getattr(twin, name))


def test_sparse_and_dense_rows_have_the_same_bound(count_reference: VSC) -> None:
    X = count_rows()
    np.testing.assert_allclose(
        count_reference.score_samples(sp.csr_array(X)), count_reference.score_samples(X), rtol=1e-4
    )


def test_stored_zeros_change_no_bound(sparse_reference: VSC) -> None:
    X = count_rows()
    plain = sparse_reference.score_samples(sp.csr_array(X))
    np.testing.assert_allclose(sparse_reference.score_samples(_with_stored_zeros(X)), plain, rtol=1e-5)


@pytest.mark.parametrize("mapped_above", [1 << 30, 0], ids=["loaded", "read-on-demand"])
def test_a_memory_map_equals_the_array(
    dense_reference: VSC, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mapped_above: int
) -> None:
    monkeypatch.setattr(dense_data, "MAPPED_ABOVE_BYTES", mapped_above)
    np.save(tmp_path / "rows.npy", grey_rows())
    X = np.load(tmp_path / "rows.npy", mmap_mode="r")
    _assert_same(small(VSC).fit(X), dense_reference, X, grey_rows())


def test_rows_changed_after_fit_do_not_reach_the_model() -> None:
    X = grey_rows()
    estimator = small(VAE).fit(X)
    before = estimator.score(X)
    X[:] = 0.5
    assert estimator.score(grey_rows()) == before


def test_empty_sparse_rows_and_all_zero_data_are_encoded() -> None:
    X = sp.csr_array(np.zeros((20, 4), dtype=np.float32))
    estimator = small(VSC).fit(X)
    assert estimator.transform(X).shape == (20, 6)
    assert np.isfinite(estimator.score_samples(X)).all()
