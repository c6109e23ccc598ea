"""Texts: .txt, one a line, and a column of .jsonl, .csv or .tsv; objects of numbers are a table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fewhot.core.errors import DataError
from fewhot.data.files.selection import Selection, label_index
from fewhot.data.files.table import RawTable, Table, encode_labels
from fewhot.data.loaded import as_strings
from fewhot.data.tables.columns import RawColumns, column_of
from fewhot.data.text.reading import is_lines, stream_records, stream_texts, text_ending


def read_texts(path: str | Path) -> list[str]:
    r"""Return the texts of a .txt file (one a line) or of a .jsonl file (the field "text" of every object).

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "two.txt"
    ...     _ = path.write_text("few hot\nmany cold\n")
    ...     read_texts(path)
    ['few hot', 'many cold']
    """
    path = Path(path)
    if path.suffix.lower() != ".jsonl":
        return [line for _, line in _lines(path)]
    texts = [record.get("text") for record in _records(path)]
    missing = next((i for i, text in enumerate(texts) if not isinstance(text, str)), None)
    if missing is not None:
        raise DataError(f'Object {missing + 1} of {path} has no field "text" that is a string; give every object one.')
    return [text for text in texts if isinstance(text, str)]


def read_text_rows(path: Path, column: str | None = None, label: str | int | None = None) -> Table:
    """Read rows that are texts: the lines of a .txt file, or a column of a .jsonl, .csv or .tsv, compressed or not.

    Parameters
    ----------
    path
        The file, in UTF-8.
    column
        The column of texts; None for a .txt file, which has no columns.
    label
        The column of labels, whole numbers or words.
    """
    if is_lines(path):
        return read_txt(path, label, column)
    if column is None:
        raise DataError(f"{path} has columns, and none was named for the texts; name one by text=.")
    if column == label:
        raise DataError(f"text and label are both {column!r}; name a column of labels of its own, or leave label out.")
    texts: list[str] = []
    labels: list[Any] = []
    for number, record in stream_records(path, column):
        texts.append(record[column])
        if label is not None:
            labels.append(_label(record, label, number, path))
    X = as_strings(texts)
    if label is None:
        return Table(X=X)
    y, label_names = encode_labels(_of_one_kind(labels), path, len(X))
    return Table(X=X, y=y, label_names=label_names)


def read_txt(path: Path, label: str | int | None = None, column: str | None = None) -> Table:
    """Read texts, one a line; an empty line is a text without words."""
    for name, given, instead in (
        ("text", column, "leave text= out"),
        ("label", label, "give a .csv, .tsv or .jsonl file, and name its column of texts by text="),
    ):
        if given is not None:
            raise DataError(
                f"{name} is {given!r}, and {path} has no columns, for each of its lines is a text; {instead}."
            )
    return Table(X=as_strings(list(stream_texts(path))))


def read_jsonl(path: Path, selection: Selection) -> RawTable:
    """Read the fields of objects, a column a field; a field that an object lacks is missing there."""
    records = _records(path)
    names = list(dict.fromkeys(name for record in records for name in record))
    if not names:
        raise DataError(f"{path} has no field of numbers; give every object at least one.")
    keep, label = selection.places(names, path)
    kept = [names[place] for place in keep]
    cells = [column_of([record.get(name) for record in records], f"field {name!r} of {path}") for name in kept]
    labels = None if label is None else [record.get(names[label]) for record in records]
    return RawTable(raw=RawColumns(names=kept, cells=cells), labels=labels)


def _label(record: dict[str, Any], label: str | int, number: int, path: Path) -> Any:
    """Return the label in a row of a table, or in an object; the complaint about an object says in which line it is."""
    if label in record:
        return record[str(label)]
    if text_ending(path) == ".jsonl":
        raise DataError(
            f"Line {number} of {path} has no field {str(label)!r} for the label; give every object one, or name "
            f"another by label=."
        )
    place = label_index(label, list(record), path)
    return list(record.values())[place or 0]


def _of_one_kind(values: list[Any]) -> list[Any]:
    """Return labels that numpy takes for one kind: all numbers, or all words."""
    numbers = all(isinstance(value, int | float) for value in values)
    return values if numbers else [None if value is None else str(value) for value in values]


def _lines(path: Path) -> list[tuple[int, str]]:
    """Return the lines that hold something, with their numbers."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            lines = [(i, line.rstrip("\n")) for i, line in enumerate(file, start=1) if line.strip()]
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not text in UTF-8; save it in UTF-8.") from error
    if not lines:
        raise DataError(f"{path} has no line that holds something; give at least one.")
    return lines


def _records(path: Path) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = []
    for i, line in _lines(path):
        try:
            record = json.loads(line)
        except ValueError as error:
            raise DataError(f"Line {i} of {path} is not JSON; write one object a line, or it is cut off.") from error
        if not isinstance(record, dict):
            raise DataError(f"Line {i} of {path} is no JSON object; write one object with named fields a line.")
        records.append(record)
    return records
