"""Texts from files, one at a time: .txt, .jsonl, .csv and .tsv, compressed or not."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from fewhot.core.errors import DataError
from fewhot.data.lines import lines_of

_COMPRESSED = (".gz", ".bz2", ".xz")
_SEPARATORS = {".csv": ",", ".tsv": "\t"}
_OTHER_SEPARATORS = (";", "\t")
_LARGEST_CELL = 2**31 - 1
ENDINGS = (".txt", ".jsonl", *_SEPARATORS)

T = TypeVar("T")


def stream_texts(path: str | Path, column: str = "text", *, encoding: str = "utf-8") -> Iterator[str]:
    r"""Go through the texts of a file; nothing but the one at hand is kept.

    Parameters
    ----------
    path
        A file that ends in .txt (every line is a text, an empty one too, so that labels beside them keep their
        places), .jsonl (an object a line), .csv or .tsv (with a header line); or in one of these and .gz, .bz2 or .xz.
    column
        The field of the objects, or the column of the table, that holds the texts.
    encoding
        How the file's letters are written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "reviews.csv"
    ...     _ = path.write_text('stars,review\n5,"few, but hot"\n1,cold\n')
    ...     list(stream_texts(path, "review"))
    ['few, but hot', 'cold']
    """
    path = Path(path).expanduser()
    ending = text_ending(path)
    if ending == ".txt":
        return _at_least_one((line for _, line in _without_mark(lines_of(path, encoding))), path)
    return (record[column] for _, record in stream_records(path, column, encoding=encoding, named="column"))


def stream_records(
    path: Path, column: str, *, encoding: str = "utf-8", named: str = "text"
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Go through the rows of a .jsonl, .csv or .tsv file, each by its columns' names and with the number of its line.

    In every row ``column`` is a text; ``named`` is the argument by which a complaint asks for that column.
    """
    ending = text_ending(path)
    lines = _without_mark(lines_of(path, encoding))
    if ending == ".jsonl":
        return _at_least_one(_of_objects(lines, path, column, named), path)
    first = next(lines, None)
    separator = _separator(ending, "" if first is None else first[1], column)
    lines = lines if first is None else chain([first], lines)
    return _at_least_one(_of_table(lines, path, column, separator, named), path)


def csv_rows(path: Path, separator: str = ",", encoding: str = "utf-8") -> Iterator[tuple[int, list[str]]]:
    """Go through the rows of a table as text, each with the number of its last line; a cell may span lines."""
    return _rows(_without_mark(lines_of(path, encoding)), path, separator)


def text_ending(path: Path) -> str:
    """Return the ending of a file of texts, that of its compression left out; other files are refused."""
    name = path.with_suffix("") if path.suffix.lower() in _COMPRESSED else path
    if name.suffix.lower() not in ENDINGS:
        raise DataError(
            f"{path} is no file of texts by its name; give one that ends in {', '.join(ENDINGS)}, or in one of them "
            f"and {', '.join(_COMPRESSED)}."
        )
    return name.suffix.lower()


def _without_mark(lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Take the byte order mark off the first line."""
    return ((number, line.removeprefix("\ufeff") if number == 1 else line) for number, line in lines)


def is_lines(path: Path) -> bool:
    """Say whether a file has a text a line, by its name, so that it is texts and nothing else.

    >>> is_lines(Path("reviews.TXT.gz")), is_lines(Path("reviews.csv"))
    (True, False)
    """
    name = path.with_suffix("") if path.suffix.lower() in _COMPRESSED else path
    return name.suffix.lower() == ".txt"


def _of_objects(
    lines: Iterator[tuple[int, str]], path: Path, column: str, named: str
) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in lines:
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except ValueError as error:
            raise DataError(f"Line {number} of {path} is not JSON; write one object a line.") from error
        if not isinstance(record, dict) or not isinstance(record.get(column), str):
            raise DataError(
                f"Line {number} of {path} has no field {column!r} that is a string; give every object one, or name "
                f"another by {named}=."
            )
        yield number, record


def _of_table(
    lines: Iterator[tuple[int, str]], path: Path, column: str, separator: str, named: str
) -> Iterator[tuple[int, dict[str, Any]]]:
    rows = _rows(lines, path, separator)
    _, header = next(rows, (0, [column]))
    if header.count(column) > 1:
        raise DataError(f"{path} has {header.count(column)} columns called {column!r}; give each its own name.")
    if column not in header:
        raise DataError(
            f"{path} has no column {column!r}; its first line has {', '.join(map(repr, header))}: name one by {named}=."
        )
    for number, row in rows:
        if len(row) != len(header):
            raise DataError(
                f"Line {number} of {path} has {len(row)} cells where the first line has {len(header)}; write it again, "
                f"with quotation marks around texts that hold the separator."
            )
        yield number, dict(zip(header, row, strict=True))


def _separator(ending: str, header: str, column: str) -> str:
    """Return what separates cells: what the ending says, or in .csv what makes the first line hold the column."""
    usual = _SEPARATORS[ending]
    others = [mark for mark in _OTHER_SEPARATORS if ending == ".csv" and column not in _cells(header, usual)]
    return next((mark for mark in others if column in _cells(header, mark)), usual)


def _cells(line: str, separator: str) -> list[str]:
    return next(csv.reader([line], delimiter=separator), [])


def _rows(lines: Iterator[tuple[int, str]], path: Path, separator: str) -> Iterator[tuple[int, list[str]]]:
    table = csv.reader((f"{line}\n" for _, line in lines), delimiter=separator, strict=True)
    try:
        while (row := _next_row(table)) is not None:
            if row:
                yield table.line_num, row
    except csv.Error as error:
        raise DataError(
            f"Line {table.line_num} of {path} cannot be read as a table ({error}); write it again, with quotation "
            f"marks around texts that hold the separator."
        ) from error


def _next_row(table: Iterator[list[str]]) -> list[str] | None:
    """Return the next row, whose cells may be of any length: the module's limit is lifted for so long."""
    usual = csv.field_size_limit(_LARGEST_CELL)
    try:
        return next(table, None)
    finally:
        csv.field_size_limit(usual)


def _at_least_one(texts: Iterator[T], path: Path) -> Iterator[T]:
    first = next(texts, None)
    if first is None:
        raise DataError(f"{path} has no texts; give a file with at least one.")
    yield first
    yield from texts
