"""Multi-label ARFF files: small ones of both forms, and the real ones where they are."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from fewhot.core.errors import FewhotError
from fewhot.data import load_dataset, read_mulan

from .known import published

HEAD = """% a comment
@relation small

@attribute loudness numeric
@ATTRIBUTE 'a feature' {0,1}
@attribute "happy" {0,1}
@attribute 'Swainson\\'s Thrush' {0,1}

@data
"""
LABELS = '<labels xmlns="x"><label name="happy"></label><label name="Swainson\'s Thrush"></label></labels>'
DENSE = HEAD + "0.5,1,1,0\n\n-2,0,0,1\n"
SPARSE = HEAD + "{0 0.5,1 1,2 1}\n{ 0 -2, 3 1 }\n{}\n"


def files(folder: Path, data: str = DENSE, labels: str = LABELS) -> tuple[Path, Path]:
    (folder / "small.arff").write_text(data, encoding="latin1")
    (folder / "small.xml").write_text(labels)
    return folder / "small.arff", folder / "small.xml"


def test_features_and_labels_are_told_apart_by_name(tmp_path: Path) -> None:
    table = read_mulan(*files(tmp_path))
    np.testing.assert_array_equal(table.X, [[0.5, 1], [-2, 0]])
    np.testing.assert_array_equal(table.y, [[1, 0], [0, 1]])
    assert table.feature_names == ["loudness", "a feature"]
    assert table.label_names == ["happy", "Swainson's Thrush"]


def test_sparse_rows_stay_sparse(tmp_path: Path) -> None:
    table = read_mulan(*files(tmp_path, SPARSE))
    assert sp.issparse(table.X)
    np.testing.assert_array_equal(table.X.toarray(), [[0.5, 1], [-2, 0], [0, 0]])
    np.testing.assert_array_equal(table.y, [[1, 0], [0, 1], [0, 0]])


def test_a_compressed_file_is_read_as_it_is(tmp_path: Path) -> None:
    data, labels = files(tmp_path)
    packed = tmp_path / "small.arff.gz"
    packed.write_bytes(gzip.compress(data.read_bytes()))
    np.testing.assert_array_equal(read_mulan(packed, labels).y, read_mulan(data, labels).y)


@pytest.mark.parametrize(
    ("data", "labels"),
    [
        (HEAD.replace("@data", ""), LABELS),
        (HEAD + "0.5,1,1\n", LABELS),
        (HEAD + "0.5,loud,1,0\n", LABELS),
        (HEAD + "{9 1}\n", LABELS),
        (HEAD + "{0}\n", LABELS),
        (DENSE, "not xml"),
        (DENSE, '<labels><label name="sad"></label></labels>'),
    ],
)
def test_a_file_that_is_none_of_these_is_refused(tmp_path: Path, data: str, labels: str) -> None:
    with pytest.raises(FewhotError) as caught:
        read_mulan(*files(tmp_path, data, labels))
    assert "\n" not in str(caught.value)


@published("emotions")
@pytest.mark.parametrize(
    ("name", "split", "shape", "labels_a_row"),
    [
        ("emotions", "train", (391, 72, 6), 1.81), ("emotions", "test", (202, 72, 6), 1.98),
        ("birds", "train", (322, 260, 19), 1.06), ("cal500", "all", (502, 68, 174), 26.04),
        ("bibtex", "test", (2515, 1836, 159), 2.44), ("delicious", "test", (3185, 500, 983), 18.91),
    ],
)  # fmt: skip
def test_the_published_sets(name: str, split: str, shape: tuple[int, int, int], labels_a_row: float) -> None:
    found = load_dataset(name, split, download=False)
    assert (*found.X.shape, found.y.shape[1]) == shape
    assert set(np.unique(found.y)) == {0, 1}
    assert found.y.sum(axis=1).mean() == pytest.approx(labels_a_row, abs=0.01)
    assert len(found.label_names) == shape[2]
