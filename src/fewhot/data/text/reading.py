"""Texts from files, one at a time: .txt, .jsonl, .csv and .tsv, compressed or not."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path

from fewhot.core.errors import DataError
from fewhot.data.lines import lines_of

_COMPRESSED = (".gz", ".bz2", ".xz")
_SEPARATORS = {".csv": ",", ".tsv": "\t"}
ENDINGS = (".txt", ".jsonl", *_SEPARATORS)


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
    ending = _ending(path)
    lines = _without_mark(lines_of(path, encoding))
    if ending == ".txt":
        texts = (line for _, line in lines)
    elif ending == ".jsonl":
        texts = _of_objects(lines, path, column)
    else:
        texts = _of_table(lines, path, column, _SEPARATORS[ending])
    return _at_least_one(texts, path)


def csv_rows(path: Path, separator: str = ",", encoding: str = "utf-8") -> Iterator[tuple[int, list[str]]]:
    """Go through the rows of a table as text, each with the number of its last line; a cell may span lines."""
    return _rows(_without_mark(lines_of(path, encoding)), path, separator)


def _ending(path: Path) -> str:
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


def _of_objects(lines: Iterator[tuple[int, str]], path: Path, column: str) -> Iterator[str]:
    for number, line in lines:
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except ValueError as error:
            raise DataError(f"Line {number} of {path} is not JSON; write one object a line.") from error
        text = record.get(column) if isinstance(record, dict) else None
        if not isinstance(text, str):
            raise DataError(
                f"Line {number} of {path} has no field {column!r} that is a string; give every object one, or name "
                f"another by column=."
            )
        yield text


def _of_table(lines: Iterator[tuple[int, str]], path: Path, column: str, separator: str) -> Iterator[str]:
    rows = _rows(lines, path, separator)
    _, header = next(rows, (0, [column]))
    if column not in header:
        raise DataError(
            f"{path} has no column {column!r}; its first line has {', '.join(map(repr, header))}: name one by column=."
        )
    place = header.index(column)
    for number, row in rows:
        if len(row) != len(header):
            raise DataError(
                f"Line {number} of {path} has {len(row)} cells where the first line has {len(header)}; write it again, "
                f"with quotation marks around texts that hold the separator."
            )
        yield row[place]


def _rows(lines: Iterator[tuple[int, str]], path: Path, separator: str) -> Iterator[tuple[int, list[str]]]:
    table = csv.reader((f"{line}\n" for _, line in lines), delimiter=separator, strict=True)
    try:
        yield from ((table.line_num, row) for row in table if row)
    except csv.Error as error:
        raise DataError(
            f"Line {table.line_num} of {path} cannot be read as a table ({error}); write it again, with quotation "
            f"marks around texts that hold the separator."
        ) from error


def _at_least_one(texts: Iterator[str], path: Path) -> Iterator[str]:
    first = next(texts, None)
    if first is None:
        raise DataError(f"{path} has no texts; give a file with at least one.")
    yield first
    yield from texts
