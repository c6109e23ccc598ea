"""Tables as text."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from fewhot.core.errors import DataError
from fewhot.data import Loaded, read_file


def read(folder: Path, text: str, label: str | int | None = None, encoding: str = "utf-8") -> Loaded:
    (folder / "t.csv").write_text(text, encoding=encoding, newline="")
    return read_file(folder / "t.csv", label=label)


@pytest.mark.parametrize(
    "text",
    [
        "1,2\n3,4\n",
        "1,2\n3,4",
        "1;2\n3;4\n",
        "1\t2\n3\t4\n",
        "1,2\r\n3,4\r\n",
        "\n1,2\n\n3,4\n\n",
        '"1","2"\n"3","4"\n',
        " 1, 2\n3 ,4\n",
    ],
    ids=["plain", "no-last-newline", "semicolon", "tab", "crlf", "blank-lines", "quoted", "spaces"],
)
def test_numbers_without_a_header(tmp_path: Path, text: str) -> None:
    loaded = read(tmp_path, text)
    assert loaded.X.tolist() == [[1, 2], [3, 4]]
    assert loaded.X.dtype == np.float32
    assert loaded.feature_names is None


@pytest.mark.parametrize(
    ("header", "names"),
    [
        ("a,b", ["a", "b"]),
        ("a,2020", ["a", "2020"]),
        ('"a, first",b', ["a, first", "b"]),
        ("# a,b", ["a", "b"]),
        ('"two\nlines",b', ["two\nlines", "b"]),
    ],
)
def test_a_header_is_noticed(tmp_path: Path, header: str, names: list[str]) -> None:
    loaded = read(tmp_path, f"{header}\n1,2\n3,4\n")
    assert loaded.feature_names == names
    assert loaded.X.tolist() == [[1, 2], [3, 4]]


def test_a_byte_order_mark_is_no_part_of_the_first_name(tmp_path: Path) -> None:
    assert read(tmp_path, "a,b\n1,2\n", encoding="utf-8-sig").feature_names == ["a", "b"]
    assert read(tmp_path, "1,2\n3,4\n", encoding="utf-8-sig").X.tolist() == [[1, 2], [3, 4]]


def test_a_single_column_and_a_single_row(tmp_path: Path) -> None:
    assert read(tmp_path, "1\n2\n").X.tolist() == [[1], [2]]
    assert read(tmp_path, "1,2\n").X.tolist() == [[1, 2]]


def test_row_names_are_left_out(tmp_path: Path) -> None:
    for names in ("0 1", "cell_a cell_b"):
        first, second = names.split()
        loaded = read(tmp_path, f",a,b\n{first},1,2\n{second},3,4\n")
        assert loaded.feature_names == ["a", "b"]
        assert loaded.X.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("label", ["kind", 1, -2])
def test_a_label_column_of_words(tmp_path: Path, label: str | int) -> None:
    loaded = read(tmp_path, "a,kind,b\n1,rose,2\n3,iris,4\n5,rose,6\n", label=label)
    assert loaded.X.tolist() == [[1, 2], [3, 4], [5, 6]]
    assert loaded.feature_names == ["a", "b"]
    assert (loaded.y.tolist(), loaded.label_names) == ([1, 0, 1], ["iris", "rose"])


def test_labels_that_are_large_whole_numbers_are_exact(tmp_path: Path) -> None:
    loaded = read(tmp_path, "y,a\n16777217,1\n-3,2\n", label="y")
    assert loaded.y.tolist() == [16777217, -3]
    assert loaded.label_names is None


def test_a_label_by_place_without_a_header(tmp_path: Path) -> None:
    loaded = read(tmp_path, "5.1,3.5,setosa\n4.9,3.0,other\n", label=2)
    assert loaded.X.shape == (2, 2)
    assert loaded.label_names == ["other", "setosa"]


def test_a_wrong_label_name_is_answered_with_the_right_one(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"no column 'knid' for the labels\. Did you mean 'kind'\? Its columns: a, kind\.$"
    ):
        read(tmp_path, "a,kind\n1,x\n", label="knid")


def test_missing_labels_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="missing labels"):
        read(tmp_path, "a,y\n1,x\n2,\n", label="y")


def test_labels_alone_are_no_table(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no column besides the labels"):
        read(tmp_path, "y\na\nb\n", label="y")


def test_a_text_column_is_named_with_advice(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"^Column 'kind' of .*t\.csv holds text \('rose'\), .*drop the column, .*label=.*\.$"
    ):
        read(tmp_path, "a,kind\n1,rose\n2,iris\n")


def test_a_text_column_without_a_header_is_counted(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"^Column 3 of .* holds text \('setosa'\)"):
        read(tmp_path, "5.1,3.5,setosa\n4.9,3.0,setosa\n")


@pytest.mark.parametrize("cell", ["", "NA", "?", "null"])
def test_a_missing_value_is_placed(tmp_path: Path, cell: str) -> None:
    with pytest.raises(DataError, match=r"missing value \(.*\) in line 3, column 'b'; fill or drop"):
        read(tmp_path, f"a,b\n1,2\n3,{cell}\n")


def test_nan_and_infinity_are_placed(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"missing value \(NaN\) in row 2, column 'b'"):
        read(tmp_path, "a,b\n1,2\n3,nan\n")
    with pytest.raises(DataError, match=r"float32 cannot hold in row 1, column 'a'"):
        read(tmp_path, "a,b\n1e60,2\n3,4\n")


@pytest.mark.parametrize("label", [None, "c"])
def test_a_row_of_another_length_is_placed(tmp_path: Path, label: str | None) -> None:
    with pytest.raises(DataError, match=r"^Line 3 of .* has 2 values where the first has 3; .*may be cut off\.$"):
        read(tmp_path, "a,b,c\n1,2,3\n4,5\n", label=label)


def test_a_header_of_another_length_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="has 2 names in its header and 3 values in a row"):
        read(tmp_path, "a,b\n1,2,3\n4,5,6\n")


def test_a_header_without_rows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no rows of numbers"):
        read(tmp_path, "a,b\n")


def test_decimal_commas_are_text(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"Column 'a' of .* holds text \('1,5'\)"):
        read(tmp_path, "a;b\n1,5;2\n")


def test_another_encoding_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is not text in UTF-8"):
        read(tmp_path, "höhe,b\n1,2\n", encoding="latin-1")


def test_a_million_cells_take_no_longer_than_numpy_needs(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(10_000, 100)).astype(np.float32)
    np.savetxt(tmp_path / "t.csv", X, delimiter=",", fmt="%.9g", header=",".join(f"c{i}" for i in range(100)))
    start = time.perf_counter()
    numpy_read = np.loadtxt(tmp_path / "t.csv", np.float32, delimiter=",")
    middle = time.perf_counter()
    loaded = read_file(tmp_path / "t.csv")
    end = time.perf_counter()
    np.testing.assert_array_equal(loaded.X, X)
    np.testing.assert_array_equal(numpy_read, X)
    assert end - middle < 3 * (middle - start) + 1.0


def test_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    (tmp_path / "twins.csv").write_text("a,b,a\n1,2,3\n")
    with pytest.raises(DataError, match=r"twins\.csv has two columns called 'a'; give each its own name\.$"):
        read_file(tmp_path / "twins.csv")
