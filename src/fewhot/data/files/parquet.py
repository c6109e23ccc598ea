"""Tables by column: .parquet, through whichever library is there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from fewhot.core.errors import DataError
from fewhot.data.files.table import Table, check_finite, encode_labels, label_index, refuse_text, unreadable

Columns = dict[str, np.ndarray]


def read_parquet(path: Path, label: str | int | None = None) -> Table:
    """Read the numeric columns of a table; every column but the label must hold numbers."""
    columns = _columns(path)
    names = list(columns)
    n_rows = len(columns[names[0]]) if names else 0
    if not n_rows:
        raise DataError(f"{path} has {n_rows} rows and {len(names)} columns; give at least one of each.")
    place = label_index(label, names, path)
    kept = [name for i, name in enumerate(names) if i != place]
    if not kept:
        raise DataError(f"{path} has no column besides the labels; give at least one column of numbers.")
    X = np.empty((n_rows, len(kept)), dtype=np.float32)
    for j, name in enumerate(kept):
        X[:, j] = _numbers(columns[name], name, path)
    check_finite(X, path, kept)
    if place is None:
        return Table(X=X, feature_names=kept)
    y, label_names = encode_labels(columns[names[place]], path, n_rows)
    return Table(X=X, y=y, feature_names=kept, label_names=label_names)


def write_parquet(path: Path, X: np.ndarray, names: list[str]) -> None:
    """Write a dense matrix, one column a unit."""
    library = parquet_library()
    columns = {name: np.ascontiguousarray(X[:, j]) for j, name in enumerate(names)}
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


def _columns(path: Path) -> Columns:
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


def _numbers(values: np.ndarray, name: str, path: Path) -> np.ndarray:
    if values.dtype.kind in "biuf":
        return values
    if values.dtype.kind in "mM":
        raise DataError(
            f"Column {name!r} of {path} holds dates or times; turn them into numbers first, such as days since a start."
        )
    present = [value for value in values if value is not None]
    if all(isinstance(value, bool | int | float) for value in present):
        return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    if isinstance(present[0], str):
        refuse_text(path, f"column {name!r}", present[0])
    raise DataError(
        f"Column {name!r} of {path} holds values of type {type(present[0]).__name__}; write one number a cell."
    )
