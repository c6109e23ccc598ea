"""Tables by column: .parquet, through whichever library is there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from fewhot.core.errors import DataError
from fewhot.data.files.selection import Selection
from fewhot.data.files.table import RawTable, refuse_twins, unreadable
from fewhot.data.tables.columns import RawColumns, column_of

Columns = dict[str, np.ndarray]


def read_parquet(path: Path, selection: Selection) -> RawTable:
    """Read the columns of a table."""
    columns = read_columns(path)
    names = list(columns)
    n_rows = len(columns[names[0]]) if names else 0
    if not n_rows:
        raise DataError(f"{path} has {n_rows} rows and {len(names)} columns; give at least one of each.")
    refuse_twins(names, path)
    keep, label = selection.places(names, path)
    cells = [column_of(columns[names[place]], f"column {names[place]!r} of {path}") for place in keep]
    raw = RawColumns(names=[names[place] for place in keep], cells=cells)
    return RawTable(raw=raw, labels=None if label is None else columns[names[label]])


def write_parquet(path: Path, X: np.ndarray, names: list[str], before: Columns) -> None:
    """Write a dense matrix, one column a unit, and the columns ``before`` it."""
    library = parquet_library()
    columns = before | {name: np.ascontiguousarray(X[:, j]) for j, name in enumerate(names)}
    if library == "polars":
        import polars

        polars.DataFrame(columns).write_parquet(path)
    elif library == "pyarrow":
        _arrow("pyarrow.parquet").write_table(_arrow("pyarrow").table(columns), path)
    else:
        raise DataError(_INSTALL.format(what=f"Writing {path}"))


def parquet_library() -> str | None:
    """Return the installed library that reads Parquet: "polars", else "pyarrow"."""
    from importlib.util import find_spec

    return next((name for name in ("polars", "pyarrow") if find_spec(name) is not None), None)


_INSTALL = "{what} needs polars or pyarrow; install one by: pip install 'fewhot[files]'."


def read_columns(path: Path) -> Columns:
    """Return the columns of a table by name."""
    library = parquet_library()
    if library is None:
        raise DataError(_INSTALL.format(what=f"Reading {path}"))
    try:
        if library == "polars":
            import polars

            return {column.name: column.to_numpy() for column in polars.read_parquet(path).iter_columns()}
        table = _arrow("pyarrow.parquet").read_table(path)
        return {name: table.column(name).to_numpy() for name in table.column_names}
    except Exception as error:
        raise unreadable(path, "a .parquet table") from error


def _arrow(module: str) -> Any:
    from importlib import import_module

    return import_module(module)
