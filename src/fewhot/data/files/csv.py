"""Tables as text: .csv, with or without a header line, separated by commas, semicolons or tabs."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TextIO

import numpy as np

from fewhot.core.errors import DataError
from fewhot.data.files.table import (
    MISSING,
    Table,
    check_finite,
    column_words,
    encode_labels,
    label_index,
    refuse_text,
    refuse_twins,
    shortened_value,
)

_SEPARATORS = ",;\t"

Converters = dict[int | str, Callable[[str], float]]
"""What stands in for the cells of some columns, by their place."""


def read_csv(path: Path, label: str | int | None = None) -> Table:
    """Read a table of numbers.

    The first line is a header when its cells are no numbers where the second line's are. A first column without a name
    in the header holds row names, as pandas and R write them, and is left out.

    Parameters
    ----------
    path
        The file, in UTF-8.
    label
        The label column, by name or by place from 0; its values may be words.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return _read(file, path, label)
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not text in UTF-8; save it as CSV in UTF-8.") from error
    except csv.Error as error:
        raise DataError(f"{path} cannot be read as CSV ({error}); write it again.") from error


def _read(file: TextIO, path: Path, label: str | int | None) -> Table:
    separator = _separator(file)
    rows = _rows(file, separator)
    (header_line, first), (_, second) = next(rows, (0, [])), next(rows, (0, []))
    header = _is_header(first, second)
    if header and not second:
        raise DataError(f"{path} has no rows of numbers; give at least one.")
    names = [cell.strip().removeprefix("# ") for cell in first] if header else [str(i) for i in range(len(first))]
    refuse_twins(names, path)
    place = label_index(label, names, path)
    coder = _Coder()
    converters: Converters = {} if place is None else {place: coder}
    if header and not names[0] and len(names) > 1:
        converters.setdefault(0, lambda row_name: 0.0)
    keep = [i for i in range(len(names)) if i not in converters]
    if not keep:
        raise DataError(f"{path} has no column besides the labels; give at least one column of numbers.")
    try:
        table = _numbers(path, separator, converters, skip=header_line if header else 0)
    except ValueError as error:
        _explain(file, path, separator, converters, names if header else None)
        raise DataError(f"{path} cannot be read as CSV ({error}); write it again.") from error
    if table.shape[1] != len(names):
        raise DataError(
            f"{path} has {len(names)} names in its header and {table.shape[1]} values in a row; give one name a column."
        )
    X = table if len(keep) == table.shape[1] else np.ascontiguousarray(table[:, keep])
    columns = [names[i] for i in keep] if header else None
    check_finite(X, path, columns)
    if place is None:
        return Table(X=X, feature_names=columns)
    y, label_names = encode_labels(coder.words(table[:, place]), path, len(X))
    return Table(X=X, y=y, feature_names=columns, label_names=label_names)


def _numbers(path: Path, separator: str, converters: Converters, skip: int) -> np.ndarray:
    """Read all rows at the speed of numpy's parser."""
    return np.loadtxt(
        path,
        np.float32,
        delimiter=separator,
        comments=None,
        quotechar='"',
        converters=converters or None,
        skiprows=skip,
        ndmin=2,
        encoding="utf-8-sig",
    )


def _explain(file: TextIO, path: Path, separator: str, converters: Converters, names: Sequence[str] | None) -> None:
    """Find, slowly, the first cell or row that is not as it should be, and say so."""
    rows = _rows(file, separator)
    first = next(rows)
    for line, row in rows if names is not None else itertools.chain([first], rows):
        if len(row) != len(first[1]):
            raise DataError(
                f"Line {line} of {path} has {len(row)} values where the first has {len(first[1])}; give every row the "
                f"same columns: the file may be cut off."
            )
        for column, cell in enumerate(row):
            if column in converters or _is_number(cell):
                continue
            where = column_words(column, names)
            if cell.strip().lower() in MISSING:
                raise DataError(
                    f"{path} has a missing value ({shortened_value(cell)}) in line {line}, {where}; fill or drop "
                    f"missing values first."
                )
            refuse_text(path, where, cell)


class _Coder:
    """Stands in for the words of a column: the k-th different word becomes the number k."""

    def __init__(self) -> None:
        self.codes: dict[str, float] = {}

    def __call__(self, word: str) -> float:
        return self.codes.setdefault(word.strip(), float(len(self.codes)))

    def words(self, codes: np.ndarray) -> np.ndarray:
        return np.array(list(self.codes), dtype=object)[codes.astype(np.int64)]


def _rows(file: TextIO, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Go through the rows from the beginning, blank lines left out, with the number of the line each ends on."""
    file.seek(0)
    reader = csv.reader(file, delimiter=separator)
    return ((reader.line_num, row) for row in reader if row)


def _separator(file: TextIO) -> str:
    first = next((line for line in file if line.strip()), "")
    return max(_SEPARATORS, key=first.count)


def _is_header(first: list[str], second: list[str]) -> bool:
    words = [not _is_number(cell) and cell.strip().lower() not in MISSING - {""} for cell in first]
    if len(first) != len(second):
        return all(words)
    return all(words) or any(word and _is_number(below) for word, below in zip(words, second, strict=True))


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell
