"""Files that cannot be used: one sentence each."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import anndata
import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp

from fewhot.core.errors import DataError, FewhotError
from fewhot.data import EXTENSIONS, read_file

X = np.arange(600.0).reshape(20, 30)
NUMERIC = [ending for ending in EXTENSIONS if ending != ".txt"]

WHOLE: dict[str, Callable[[Path], object]] = {
    ".npy": lambda path: np.save(path, X),
    ".npz": lambda path: np.savez(path, X=X),
    ".parquet": lambda path: pl.DataFrame(X).write_parquet(path),
    ".h5ad": lambda path: anndata.AnnData(X).write_h5ad(path),
    ".csv": lambda path: np.savetxt(path, X, delimiter=","),
    ".tsv": lambda path: np.savetxt(path, X, delimiter="\t"),
    ".jsonl": lambda path: path.write_text('{"a": 1, "b": 2}\n' * 9),
    ".mtx": lambda path: path.write_text("%%MatrixMarket matrix coordinate real general\n3 3 3\n1 1 1\n2 2 2\n3 3 3\n"),
}


def sentence_of(path: Path) -> str:
    with pytest.raises(DataError) as caught:
        read_file(path)
    message = str(caught.value)
    assert "\n" not in message
    assert message.endswith(".")
    assert path.name in message
    return message


def test_errors_belong_to_the_family() -> None:
    assert issubclass(DataError, FewhotError)
    assert issubclass(DataError, ValueError)


@pytest.mark.parametrize("ending", EXTENSIONS)
def test_a_missing_file(tmp_path: Path, ending: str) -> None:
    assert sentence_of(tmp_path / f"none{ending}").startswith("There is no file ")


@pytest.mark.parametrize("ending", EXTENSIONS)
def test_an_empty_file(tmp_path: Path, ending: str) -> None:
    (tmp_path / f"x{ending}").touch()
    assert "is empty; write it again" in sentence_of(tmp_path / f"x{ending}")


@pytest.mark.parametrize("ending", NUMERIC)
def test_a_file_that_is_cut_off(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"x{ending}"
    WHOLE[ending](path)
    assert len(read_file(path)) in (3, 9, 20)
    content = path.read_bytes().rstrip()
    path.write_bytes(
        content[:-5]
        if ending in (".jsonl", ".mtx")
        else content[: content.rindex(b",", 0, -60)]
        if ending == ".csv"
        else content[: len(content) * 2 // 3]
    )
    sentence_of(path)


@pytest.mark.parametrize("ending", NUMERIC)
@pytest.mark.parametrize("content", [b"\x89PNG\r\n\x1a\n\x00\xff\xfe" * 30, b"just some words\n", b"\n\n \n"])
def test_a_file_of_another_kind(tmp_path: Path, ending: str, content: bytes) -> None:
    (tmp_path / f"x{ending}").write_bytes(content)
    sentence_of(tmp_path / f"x{ending}")


def test_a_damaged_archive_is_not_called_pickle(tmp_path: Path) -> None:
    (tmp_path / "x.npz").write_bytes(np.random.default_rng(0).bytes(1000))
    assert "pickle" not in sentence_of(tmp_path / "x.npz")


@pytest.mark.parametrize("name", ["folder", "folder.csv"])
def test_a_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    assert (
        "is a folder without pictures (.png, .jpg, .jpeg, .pgm, .ppm, .bmp, .webp); accepted are files that end in .npy"
        in sentence_of(tmp_path / name)
    )


@pytest.mark.parametrize("name", ["x.xlsx", "x", "x.pkl"])
def test_an_unknown_ending_is_answered_with_the_known_ones(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("1,2")
    message = sentence_of(tmp_path / name)
    assert all(ending in message for ending in EXTENSIONS)


class Bomb:
    """Unpickling this writes a file."""

    def __reduce__(self) -> tuple[Callable, tuple]:
        return (open, ("exploded", "w"))


@pytest.mark.parametrize("ending", [".npy", ".npz"])
def test_pickled_objects_are_never_loaded(tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    bombs = np.array([[Bomb(), Bomb()]], dtype=object)
    path = tmp_path / f"x{ending}"
    np.save(path, bombs, allow_pickle=True) if ending == ".npy" else np.savez(path, X=bombs)
    assert "stored as pickle and never loaded" in sentence_of(path)
    assert not (tmp_path / "exploded").exists()


@pytest.mark.parametrize("ending", [".npy", ".npz"])
def test_a_pickle_under_a_false_name_is_never_loaded(
    tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / f"x{ending}").write_bytes(pickle.dumps(Bomb()))
    sentence_of(tmp_path / f"x{ending}")
    assert not (tmp_path / "exploded").exists()


@pytest.mark.parametrize(
    "array",
    [np.ones(4), np.ones((2, 2, 2, 2, 2)), np.ones((0, 3)), np.ones((3, 0)), np.float64(1)],
    ids=lambda a: str(a.shape),
)
@pytest.mark.parametrize("ending", [".npy", ".npz"])
def test_what_is_no_matrix(tmp_path: Path, array: np.ndarray, ending: str) -> None:
    path = tmp_path / f"x{ending}"
    np.save(path, array) if ending == ".npy" else np.savez(path, X=array)
    assert "a matrix with at least one row and one column is needed" in sentence_of(path)


@pytest.mark.parametrize(
    "array",
    [np.array([["a", "b"]]), np.ones((2, 2), complex), np.zeros((2, 2), "datetime64[D]")],
    ids=lambda a: a.dtype.kind,
)
def test_what_holds_no_real_numbers(tmp_path: Path, array: np.ndarray) -> None:
    np.save(tmp_path / "x.npy", array)
    assert "save real numbers, such as float32" in sentence_of(tmp_path / "x.npy")


def test_a_sparse_matrix_of_complex_numbers(tmp_path: Path) -> None:
    sp.save_npz(tmp_path / "x.npz", sp.csr_array(np.eye(2) * 1j))
    assert "save real numbers" in sentence_of(tmp_path / "x.npz")


@pytest.mark.parametrize("ending", [".parquet", ".h5ad"])
def test_a_library_that_is_not_installed(tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch) -> None:
    WHOLE[ending](tmp_path / f"x{ending}")
    monkeypatch.setattr("fewhot.data.files.parquet.parquet_library", lambda: None)
    monkeypatch.setitem(__import__("sys").modules, "anndata", None)
    assert "pip install 'fewhot[files]'" in sentence_of(tmp_path / f"x{ending}")
