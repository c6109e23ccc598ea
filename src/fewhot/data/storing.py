"""Writing sparse rows to a folder, from which `open_rows` reads a few at a time."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from fewhot.core.errors import DataError, InvalidInputError, InvalidTypeError
from fewhot.core.files import replacing_folder
from fewhot.core.records import LARGEST_WHOLE
from fewhot.data.dataset import CHUNK_ELEMENTS
from fewhot.data.recognise import as_csr, as_matrix, check_scale, column_names
from fewhot.data.stored import ARRAYS, FACTS, FORMAT, StoredRows

LARGEST_COLUMN = int(np.iinfo(ARRAYS["indices"]).max)


def write_rows(path: str | Path, X: Any) -> None:
    """Write a sparse matrix to a folder from which it can be read a few rows at a time.

    Numbers are stored as float32, and the names of columns where all rows have them. What a fit would refuse is refused
    here: missing and infinite values, numbers too large, and whole numbers that float32 would change.

    Parameters
    ----------
    path
        The folder, which must not exist.
    X
        A sparse matrix, an array, a frame, an AnnData, what `open_rows` returns, or an iterable of such with the same
        columns: blocks of rows, of which only one is in memory at a time.

    Examples
    --------
    >>> import tempfile
    >>> from fewhot.data import open_rows
    >>> folder = Path(tempfile.mkdtemp()) / "rows"
    >>> write_rows(folder, (sp.csr_array(np.eye(3)) for _ in range(2)))
    >>> open_rows(folder).shape
    (6, 3)
    """
    target = Path(path)
    if target.exists():
        raise DataError(f"{target} exists; give a new name, or delete it first.")
    with replacing_folder(target) as folder:
        _write(folder, _blocks(X))


def _blocks(X: Any) -> Iterator[tuple[Any, list[str] | None]]:
    """Yield the rows as canonical CSR, block by block where they come in blocks, and the names of their columns."""
    matrix = as_matrix(X)
    if isinstance(matrix, StoredRows):
        yield from ((block, column_names(X)) for block in matrix.blocks())
    elif hasattr(matrix, "shape") or _is_table(matrix):
        yield as_csr(matrix), column_names(X)
    elif isinstance(matrix, Iterable):
        for block in matrix:
            single = (isinstance(block, np.ndarray) or sp.issparse(block)) and block.ndim == 1
            yield from _blocks(block.reshape(1, -1) if single else block)
    else:
        raise InvalidTypeError(f"X is {type(X).__name__}; give a sparse matrix, or blocks of rows.")


def _is_table(rows: Any) -> bool:
    """Say whether these are plain lists of numbers, not blocks of rows."""
    return isinstance(rows, list | tuple) and len(rows) > 0 and isinstance(rows[0], list | tuple | int | float)


def _write(folder: Path, blocks: Iterable[tuple[Any, list[str] | None]]) -> None:
    parts = {name: (folder / f"{name}.part").open("wb") for name in ("data", "indices")}
    lengths: list[np.ndarray] = []
    n_columns: int | None = None
    named: set[tuple[str, ...] | None] = set()
    try:
        for csr, names in blocks:
            width = int(csr.shape[1])
            if n_columns not in (None, width):
                raise InvalidInputError(
                    f"Blocks of {n_columns} and of {width} columns were given; give all the same columns."
                )
            if width > LARGEST_COLUMN:
                raise InvalidInputError(f"X has {width:,} columns; rows are stored with {LARGEST_COLUMN:,} at most.")
            n_columns = width
            named.add(None if names is None else tuple(names))
            if len(named - {None}) > 1:
                raise InvalidInputError(
                    "Blocks whose columns have other names were given; give all the same columns in the same order."
                )
            parts["data"].write(_as_stored(csr.data).data)
            parts["indices"].write(np.ascontiguousarray(csr.indices, dtype=ARRAYS["indices"]).data)
            lengths.append(np.diff(csr.indptr))
    finally:
        for file in parts.values():
            file.close()
    if n_columns is None:
        raise InvalidInputError("No block of rows was given; give at least one.")
    indptr = np.concatenate([[0], np.cumsum(np.concatenate(lengths), dtype=np.int64)])
    np.save(folder / "indptr.npy", indptr.astype(ARRAYS["indptr"]))
    for name in parts:
        _as_npy(folder / f"{name}.part", folder / f"{name}.npy", np.dtype(ARRAYS[name]), int(indptr[-1]))
    facts: dict[str, Any] = {"format": FORMAT, "shape": [len(indptr) - 1, n_columns]}
    names = next(iter(named))
    if len(named) == 1 and names is not None:
        facts["names"] = names
    (folder / FACTS).write_text(json.dumps(facts) + "\n", encoding="utf-8")


def _as_stored(values: np.ndarray) -> np.ndarray:
    """Return numbers as they are stored; refuse those that would not be the same, or that no fit could use."""
    if np.isnan(values).any():
        raise InvalidInputError("X contains NaN; impute or drop the missing values first.")
    if np.isinf(values).any():
        raise InvalidInputError("X contains infinity; remove or replace the infinite values first.")
    largest = max(float(values.max(initial=0)), -float(values.min(initial=0)))
    check_scale(largest)
    stored = np.ascontiguousarray(values, dtype=ARRAYS["data"])
    whole = largest > LARGEST_WHOLE and bool((values == np.floor(values)).all())
    if whole and (stored.astype(values.dtype) != values).any():
        raise InvalidInputError(
            f"X holds whole numbers up to {largest:,.0f}, and rows are stored as float32, which is exact up to "
            f"{LARGEST_WHOLE:,}; count in larger units."
        )
    return stored


def _as_npy(raw: Path, path: Path, dtype: np.dtype, n: int) -> None:
    """Turn a file of numbers into an .npy file, a piece at a time."""
    out = np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=(n,))
    with raw.open("rb") as file:
        for start in range(0, n, CHUNK_ELEMENTS):
            size = min(CHUNK_ELEMENTS, n - start)
            out[start : start + size] = np.frombuffer(file.read(size * dtype.itemsize), dtype=dtype)
    out.flush()
    raw.unlink()
