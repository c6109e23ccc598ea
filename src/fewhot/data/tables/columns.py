"""Columns as they come out of a file or a frame, each an array of one kind: numbers, dates, or words with gaps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from fewhot.core.errors import InvalidInputError
from fewhot.data.tables.cells import is_missing

_SECONDS_A_DAY = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class RawColumns:
    """The columns of a table before they are numbers.

    Attributes
    ----------
    names
        What they are called, all different.
    cells
        An array a column, (n,): numbers with NaN for gaps; "datetime64[s]" with NaT for gaps; or objects that are
        strings, None for gaps.
    has_names
        Whether the table itself has these names; else they are places, "0", "1", ...
    decimal
        The decimal mark where a column could be read with either; None where the table gives no hint.
    matrix
        The same numbers in one piece, (n, p), where all columns are numbers of one type.
    """

    names: list[str]
    cells: list[np.ndarray]
    has_names: bool = True
    decimal: str | None = None
    matrix: np.ndarray | None = None

    @classmethod
    def of_matrix(cls, matrix: np.ndarray, names: list[str], *, has_names: bool = True) -> RawColumns:
        """Return the columns of a matrix of numbers, which is not copied."""
        cells = [matrix[:, j] for j in range(matrix.shape[1])]
        return cls(names=names, cells=cells, has_names=has_names, matrix=matrix)

    @property
    def n_rows(self) -> int:
        """How many rows."""
        return len(self.cells[0]) if self.cells else 0

    def take(self, rows: np.ndarray | slice) -> RawColumns:
        """Return some of the rows."""
        cells = [column[rows] for column in self.cells]
        return RawColumns(names=self.names, cells=cells, has_names=self.has_names, decimal=self.decimal)

    def as_matrix(self) -> np.ndarray:
        """Return columns that are all numbers as float32, (n, p)."""
        if self.matrix is not None and self.matrix.dtype == np.float32:
            return self.matrix
        with np.errstate(over="ignore"):  # what float32 cannot hold becomes infinite
            return np.stack([column.astype(np.float32) for column in self.cells], axis=1)


def raw_columns(table: Any, name: str = "X") -> RawColumns:
    """Return the columns of a frame, of a mapping from names to values, or of an array with two axes.

    >>> raw_columns({"age": [31, None], "city": ["Bonn", "n/a"]}).cells[1].tolist()
    ['Bonn', None]
    """
    if isinstance(table, RawColumns):
        return table
    if isinstance(table, Mapping):
        return _named([str(key) for key in table], list(table.values()), name)
    if hasattr(table, "columns") and hasattr(table, "dtypes"):
        return _named([str(column) for column in table.columns], [table[column] for column in table.columns], name)
    array = np.asarray(table)
    if array.ndim != 2 or 0 in array.shape:
        raise InvalidInputError(
            f"{name} has shape {array.shape}; give a frame, columns by name, or a matrix (rows, columns)."
        )
    cells = [column_of(array[:, j], f"column {j} of {name}") for j in range(array.shape[1])]
    return RawColumns(names=[f"x{j}" for j in range(len(cells))], cells=cells, has_names=False)


def _named(names: list[str], values: list[Any], where: str) -> RawColumns:
    twin = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twin is not None:
        raise InvalidInputError(f"{where} has two columns called {twin!r}; give each its own name.")
    cells = [column_of(column, f"column {name!r} of {where}") for name, column in zip(names, values, strict=True)]
    if not cells or not len(cells[0]) or len({len(column) for column in cells}) > 1:
        lengths = sorted({len(column) for column in cells})
        raise InvalidInputError(
            f"{where} has columns of {lengths or 'no'} rows; give each the same number, at least 1."
        )
    return RawColumns(names=names, cells=cells)


def column_of(values: Any, where: str) -> np.ndarray:
    """Return a column as an array of one kind; ``where`` is what an error calls it."""
    if isinstance(values, list | tuple):
        array = np.empty(len(values), dtype=object)
        array[:] = values
    else:
        array = values.to_numpy() if hasattr(values, "to_numpy") else np.asarray(values)
    if array.ndim != 1:
        raise InvalidInputError(f"{where[:1].upper()}{where[1:]} has shape {array.shape}; give one value per row.")
    if array.dtype.kind in "biuf":
        return array
    if array.dtype.kind == "M":
        return array.astype("datetime64[s]")
    if array.dtype.kind == "m":
        return array / np.timedelta64(1, "D")
    return _of_objects(array.astype(object))


def _of_objects(values: np.ndarray) -> np.ndarray:
    """Return objects as numbers, dates or strings: what all that are there have in common."""
    cells = [None if _is_gap(value) else value for value in values]
    present = [cell for cell in cells if cell is not None]
    if all(isinstance(cell, Real | Decimal | np.bool_) for cell in present):
        return np.array([np.nan if cell is None else float(cell) for cell in cells], dtype=np.float64)
    if all(isinstance(cell, date | np.datetime64) for cell in present):
        return np.array([_moment(cell) for cell in cells], dtype="datetime64[s]")
    return as_words([None if cell is None else str(cell) for cell in cells])


def as_words(cells: Sequence[str | None]) -> np.ndarray:
    """Return strings as an array of objects, with None for those that spell a missing value."""
    column = np.empty(len(cells), dtype=object)
    column[:] = [None if cell is None or is_missing(cell) else cell.strip() for cell in cells]
    return column


def _is_gap(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return (isinstance(value, float) and value != value) or (isinstance(value, str) and is_missing(value))


def _moment(cell: Any) -> np.datetime64:
    if cell is None:
        return np.datetime64("NaT")
    if isinstance(cell, datetime) and cell.tzinfo is not None:
        return np.datetime64(int(cell.timestamp()), "s")
    return np.datetime64(cell).astype("datetime64[s]")


def days_of(column: np.ndarray) -> np.ndarray:
    """Return dates as days since 1970, NaN where there is none."""
    seconds = column.astype("datetime64[s]").astype(np.int64).astype(np.float64) / _SECONDS_A_DAY
    return np.where(np.isnat(column), np.nan, seconds)
