"""Arrays: .npy, .npz, .mtx and .h5ad."""

from __future__ import annotations

from pathlib import Path

import anndata
import numpy as np
import pandas as pd
import pytest
import scipy.io
import scipy.sparse as sp

from fewhot.core.errors import DataError
from fewhot.data import read_file
from fewhot.data.dense import _is_mapped
from fewhot.data.files import arrays

X = np.array([[0.0, 1.5, 0.0], [2.0, 0.0, -3.0]], dtype=np.float32)


def test_a_float32_npy_opens_mapped(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    loaded = read_file(tmp_path / "x.npy")
    assert _is_mapped(loaded.X)
    assert not loaded.X.flags.writeable
    np.testing.assert_array_equal(loaded.X, X)
    assert (loaded.name, loaded.split, loaded.y, loaded.licence) == ("x.npy", None, None, "")


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float64, np.float16, bool])
def test_other_types_become_float32(tmp_path: Path, dtype: type) -> None:
    np.save(tmp_path / "x.npy", np.abs(X).astype(dtype))
    loaded = read_file(tmp_path / "x.npy")
    assert loaded.X.dtype == np.float32
    np.testing.assert_array_equal(loaded.X, np.abs(X).astype(dtype).astype(np.float32))


def test_a_large_npy_of_another_type_stays_mapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "MAPPED_ABOVE_BYTES", 10)
    np.save(tmp_path / "x.npy", X.astype(np.float64))
    loaded = read_file(tmp_path / "x.npy")
    assert _is_mapped(loaded.X)
    assert loaded.X.dtype == np.float64
    np.save(tmp_path / "same.npy", X)
    assert loaded.digest == read_file(tmp_path / "same.npy").digest


def test_a_fortran_ordered_array_is_read_as_it_looks(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.asfortranarray(X))
    np.testing.assert_array_equal(read_file(tmp_path / "x.npy").X, X)


def test_npz_takes_X_and_y_by_name(tmp_path: Path) -> None:
    np.savez(
        tmp_path / "x.npz", X=X, other=np.ones((2, 2)), y=np.array([4, 1]), feature_names=np.array(["a", "b", "c"])
    )
    loaded = read_file(tmp_path / "x.npz")
    np.testing.assert_array_equal(loaded.X, X)
    assert loaded.y.tolist() == [4, 1]
    assert loaded.feature_names == ["a", "b", "c"]


def test_npz_takes_the_only_matrix(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", weights=X, y=np.array(["b", "a"]), scale=np.ones(3))
    loaded = read_file(tmp_path / "x.npz")
    np.testing.assert_array_equal(loaded.X, X)
    assert (loaded.y.tolist(), loaded.label_names) == ([1, 0], ["a", "b"])


def test_npz_with_two_matrices_asks_for_a_name(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", a=X, b=X)
    with pytest.raises(
        DataError, match=r"has no array called 'X' and arrays with two to four axes: a, b; save .* X=matrix"
    ):
        read_file(tmp_path / "x.npz")


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_scipy_npz_stays_sparse(tmp_path: Path, form: str) -> None:
    sp.save_npz(tmp_path / "x.npz", sp.csr_matrix(X).asformat(form))
    loaded = read_file(tmp_path / "x.npz")
    assert isinstance(loaded.X, sp.csr_array)
    assert (loaded.X.dtype, loaded.X.nnz) == (np.float32, 3)
    np.testing.assert_array_equal(loaded.X.toarray(), X)


def test_a_matrix_market_file_stays_sparse_and_an_array_dense(tmp_path: Path) -> None:
    scipy.io.mmwrite(tmp_path / "sparse.mtx", sp.coo_array(X))
    scipy.io.mmwrite(tmp_path / "dense.mtx", X)
    sparse, dense = read_file(tmp_path / "sparse.mtx"), read_file(tmp_path / "dense.mtx")
    assert isinstance(sparse.X, sp.csr_array)
    np.testing.assert_array_equal(sparse.X.toarray(), X)
    np.testing.assert_array_equal(dense.X, X)


@pytest.mark.parametrize("matrix", [X, sp.csr_matrix(X)], ids=["dense", "sparse"])
def test_h5ad_gives_matrix_names_and_labels(tmp_path: Path, matrix: object) -> None:
    data = anndata.AnnData(matrix, var=pd.DataFrame(index=["g1", "g2", "g3"]))
    data.obs["kind"] = ["T", "B"]
    data.write_h5ad(tmp_path / "cells.h5ad")
    plain, labelled = read_file(tmp_path / "cells.h5ad"), read_file(tmp_path / "cells.h5ad", label="kind")
    assert plain.feature_names == ["g1", "g2", "g3"]
    assert plain.y is None
    assert sp.issparse(plain.X) == sp.issparse(matrix)
    np.testing.assert_array_equal(plain.X.toarray() if sp.issparse(plain.X) else plain.X, X)
    assert (labelled.y.tolist(), labelled.label_names) == ([1, 0], ["B", "T"])


def test_h5ad_without_the_label_column_lists_those_there_are(tmp_path: Path) -> None:
    data = anndata.AnnData(X)
    data.obs["kind"] = ["T", "B"]
    data.write_h5ad(tmp_path / "cells.h5ad")
    with pytest.raises(DataError, match=r"no column 'type' in \.obs for the labels; its columns: kind\.$"):
        read_file(tmp_path / "cells.h5ad", label="type")


def test_h5ad_without_a_matrix_says_so(tmp_path: Path) -> None:
    anndata.AnnData(obs=pd.DataFrame(index=["a"])).write_h5ad(tmp_path / "cells.h5ad")
    with pytest.raises(DataError, match=r"has no matrix \.X"):
        read_file(tmp_path / "cells.h5ad")


def test_a_label_column_makes_no_sense_without_columns(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    with pytest.raises(DataError, match=r"a \.npy file has no named columns; put the labels into an \.npz"):
        read_file(tmp_path / "x.npy", label="y")


def test_labels_must_be_as_many_as_rows(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", X=X, y=np.array([1]))
    with pytest.raises(DataError, match=r"labels of shape \(1,\) for 2 rows; give one label a row"):
        read_file(tmp_path / "x.npz")


def test_labels_must_be_classes(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", X=X, y=np.array([1.5, 2.0]))
    with pytest.raises(DataError, match="labels that are not whole numbers"):
        read_file(tmp_path / "x.npz")


@pytest.mark.parametrize("sparse", [False, True])
def test_the_place_of_a_missing_value_is_named(tmp_path: Path, sparse: bool) -> None:
    bad = X.copy()
    bad[1, 2] = np.nan
    if sparse:
        sp.save_npz(tmp_path / "x.npz", sp.csr_array(bad))
    else:
        np.savez(tmp_path / "x.npz", X=bad)
    with pytest.raises(DataError, match=r"missing value \(NaN\) in row 2, column 3; fill, drop or rescale"):
        read_file(tmp_path / "x.npz")


def test_what_float32_cannot_hold_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array([[1.0, 1e300]]))
    with pytest.raises(DataError, match="a value that float32 cannot hold in row 1, column 2"):
        read_file(tmp_path / "x.npy")
