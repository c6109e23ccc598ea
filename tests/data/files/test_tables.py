"""Tables by column, and lines of text or JSON."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from fewhot.core.errors import DataError
from fewhot.data import read_file, read_texts, write_matrix


def parquet(folder: Path, **columns: object) -> Path:
    pl.DataFrame(columns).write_parquet(folder / "t.parquet")
    return folder / "t.parquet"


def jsonl(folder: Path, *records: object) -> Path:
    (folder / "t.jsonl").write_text("\n".join(json.dumps(record) for record in records), encoding="utf-8")
    return folder / "t.jsonl"


def test_parquet_gives_numbers_names_and_labels(tmp_path: Path) -> None:
    path = parquet(tmp_path, a=[1, 2], flag=[True, False], b=[0.5, 1.5], kind=["x", "w"])
    loaded = read_file(path, label="kind")
    assert loaded.X.tolist() == [[1, 1, 0.5], [2, 0, 1.5]]
    assert loaded.X.dtype == np.float32
    assert loaded.feature_names == ["a", "flag", "b"]
    assert (loaded.y.tolist(), loaded.label_names) == ([1, 0], ["w", "x"])


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (["x", "w"], r"odd  text, 2 different values \('x', 'w'\)"),
        ([1, None], "odd  1 of 2 missing"),
        ([None, None], "odd  2 of 2 missing"),
        ([datetime.date(2020, 1, 1)] * 2, "odd  dates"),
        ([[1.0], [2.0]], r"odd  text, 2 different values \('\[1\.\]', '\[2\.\]'\)"),
    ],
    ids=["text", "null", "nulls", "dates", "lists"],
)
def test_a_parquet_column_that_holds_no_numbers_is_named(tmp_path: Path, column: list, words: str) -> None:
    with pytest.raises(DataError, match=words):
        read_file(parquet(tmp_path, a=[1, 2], odd=column))


def test_pyarrow_stands_in_for_polars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    path = parquet(tmp_path, a=[1, 2], flag=[True, False], kind=["x", "w"])
    monkeypatch.setattr("fewhot.data.files.parquet.parquet_library", lambda: "pyarrow")
    loaded = read_file(path, label="kind")
    assert loaded.X.tolist() == [[1, 1], [2, 0]]
    write_matrix(path, loaded.X, names=["a", "flag"])
    assert read_file(path).feature_names == ["a", "flag"]


def test_parquet_without_rows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="has 0 rows and 1 columns"):
        read_file(parquet(tmp_path, a=[]))


def test_objects_of_numbers_are_a_table(tmp_path: Path) -> None:
    loaded = read_file(jsonl(tmp_path, {"a": 1, "b": 0.5, "y": "u"}, {"y": "v", "b": 2, "a": True}), label="y")
    assert loaded.X.tolist() == [[1, 0.5], [1, 2]]
    assert loaded.feature_names == ["a", "b"]
    assert loaded.label_names == ["u", "v"]


@pytest.mark.parametrize(
    ("records", "words"),
    [
        ([{"a": 1}, {"b": 1}], r"a  1 of 2 missing .*\n  b  1 of 2 missing"),
        ([{"a": 1}, {"a": "x"}], r"a  text, 2 different values \('1', 'x'\)"),
        ([{"a": 1}, {"a": None}], "a  1 of 2 missing"),
        ([{"a": [1, 2]}], r"a  text, one value \('\[1, 2\]'\)"),
        ([{}], "has no field of numbers"),
        ([[1, 2]], r"^Line 1 of .* is no JSON object"),
    ],
)
def test_objects_that_are_no_table_are_placed(tmp_path: Path, records: list, words: str) -> None:
    with pytest.raises(DataError, match=words):
        read_file(jsonl(tmp_path, *records))


def test_texts_can_be_read(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("größe eins\n\n zwei \n", encoding="utf-8")
    assert read_texts(tmp_path / "t.txt") == ["größe eins", " zwei "]
    assert read_texts(jsonl(tmp_path, {"text": "few", "id": 1}, {"text": "hot"})) == ["few", "hot"]


def test_an_object_without_text_is_placed(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r'^Object 2 of .* has no field "text"'):
        read_texts(jsonl(tmp_path, {"text": "few"}, {"id": 2}))
