"""Writing a matrix, such as codes, in the format its file name asks for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from fewhot.core.errors import DataError, InvalidInputError
from fewhot.core.files import replacing_file
from fewhot.core.sparse import check_entries
from fewhot.data.files.parquet import write_parquet
from fewhot.data.loaded import chunks

Users = Sequence[str] | None
Writer = Callable[[Path, Any, list[str], Users], None]

NAMES_ROWS = (".csv", ".parquet", ".h5ad")
"""The formats that keep the names of rows."""
_USER = "user"
"""What the column of users is called, as in lists of recommendations."""


def write_matrix(
    path: str | Path, matrix: Any, *, names: Sequence[str] | None = None, users: Sequence[str] | None = None
) -> None:
    """Write a matrix in the format that the ending of ``path`` names, atomically.

    ``.npz``, ``.mtx`` and ``.h5ad`` keep a sparse matrix sparse; ``.npy``, ``.csv`` and ``.parquet`` are dense formats.

    Parameters
    ----------
    path
        A file that ends in .npz, .npy, .csv, .parquet, .mtx or .h5ad; an earlier file of that name is replaced.
    matrix
        An array or a scipy sparse matrix, (n, K).
    names
        The columns' names in formats that have them; unit_0, unit_1, ... unless told.
    users
        Whose the rows are, for the formats of `NAMES_ROWS`: the first column, or the names of observations in .h5ad.

    Examples
    --------
    >>> import tempfile
    >>> from fewhot.data import read_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_matrix(Path(folder) / "codes.npz", sp.csr_array([[0.0, 2.0], [0.0, 0.0]]))
    ...     read_file(Path(folder) / "codes.npz").X.nnz
    1
    """
    path = Path(path).expanduser()
    if path.suffix.lower() not in _WRITERS:
        accepted = ", ".join(_WRITERS)
        raise DataError(f"{path} cannot be written: its name must end in one of {accepted}.")
    if path.is_dir():
        raise DataError(f"{path} is a folder; name a file.")
    if sp.issparse(matrix):
        check_entries(matrix, "The matrix")
    matrix = sp.csr_array(matrix) if sp.issparse(matrix) else np.asarray(matrix)
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
        raise InvalidInputError(f"The matrix has shape {matrix.shape} and type {matrix.dtype}; give rows of numbers.")
    named = [f"unit_{j}" for j in range(matrix.shape[1])] if names is None else list(names)
    if len(named) != matrix.shape[1]:
        raise InvalidInputError(f"There are {len(named)} names for {matrix.shape[1]} columns; give one a column.")
    if users is not None and len(users) != matrix.shape[0]:
        raise InvalidInputError(f"There are {len(users)} users for {matrix.shape[0]} rows; give one a row.")
    try:
        with replacing_file(path) as temporary:
            _WRITERS[path.suffix.lower()](temporary, matrix, named, users)
    except OSError as error:
        raise DataError(f"{path} cannot be written ({error.strerror or error}); choose a place with room.") from error


def _write_npz(path: Path, matrix: Any, names: list[str], users: Users) -> None:
    with path.open("wb") as file:  # a handle, for numpy would add an ending to a name
        if sp.issparse(matrix):
            sp.save_npz(file, matrix)
        else:
            np.savez_compressed(file, X=matrix)


def _write_npy(path: Path, matrix: Any, names: list[str], users: Users) -> None:
    if not sp.issparse(matrix):
        with path.open("wb") as file:
            np.save(file, matrix, allow_pickle=False)
        return
    mapped = np.lib.format.open_memmap(path, mode="w+", dtype=matrix.dtype, shape=matrix.shape)
    for cut in chunks(matrix):
        mapped[cut] = _dense(matrix[cut])
    mapped.flush()


def _write_csv(path: Path, matrix: Any, names: list[str], users: Users) -> None:
    import csv

    exact = "%d" if matrix.dtype.kind in "biu" else "%.9g" if matrix.dtype.itemsize <= 4 else "%.17g"
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(names if users is None else [_USER, *names])
        for cut in chunks(matrix):
            rows = _dense(matrix[cut])
            if users is None:
                np.savetxt(file, rows, fmt=exact, delimiter=",")
            else:
                table.writerows(
                    [user, *(exact % value for value in row)]
                    for user, row in zip(users[cut], rows.tolist(), strict=True)
                )


def _write_parquet(path: Path, matrix: Any, names: list[str], users: Users) -> None:
    write_parquet(path, _dense(matrix), names, {} if users is None else {_USER: np.array(users, dtype=str)})


def _write_mtx(path: Path, matrix: Any, names: list[str], users: Users) -> None:
    from scipy.io import mmwrite

    with path.open("wb") as file:
        mmwrite(file, matrix, precision=9 if matrix.dtype.itemsize <= 4 else 17)


def _write_h5ad(path: Path, matrix: Any, names: list[str], users: Users) -> None:
    try:
        import anndata
        import pandas as pd
    except ImportError as error:
        raise DataError("Writing .h5ad needs anndata; install it by: pip install 'fewhot[files]'.") from error
    rows = pd.DataFrame(index=np.arange(matrix.shape[0]).astype(str) if users is None else np.array(users, dtype=str))
    anndata.AnnData(matrix, obs=rows, var=pd.DataFrame(index=np.array(names))).write_h5ad(path)


def _dense(matrix: Any) -> np.ndarray:
    return matrix.toarray() if sp.issparse(matrix) else matrix


_WRITERS: dict[str, Writer] = {
    ".npz": _write_npz,
    ".npy": _write_npy,
    ".csv": _write_csv,
    ".parquet": _write_parquet,
    ".mtx": _write_mtx,
    ".h5ad": _write_h5ad,
}
