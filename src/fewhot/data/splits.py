r"""Named splits decided by a hash: the same rows on every machine, whatever is drawn elsewhere.

A row belongs to a hashed split when the hash of (split name, row) falls below the split's share. A row's membership
depends on no other row, so that rows added at the end move none of the earlier ones. Where a split has a number of rows
instead of a share, it has those with the smallest hashes.

The names mean the same everywhere:

============== =====================================================================
``train``      what models may be trained on, the validation rows included
``validation`` rows of ``train`` kept apart for choosing between settings
``fit``        ``train`` without ``validation``
``test``       rows that choose nothing
``all``        ``train`` and ``test``
============== =====================================================================
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import scipy.sparse as sp

from fewhot.core.checks import one_of, whole_number
from fewhot.core.errors import InvalidParameterError
from fewhot.data.ragged import canonical

SPLITS = ("train", "validation", "fit", "test", "all")
TEST_SHARE = 0.2
VALIDATION_SHARE = 0.1


def hashed_positions(rows: int | np.ndarray, name: str) -> np.ndarray:
    r"""Return a number in [0, 1) for each row, decided by the row and a name.

    With :math:`s` the first eight bytes of SHA-256 of the name and :math:`m` the mixing function of SplitMix64 (a
    bijection of 64-bit words),

    .. math:: u_i = \lfloor m(m(i) + s) / 2^{11} \rfloor / 2^{53}

    Parameters
    ----------
    rows
        How many rows there are, to hash their indices; or one 64-bit key a row, such as `row_keys` gives.
    name
        The name of the split.

    References
    ----------
    Steele, Lea and Flood (2014), Fast splittable pseudorandom number generators.

    Examples
    --------
    >>> hashed_positions(3, "test").round(3).tolist()
    [0.22, 0.65, 0.725]
    """
    keys = np.arange(rows, dtype=np.uint64) if isinstance(rows, int) else np.asarray(rows, dtype=np.uint64)
    salt = np.uint64(int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little"))
    return (mixed(mixed(keys) + salt) >> np.uint64(11)) / 2.0**53


def row_keys(X: Any) -> np.ndarray:
    """Return a 64-bit key of each row's content: equal rows get equal keys and therefore fall into the same split.

    Examples
    --------
    >>> keys = row_keys(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]))
    >>> bool(keys[0] == keys[2]), bool(keys[0] == keys[1])
    (True, False)
    """
    if sp.issparse(X):
        csr = canonical(X).copy()
        csr.eliminate_zeros()
        columns, values = csr.indices.astype("<i8"), csr.data.astype("<f4")
        cuts = [slice(a, b) for a, b in zip(csr.indptr[:-1], csr.indptr[1:], strict=True)]
        return np.array([key_of(columns[cut].tobytes() + values[cut].tobytes()) for cut in cuts], dtype=np.uint64)
    return np.array([key_of(np.asarray(row, dtype="<f4").tobytes()) for row in X], dtype=np.uint64)


def validation_mask(rows: int | np.ndarray, n: int | None = None) -> np.ndarray:
    """Say which training rows are validation rows: one in ten, or ``n`` of them."""
    positions = hashed_positions(rows, "validation")
    return positions < VALIDATION_SHARE if n is None else smallest(positions, n, "n_validation")


def smallest(positions: np.ndarray, n: int, name: str) -> np.ndarray:
    """Say which ``n`` positions are the smallest; of equal ones the first. ``name`` is what the caller calls n."""
    if whole_number(name, n, least=0) > len(positions):
        raise InvalidParameterError(
            f"{name} is {n}, and there are {len(positions)} rows to take them from; ask for fewer."
        )
    mask = np.zeros(len(positions), dtype=bool)
    mask[np.argsort(positions, kind="stable")[:n]] = True
    return mask


def split_rows(
    rows: int | np.ndarray, split: str, *, n_test: int | None = None, n_validation: int | None = None
) -> np.ndarray:
    """Return the indices of the rows of a split, for data without a published test set: one row in five is test.

    Parameters
    ----------
    rows
        How many rows there are, to decide by index; or one 64-bit key a row, such as `row_keys` gives.
    split
        One of "train", "validation", "fit", "test" and "all".
    n_test, n_validation
        How many rows these have; None for one in five, and one in ten of the others.

    Examples
    --------
    >>> split_rows(12, "test").tolist(), split_rows(12, "validation").tolist()
    ([3, 6, 8, 9], [7, 11])
    >>> split_rows(12, "test", n_test=2).tolist()
    [6, 8]
    """
    one_of("split", split, SPLITS)
    positions = hashed_positions(rows, "test")
    test = positions < TEST_SHARE if n_test is None else smallest(positions, n_test, "n_test")
    validation = np.zeros(len(test), dtype=bool)
    keys = np.arange(rows) if isinstance(rows, int) else np.asarray(rows)
    validation[~test] = validation_mask(keys[~test], n_validation)
    masks = {"train": ~test, "validation": validation, "fit": ~test & ~validation, "test": test}
    return np.flatnonzero(masks[split]) if split != "all" else np.arange(len(test))


def mixed(word: np.ndarray) -> np.ndarray:
    """Apply SplitMix64's step and finaliser; unsigned arithmetic wraps around."""
    word = word + np.uint64(0x9E3779B97F4A7C15)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


def key_of(content: bytes) -> int:
    """Return a 64-bit key of some content."""
    return int.from_bytes(hashlib.sha256(content).digest()[:8], "little")
