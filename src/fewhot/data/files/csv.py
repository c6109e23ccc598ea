"""Tables as text: .csv and .tsv, with or without a header line, separated by commas, semicolons, tabs or bars."""

from __future__ import annotations

import csv
import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fewhot.core.errors import DataError
from fewhot.core.warning import warn_caller
from fewhot.data.files.selection import Selection
from fewhot.data.files.table import RawTable, refuse_twins
from fewhot.data.lines import lines_of
from fewhot.data.tables.cells import MISSING, Spelling
from fewhot.data.tables.columns import RawColumns, as_words
from fewhot.data.tables.plans import spelling_of
from fewhot.data.text.reading import csv_rows

_SEPARATORS = "\t;|,"
_LOOKED_AT = 50
_CHUNK = 5_000
_READ_AT_ONCE = 1 << 24
_NO_NAME = ("", "Unnamed: 0")
"""What the column of row names is called in a header: nothing, and after pandas has read and written it again."""
_WHOLE = re.compile(r"\s*[+-]?\d+\s*")
_LEAST_COUNTED = {0: 3, 1: 5}
"""How long a count from 0 or 1 is at least for a header above whole numbers, which a row of data hardly is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layout:
    """How a file is written, and what its columns are called."""

    path: Path
    encoding: str
    separator: str
    names: list[str]
    has_header: bool
    header_line: int

    def rows(self) -> Iterator[list[str]]:
        """Go through the rows below the header, a cell a column; rows of empty cells at the end are left out."""
        empty: list[list[str]] = []
        for line, row in itertools.islice(self._all_rows(), int(self.has_header), None):
            if not any(cell.strip() for cell in row):
                empty.append([""] * len(self.names))
                continue
            cells = row[:-1] if len(row) == len(self.names) + 1 and not row[-1].strip() else row
            if len(cells) != len(self.names):
                raise DataError(
                    f"Line {line} of {self.path} has {len(cells)} values where the first has {len(self.names)}; give "
                    f"every row the same columns: the file may be cut off."
                )
            yield from empty
            empty.clear()
            yield cells

    def _all_rows(self) -> Iterator[tuple[int, list[str]]]:
        rows = csv_rows(self.path, self.separator, self.encoding)
        return itertools.dropwhile(lambda numbered: not any(cell.strip() for cell in numbered[1]), rows)


def read_csv(path: Path, selection: Selection) -> RawTable:
    """Read the columns of a table, those of plain numbers as such and the others as text.

    The first line is a header when its cells are no numbers where the second line's are, or when they count the
    columns, as the header of a frame without names does. A first column without a name in the header holds row names,
    as pandas and R write them, and is left out.
    """
    layout = _layout(path)
    keep, label = selection.places(layout.names, path, has_names=layout.has_header)
    if selection.columns is None and 0 in keep and _names_rows(layout):
        keep.remove(0)
        warn_caller(f"The first column of {path} has no name; it is taken for row names and left out.", UserWarning)
    if not keep:
        raise DataError(f"{path} has no column besides the names of its rows; give at least one column of numbers.")
    names = [layout.names[place] for place in keep]
    try:
        if set(names) & set(selection.as_text):
            raise ValueError("some are to be read as text")
        matrix, labels = _plain_numbers(layout, keep, label)
        raw = RawColumns.of_matrix(matrix, names, has_names=layout.has_header)
    except (ValueError, csv.Error):  # something is no plain number
        as_text = {layout.names.index(name) for name in selection.as_text if name in names}
        cells, labels = _cells(layout, keep, label, as_text)
        hint = _hint(layout, cells)
        raw = _without_empty(RawColumns(names=names, cells=cells, has_names=layout.has_header, decimal=hint))
    return RawTable(raw=raw, labels=labels)


def _layout(path: Path) -> _Layout:
    encoding = _encoding(path)
    separator = _separator(path, encoding)
    rows = _filled_rows(path, separator, encoding)
    (line, first), (_, second) = next(rows, (0, [])), next(rows, (0, []))
    has_header = _is_header(first, second)
    if not has_header and _counts_columns(first, second):
        has_header = True
        warn_caller(f"The first line of {path} counts its columns, and is taken as their names.", UserWarning)
    if has_header and not second:
        raise DataError(f"{path} has no rows of numbers; give at least one.")
    if not first:
        raise DataError(f"{path} has no line that holds something; give at least one.")
    if has_header and len(second) != len(first) and any(cell.strip() for cell in second[len(first) :]):
        raise DataError(
            f"{path} has {len(first)} names in its header and {len(second)} values in a row; give one name a column."
        )
    names = [cell.strip().removeprefix("# ") for cell in first] if has_header else [str(i) for i in range(len(first))]
    refuse_twins(names, path)
    return _Layout(
        path=path, encoding=encoding, separator=separator, names=names, has_header=has_header, header_line=line
    )


def _names_rows(layout: _Layout) -> bool:
    return layout.has_header and layout.names[0] in _NO_NAME and len(layout.names) > 1


def _plain_numbers(layout: _Layout, keep: list[int], label: int | None) -> tuple[np.ndarray, np.ndarray | None]:
    """Read all rows at the speed of numpy's parser; any cell that is no number ends it."""
    coder, wanted = _Coder(), keep if label is None else [*keep, label]
    all_wanted = set(wanted) == set(range(len(layout.names)))
    table = np.loadtxt(
        layout.path,
        np.float32,
        delimiter=layout.separator,
        comments=None,
        quotechar='"',
        converters=None if label is None else {label: coder},
        usecols=None if all_wanted else wanted,
        skiprows=layout.header_line if layout.has_header else 0,
        ndmin=2,
        encoding=layout.encoding,
    )
    if all_wanted and table.shape[1] != len(layout.names):
        raise ValueError(f"{table.shape[1]} columns")
    if not all_wanted:
        for _ in layout.rows():  # numpy overlooks rows of another length where it reads only some columns
            pass
    numbers = table[:, keep] if all_wanted and wanted != list(range(len(wanted))) else table[:, : len(keep)]
    places = table[:, label if all_wanted else -1] if label is not None else None
    return np.ascontiguousarray(numbers), None if places is None else coder.words(places)


def _cells(
    layout: _Layout, keep: list[int], label: int | None, as_text: set[int]
) -> tuple[list[np.ndarray], np.ndarray | None]:
    """Return columns one by one: numbers with NaN for gaps, or else words."""
    numbers = _numbers(layout, [place for place in keep if place not in as_text])
    texts = {place: as_words(words) for place, words in _words(layout, [p for p in keep if p not in numbers]).items()}
    if _has_decimal_commas(texts.values()):  # then 1.234 is more than a thousand
        again = _words(layout, list(numbers))
        texts |= {place: as_words(words) for place, words in again.items() if any("." in word for word in words)}
    labels = None if label is None else np.array(_words(layout, [label])[label], dtype=object)
    return [texts[place] if place in texts else numbers[place] for place in keep], labels


def _numbers(layout: _Layout, keep: list[int]) -> dict[int, np.ndarray]:
    """Return the columns of plain numbers and gaps, by place."""
    parts: dict[int, list[np.ndarray]] = {place: [] for place in keep}
    for rows in _chunks(layout):
        for place in list(parts):
            values = _plain([row[place] for row in rows])
            if values is None:
                del parts[place]
            else:
                parts[place].append(values)
    return {place: np.concatenate(found) for place, found in parts.items() if found}


def _words(layout: _Layout, places: list[int]) -> dict[int, list[str]]:
    """Return columns as text, equal cells as one object."""
    if not places:
        return {}
    known: dict[str, str] = {}
    words: dict[int, list[str]] = {place: [] for place in places}
    for rows in _chunks(layout):
        for place in places:
            words[place] += [known.setdefault(row[place], row[place]) for row in rows]
    return words


def _chunks(layout: _Layout) -> Iterator[list[list[str]]]:
    rows = layout.rows()
    while chunk := list(itertools.islice(rows, _CHUNK)):
        yield chunk


def _plain(cells: Sequence[str]) -> np.ndarray | None:
    """Return cells as numbers, NaN for gaps; None where one is neither."""
    try:
        values = [np.nan if cell.strip().lower() in MISSING else _float(cell) for cell in cells]
    except ValueError:
        return None
    return np.array(values, dtype=np.float64)


def _hint(layout: _Layout, cells: Sequence[np.ndarray]) -> str | None:
    """Return the decimal mark of columns that would do with either: that of the others, or what separators suggest."""
    if layout.separator != ",":
        return "," if layout.separator == ";" or _has_decimal_commas(cells) else None
    return None


def _has_decimal_commas(columns: Any) -> bool:
    """Say whether a column reads as numbers with decimal commas and not with points."""
    return any(column.dtype.kind == "O" and spelling_of(column) == Spelling("number", ",") for column in columns)


def _without_empty(raw: RawColumns) -> RawColumns:
    """Leave out columns without a name and without a value, as separators at the ends of lines make them."""
    keep = [i for i, (name, cells) in enumerate(zip(raw.names, raw.cells, strict=True)) if name or not _is_empty(cells)]
    names = [raw.names[i] or f"unnamed_{i}" for i in keep]
    return RawColumns(names=names, cells=[raw.cells[i] for i in keep], has_names=raw.has_names, decimal=raw.decimal)


def _is_empty(cells: np.ndarray) -> bool:
    return bool(np.isnan(cells).all()) if cells.dtype.kind == "f" else all(cell is None for cell in cells)


class _Coder:
    """Stands in for the words of a column: the k-th different word becomes the number k."""

    def __init__(self) -> None:
        self.codes: dict[str, float] = {}

    def __call__(self, word: str) -> float:
        return self.codes.setdefault(word.strip(), float(len(self.codes)))

    def words(self, codes: np.ndarray) -> np.ndarray:
        return np.array(list(self.codes), dtype=object)[codes.astype(np.int64)]


def _filled_rows(path: Path, separator: str, encoding: str) -> Iterator[tuple[int, list[str]]]:
    """Go through the rows that hold something, with the number of the line each ends on."""
    rows = csv_rows(path, separator, encoding)
    return ((line, row) for line, row in rows if any(cell.strip() for cell in row))


def _separator(path: Path, encoding: str) -> str:
    """Return what cuts the first lines into rows of one length; a comma comes last, as it may stand in numbers."""
    for separator in _SEPARATORS:
        rows = itertools.islice(_filled_rows(path, separator, encoding), _LOOKED_AT)
        try:
            lengths = {len(row) for _, row in rows}
        except DataError:
            continue
        if len(lengths) == 1 and lengths != {1}:
            return separator
    first = next((line for _, line in lines_of(path, encoding) if line.strip()), "")
    return max(reversed(_SEPARATORS), key=first.count)


def _encoding(path: Path) -> str:
    """Return how a file's letters are written: UTF-8 or UTF-16, else the one-byte letters of Windows, as Excel has."""
    with path.open("rb") as file:
        start = file.read(_READ_AT_ONCE)
        if start.startswith((b"\xff\xfe", b"\xfe\xff")):
            return "utf-16"
        if b"\0" in start or start.startswith(b"PK\x03\x04"):
            raise DataError(f"{path} is not text; save it as CSV in UTF-8, such as by 'Save as' in a spreadsheet.")
        file.seek(0)
        try:
            for _ in (line.decode("utf-8") for line in file):
                pass
        except UnicodeDecodeError:
            return "cp1252" if _reads(path, "cp1252") else "latin-1"
    return "utf-8-sig"


def _reads(path: Path, encoding: str) -> bool:
    try:
        with path.open(encoding=encoding) as file:
            return all(True for _ in file)
    except UnicodeDecodeError:
        return False


def _is_header(first: list[str], second: list[str]) -> bool:
    words = [not _is_number(cell) and cell.strip().lower() not in MISSING - {""} for cell in first]
    if len(first) != len(second):
        return all(words)
    return all(words) or any(word and _is_number(below) for word, below in zip(words, second, strict=True))


def _counts_columns(first: list[str], second: list[str]) -> bool:
    """Say whether the numbers of the first line count from 0 or 1, as pandas names the columns of a matrix."""
    places = [place for place, cell in enumerate(first) if _is_number(cell)]
    if len(first) != len(second) or not all(_WHOLE.fullmatch(first[place]) for place in places):
        return False
    counted = [int(first[place]) for place in places]
    if len(counted) < 2 or counted[0] not in _LEAST_COUNTED or counted != [counted[0] + i for i in range(len(counted))]:
        return False
    below = [second[place] for place in places]
    has_fractions = any(_is_number(cell) and not _WHOLE.fullmatch(cell) for cell in below)
    return has_fractions or len(counted) >= _LEAST_COUNTED[counted[0]]


def _is_number(cell: str) -> bool:
    """Say whether a cell is a number, with either decimal mark."""
    try:
        _float(cell)
    except ValueError:
        word = np.array([cell], dtype=object)
        return any(not np.isnan(Spelling("number", mark).read(word)[0]) for mark in ",.")
    return True


def _float(cell: str) -> float:
    if "_" in cell:
        raise ValueError(cell)
    return float(cell)
