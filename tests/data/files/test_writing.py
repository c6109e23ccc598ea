"""Writing a matrix and reading it back."""

from __future__ import annotations

import errno
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from fewhot.core.errors import DataError, InvalidInputError
from fewhot.data import read_file, write_matrix

DENSE = (np.random.default_rng(0).normal(size=(7, 5)) * (np.arange(35).reshape(7, 5) % 3 == 0)).astype(np.float32)
ENDINGS = [".npz", ".npy", ".csv", ".parquet", ".mtx", ".h5ad"]


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array, sp.csc_matrix], ids=["dense", "csr", "csc"])
def test_what_was_written_is_read_back_exactly(tmp_path: Path, ending: str, make: type) -> None:
    path = tmp_path / "new" / f"codes{ending}"
    write_matrix(path, make(DENSE))
    loaded = read_file(path)
    np.testing.assert_array_equal(loaded.X.toarray() if sp.issparse(loaded.X) else loaded.X, DENSE)
    assert [file.name for file in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("ending", [".npz", ".mtx", ".h5ad"])
def test_sparse_formats_keep_sparse_codes_sparse(tmp_path: Path, ending: str) -> None:
    write_matrix(tmp_path / f"codes{ending}", sp.csr_array(DENSE))
    loaded = read_file(tmp_path / f"codes{ending}")
    assert loaded.X.nnz == np.count_nonzero(DENSE)


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".h5ad"])
def test_columns_are_named(tmp_path: Path, ending: str) -> None:
    write_matrix(tmp_path / f"a{ending}", DENSE)
    write_matrix(tmp_path / f"b{ending}", DENSE, names=list("vwxyz"))
    assert read_file(tmp_path / f"a{ending}").feature_names == [f"unit_{j}" for j in range(5)]
    assert read_file(tmp_path / f"b{ending}").feature_names == list("vwxyz")


def test_many_rows_are_written_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fewhot.data.loaded.CHUNK_ELEMENTS", 10)
    for ending in (".npy", ".csv"):
        write_matrix(tmp_path / f"codes{ending}", sp.csr_array(DENSE))
        np.testing.assert_array_equal(read_file(tmp_path / f"codes{ending}").X, DENSE)


def test_whole_numbers_stay_whole_numbers_in_text(tmp_path: Path) -> None:
    write_matrix(tmp_path / "codes.csv", np.array([[1, 20]]))
    assert (tmp_path / "codes.csv").read_text() == "unit_0,unit_1\n1,20\n"


@pytest.mark.parametrize("name", ["codes.txt", "codes", "codes.jsonl"])
def test_an_unknown_ending_is_answered_with_the_known_ones(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match=r"must end in one of \.npz, \.npy, \.csv, \.parquet, \.mtx, \.h5ad\.$"):
        write_matrix(tmp_path / name, DENSE)


def test_a_folder_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "codes.npz").mkdir()
    with pytest.raises(DataError, match="is a folder; name a file"):
        write_matrix(tmp_path / "codes.npz", DENSE)


@pytest.mark.parametrize("matrix", [np.ones(3), np.array([["a"]])])
def test_what_is_no_matrix_is_refused(tmp_path: Path, matrix: np.ndarray) -> None:
    with pytest.raises(InvalidInputError, match="give rows of numbers"):
        write_matrix(tmp_path / "codes.npz", matrix)


def test_names_must_be_as_many_as_columns(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="There are 1 names for 5 columns"):
        write_matrix(tmp_path / "codes.csv", DENSE, names=["a"])


def test_a_full_disk_leaves_the_earlier_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "codes.npz"
    write_matrix(path, DENSE)

    def full(*args: object, **kwargs: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("numpy.savez_compressed", full)
    with pytest.raises(DataError, match=r"cannot be written \(No space left on device\)"):
        write_matrix(path, DENSE + 1)
    np.testing.assert_array_equal(read_file(path).X, DENSE)
    assert len(list(tmp_path.iterdir())) == 1
