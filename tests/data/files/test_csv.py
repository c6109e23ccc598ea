"""Tables as text."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fewhot.core.errors import DataError, UnpreparedTableError
from fewhot.core.records import UNLABELED
from fewhot.data import Loaded, TableVectorizer, read_file
from fewhot.data.files.reading import read_selected
from fewhot.data.files.selection import Selection


def read(folder: Path, text: str, encoding: str = "utf-8", **how: Any) -> Loaded:
    (folder / "t.csv").write_text(text, encoding=encoding, newline="")
    return read_file(folder / "t.csv", **how)


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


@pytest.mark.parametrize(
    ("header", "row"),
    [
        ("0,1", "0.5,2"),
        ("0,1,2", "7,0,1"),
        ("1,2,3,4,5", "2,3,4,5,6"),
        ("1,2", "0.5,1.5"),
        ('"0","1"', "-0.5,1e3"),
    ],
)
def test_a_first_line_that_counts_the_columns_is_a_header(tmp_path: Path, header: str, row: str) -> None:
    with pytest.warns(UserWarning, match="counts its columns, and is taken as their names"):
        loaded = read(tmp_path, f"{header}\n{row}\n{row}\n")
    assert loaded.feature_names == header.replace('"', "").split(",")
    assert loaded.X.tolist() == [[float(cell) for cell in row.split(",")]] * 2


def test_a_frame_without_names_comes_back_with_and_without_its_index(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).normal(size=(30, 6)).astype(np.float32)
    frame = pd.DataFrame(rows)
    for index, said in ((False, "counts its columns"), (True, "row names")):
        frame.to_csv(tmp_path / "t.csv", index=index)
        with pytest.warns(UserWarning, match=said):
            loaded = read_file(tmp_path / "t.csv")
        np.testing.assert_array_equal(loaded.X, rows)
        assert loaded.feature_names == list("012345")
    pd.read_csv(tmp_path / "t.csv").to_csv(tmp_path / "t.csv", index=False)  # the index is now called "Unnamed: 0"
    with pytest.warns(UserWarning, match="row names"):
        np.testing.assert_array_equal(read_file(tmp_path / "t.csv").X, rows)


def test_a_header_that_counts_beside_a_column_of_words_is_noticed(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="counts its columns"):
        loaded = read(tmp_path, "0,1,kind\n5.1,3.5,rose\n4.9,3.0,iris\n", label="kind")
    assert (loaded.X.shape, loaded.label_names) == ((2, 2), ["iris", "rose"])


@pytest.mark.parametrize("text", ["0,1\n1,0\n", "1,2,3\n4,5,6\n", "0,2,1\n0.5,0.1,0.2\n", "0,1,0.5\n1,0,0.5\n"])
def test_a_first_row_of_small_whole_numbers_is_a_row(tmp_path: Path, text: str) -> None:
    loaded = read(tmp_path, text)
    assert len(loaded.X) == 2
    assert loaded.feature_names is None


def test_a_byte_order_mark_is_no_part_of_the_first_name(tmp_path: Path) -> None:
    assert read(tmp_path, "a,b\n1,2\n", encoding="utf-8-sig").feature_names == ["a", "b"]
    assert read(tmp_path, "1,2\n3,4\n", encoding="utf-8-sig").X.tolist() == [[1, 2], [3, 4]]


def test_a_single_column_and_a_single_row(tmp_path: Path) -> None:
    assert read(tmp_path, "1\n2\n").X.tolist() == [[1], [2]]
    assert read(tmp_path, "1,2\n").X.tolist() == [[1, 2]]


def test_row_names_are_left_out(tmp_path: Path) -> None:
    for names in ("0 1", "cell_a cell_b"):
        first, second = names.split()
        with pytest.warns(UserWarning, match=r"first column of .* has no name; it is taken for row names and left out"):
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


@pytest.mark.parametrize(("words", "names", "known"), [("xy", ["x", "y"], [0, 1]), ("75", None, [7, 5])])
def test_rows_without_a_label_are_kept(words: str, names: list[str] | None, known: list[int], tmp_path: Path) -> None:
    found = read(tmp_path, f"a,y\n1,{words[0]}\n2,\n3,{words[1]}\n4,NA\n", label="y")
    assert found.y.tolist() == [known[0], UNLABELED, known[1], UNLABELED]
    assert found.label_names == names


def test_labels_alone_are_no_table(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no column besides the labels"):
        read(tmp_path, "y\na\nb\n", label="y")


def test_every_column_that_is_not_plain_numbers_is_listed(tmp_path: Path) -> None:
    with pytest.raises(UnpreparedTableError) as caught:
        read(tmp_path, "a,kind,b,day\n1,rose,,2024-01-31\n2,iris,3,2024-02-01\n3,iris,4,\n")
    heading, *lines, remedy = str(caught.value).splitlines()
    assert heading == f"3 of 4 columns of {tmp_path / 't.csv'} are not plain numbers:"
    assert [line.split()[0] for line in lines] == ["kind", "b", "day"]
    assert "text, 2 different values ('rose', 'iris')" in lines[0]
    assert "1 of 3 missing" in lines[1]
    assert lines[1].endswith("-> median in gaps")
    assert "dates ('2024-01-31', '2024-02-01'); 1 of 3 missing" in lines[2]
    assert all(argument in remedy for argument in ("prepare=True", "drop=", "columns=", "label="))


def test_columns_without_a_header_are_counted(tmp_path: Path) -> None:
    with pytest.raises(UnpreparedTableError, match=r"\n  column 3  text, one value \('setosa'\)"):
        read(tmp_path, "5.1,3.5,setosa\n4.9,3.0,setosa\n")


def test_a_long_list_of_columns_is_cut(tmp_path: Path) -> None:
    names = ",".join(f"c{i}" for i in range(40))
    with pytest.raises(UnpreparedTableError) as caught:
        read(tmp_path, f"{names}\n" + ",".join("x" * 40) + "\n")
    assert len(str(caught.value).splitlines()) == 18
    assert "  and 25 more" in str(caught.value)


@pytest.mark.parametrize("cell", ["", "NA", "?", "null", "nan"])
def test_missing_values_are_counted(tmp_path: Path, cell: str) -> None:
    with pytest.raises(UnpreparedTableError, match=r"b  1 of 3 missing  -> median in gaps"):
        read(tmp_path, f"a,b\n1,2\n3,{cell}\n5,6\n")


def test_values_too_large_are_placed(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"float32 cannot hold in row 1, column 'a'"):
        read(tmp_path, "a,b\n1e60,2\n3,4\n")


def test_columns_are_kept_and_left_out_by_name(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('a,kind,"b, c",d\n1,x,2,3\n4,y,5,6\n')
    path = tmp_path / "t.csv"
    assert read_file(path, columns="d,a").X.tolist() == [[3, 1], [6, 4]]
    assert read_file(path, columns=["b, c"]).X.tolist() == [[2], [5]]
    assert read_file(path, drop="kind").feature_names == ["a", "b, c", "d"]
    assert read_file(path, drop="d", label="kind").X.tolist() == [[1, 2], [4, 5]]
    with pytest.raises(DataError, match=r"no column 'knd', which drop= names\. Did you mean 'kind'\?"):
        read_file(path, drop="knd")
    with pytest.raises(DataError, match="no column left"):
        read_file(path, columns="kind", drop="kind")


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


def test_decimal_commas_are_read_when_asked(tmp_path: Path) -> None:
    text = "a;b;c\n1,5;2;1.500\n2,5;3;900\n"
    with pytest.raises(UnpreparedTableError, match=r"a  numbers written as text \('1,5', '2,5'\)"):
        read(tmp_path, text)
    prepared = read_file(tmp_path / "t.csv", prepare=True)
    assert prepared.X.tolist() == [[1.5, 2, 1500], [2.5, 3, 900]]  # a point beside decimal commas groups thousands
    assert read(tmp_path, "1,5;2,5\n3,5;4,5\n", prepare=True).X.tolist() == [[1.5, 2.5], [3.5, 4.5]]


def test_a_point_for_thousands_is_one_in_new_files_too(tmp_path: Path) -> None:
    vectorizer = TableVectorizer()
    read(tmp_path, "a;b\n1,5;1.500\n2,5;900\n", prepare=vectorizer)
    selection = Selection(known=vectorizer.needed, as_text=vectorizer.spelled)
    (tmp_path / "new.csv").write_text("b;a\n1.700;3\n")  # without a decimal comma that would give it away
    assert read_selected(tmp_path / "new.csv", selection, vectorizer=vectorizer).X.tolist() == [[3, 1700]]


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-8", "utf-8-sig"])
def test_files_of_other_encodings_are_read(tmp_path: Path, encoding: str) -> None:
    loaded = read(tmp_path, "höhe;b\n1;2\n3;4\n", encoding=encoding)
    assert loaded.feature_names == ["höhe", "b"]
    assert loaded.X.tolist() == [[1, 2], [3, 4]]


def test_a_workbook_under_a_false_name_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"PK\x03\x04 and so on")
    with pytest.raises(DataError, match="is not text; save it as CSV"):
        read_file(tmp_path / "t.csv")


@pytest.mark.parametrize(
    "text",
    ["a;b;\n1;2;\n3;4;\n", "a;b\n1;2;\n3;4;\n", "a;b\n1;2\n3;4\n;\n;\n", "a;b\n1;2\n3;4\n\n  \n"],
    ids=["separators-at-the-end", "of-rows-only", "empty-rows", "blank-lines"],
)
def test_what_spreadsheets_leave_behind_is_left_out(tmp_path: Path, text: str) -> None:
    loaded = read(tmp_path, text)
    assert loaded.feature_names == ["a", "b"]
    assert loaded.X.tolist() == [[1, 2], [3, 4]]


def test_a_separator_inside_a_cell_does_not_mislead(tmp_path: Path) -> None:
    loaded = read(tmp_path, 'note,a,b\n"x; y",1,2\n"z",3,4\n', drop="note")
    assert loaded.X.tolist() == [[1, 2], [3, 4]]
    assert read(tmp_path, "a|b\n1|2\n3|4\n").feature_names == ["a", "b"]


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
