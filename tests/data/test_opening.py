"""Data by name or by path, and what is known about them."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import FrozenInstanceError
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from fewhot.core.errors import DataError, UnknownNameError
from fewhot.data import content_digest, load_dataset, open_data, split_rows

X = np.arange(200, dtype=np.float32).reshape(50, 4)


def test_a_name_gives_the_training_rows() -> None:
    loaded = open_data("digits")
    assert (loaded.name, loaded.split) == ("digits", "train")
    assert loaded.digest == load_dataset("digits").digest


def test_a_path_gives_all_rows(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", X=X, y=np.arange(50))
    loaded = open_data(str(tmp_path / "x.npz"))
    np.testing.assert_array_equal(loaded.X, X)
    assert loaded.split is None


@pytest.mark.parametrize("split", ["train", "test", "validation", "fit", "all"])
def test_a_file_has_hashed_splits(tmp_path: Path, split: str) -> None:
    np.savez(tmp_path / "x.npz", X=X, y=np.arange(50))
    loaded = open_data(tmp_path / "x.npz", split=split)
    rows = split_rows(50, split)
    np.testing.assert_array_equal(loaded.X, X[rows])
    np.testing.assert_array_equal(loaded.y, rows)
    assert loaded.split == split
    assert loaded.digest == content_digest(X[rows], rows)


def test_a_sparse_file_is_split_sparse(tmp_path: Path) -> None:
    sp.save_npz(tmp_path / "x.npz", sp.csr_array(X))
    loaded = open_data(tmp_path / "x.npz", split="test")
    assert isinstance(loaded.X, sp.csr_array)
    np.testing.assert_array_equal(loaded.X.toarray(), X[split_rows(50, "test")])


def test_a_datasets_name_comes_before_a_file_of_that_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "digits").touch()
    assert open_data("digits").name == "digits"
    with pytest.raises(DataError, match="has no ending that says what it is"):
        open_data("./digits")


def test_what_is_neither_is_answered_with_both_lists() -> None:
    with pytest.raises(
        UnknownNameError,
        match=r"^'digist' is neither a dataset nor a file\. Did you mean 'digits'\? Datasets: bibtex, .*; files end",
    ):
        open_data("digist")


def test_a_missing_file_is_a_missing_file() -> None:
    with pytest.raises(DataError, match=r"^There is no file nowhere\.csv"):
        open_data("nowhere.csv")


def test_labels_of_a_dataset_are_its_own() -> None:
    with pytest.raises(DataError, match="the dataset digits has its own labels; leave label out"):
        open_data("digits", label="y")


def test_the_label_column_reaches_the_file(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a,y\n1,7\n2,8\n")
    assert open_data(tmp_path / "x.csv", label="y").y.tolist() == [7, 8]


def test_the_same_numbers_have_the_same_digest_in_every_file(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X.astype(np.float64))
    np.savetxt(tmp_path / "x.csv", X, delimiter=",")
    assert open_data(tmp_path / "x.npy").digest == open_data(tmp_path / "x.csv").digest


def test_a_digest_sees_values_shape_labels_and_columns() -> None:
    changed = X.copy()
    changed[3, 2] += 1
    digests = [
        content_digest(x) for x in (X, changed, X.reshape(25, 8), X[::-1], sp.csr_array(X), sp.csr_array(X[:, ::-1]))
    ]
    digests += [content_digest(X, np.zeros(50, int)), content_digest(X, np.ones(50, int))]
    assert len(set(digests)) == len(digests)


def test_a_digest_does_not_depend_on_the_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = content_digest(X), content_digest(sp.csr_array(X))
    monkeypatch.setattr("fewhot.data.loaded.CHUNK_ELEMENTS", 7)
    assert (content_digest(X), content_digest(sp.csr_array(X))) == whole


def test_the_record_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        load_dataset("digits").name = "other"


def test_importing_stays_light() -> None:
    heavy = ("pandas", "polars", "anndata", "matplotlib", "typer", "yaml", "scipy.io", "urllib.request")
    code = f"""
import sys
import fewhot
assert "fewhot.data" not in sys.modules
import torch, sklearn
before = set(sys.modules)
import fewhot.data
print([name for name in {heavy!r} if name in set(sys.modules) - before])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.returncode) == ("[]", 0), done.stderr
