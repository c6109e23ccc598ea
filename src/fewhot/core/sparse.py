"""A check of sparse matrices that scipy leaves to its callers: every entry lies inside the matrix."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from fewhot.core.errors import FewhotError, InvalidInputError

_COMPRESSED = ("csr", "csc", "bsr")


def check_entries(matrix: Any, name: str = "X", error: type[FewhotError] = InvalidInputError) -> None:
    """Refuse a scipy matrix with an entry outside of it: scipy reads and writes foreign memory there.

    Parameters
    ----------
    matrix
        A scipy sparse matrix of any format, in which nothing has been converted yet.
    name
        What the sentence calls it.
    error
        The kind of error to raise.
    """
    if matrix.format in _COMPRESSED and not _is_compressed(matrix):
        raise error(
            f"{name} is a damaged sparse matrix: indptr does not cut its {len(matrix.indices)} entries into parts; "
            f"build it anew, such as by scipy.sparse.coo_array."
        )
    for axis, places, size in _places(matrix):
        if places.size and not 0 <= places.min() <= places.max() < size:
            raise error(
                f"{name} has {axis} indices from {places.min()} to {places.max()}, and its {size} {axis}s are numbered "
                f"0 to {size - 1}; number them from 0, by subtracting 1 from ids that begin at 1, or give a larger "
                f"shape."
            )


def _is_compressed(matrix: Any) -> bool:
    """Say whether indptr runs from 0 to no more than the stored entries, and never backwards."""
    offsets = matrix.indptr
    n_stored = min(len(matrix.indices), len(matrix.data))
    return offsets[0] == 0 and offsets[-1] <= n_stored and bool((offsets[1:] >= offsets[:-1]).all())


def _places(matrix: Any) -> Iterator[tuple[str, np.ndarray, int]]:
    """Yield the name of an axis, the places of entries along it and its size, for each axis that is stored as such."""
    if matrix.format in _COMPRESSED:
        used = matrix.indices[: matrix.indptr[-1]]  # what lies behind is of no row
        match matrix.format:
            case "csr":
                yield "column", used, matrix.shape[-1]
            case "csc":
                yield "row", used, matrix.shape[0]
            case _:
                yield "block", used, matrix.shape[1] // matrix.blocksize[1]
    elif matrix.format == "coo" and matrix.ndim == 2:
        yield from zip(("row", "column"), matrix.coords, matrix.shape, strict=True)
