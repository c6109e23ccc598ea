"""Matrices at the edge of every metric: dense or CSR, float64, finite."""

from __future__ import annotations

from typing import Any

import numpy as np

from fewhot.core.errors import InvalidInputError
from fewhot.core.masks import check_unmasked
from fewhot.core.sparse import check_entries
from fewhot.data.text import TextDataset
from fewhot.metrics.libraries import library


def as_matrix(values: Any, name: str) -> Any:
    """Return a float64 array or CSR matrix of shape (n, K); sparse input stays sparse."""
    if hasattr(values, "format") and is_sparse(values):
        check_entries(values, name)
    values = values.values if hasattr(values, "p_active") else values  # what `codes` returns
    if hasattr(values, "var_names"):  # an AnnData
        values = values.X.to_memory() if hasattr(values.X, "to_memory") else values.X
    check_unmasked(values, name)
    matrix: Any = values.tocsr() if hasattr(values, "tocsr") else np.asarray(values)
    if matrix.ndim != 2 or not matrix.shape[0] or matrix.dtype.kind not in "fiub":
        raise InvalidInputError(
            f"{name} is {matrix.dtype} of shape {tuple(matrix.shape)}; give a matrix of numbers, (rows, columns)."
        )
    matrix = matrix.astype(np.float64)
    if is_sparse(matrix):
        matrix.sum_duplicates()  # of the copy
    if not np.isfinite(stored(matrix)).all():
        raise InvalidInputError(f"{name} contains NaN or infinity; give finite numbers.")
    return matrix


def as_numbers(values: Any, name: str, each: str = "a row") -> np.ndarray:
    """Return numbers as float64, one ``each``, such as "a row"; their shape is for the caller to check."""
    refusal = InvalidInputError(f"{name} is of type {type(values).__name__}; give one number {each}.")
    if values is None or isinstance(values, str | bytes):
        raise refusal
    check_unmasked(values, name)
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise refusal from error


def as_counts(X: Any, name: str = "X", n_columns: int | None = None) -> Any:
    """Return documents as a float64 CSR matrix of word counts, (documents, words), without stored zeros."""
    matrix = library("scipy.sparse").csr_array(as_matrix(X, name))
    matrix.eliminate_zeros()
    values = matrix.data
    if (values < 0).any() or (values != np.rint(values)).any():
        given = f"negative values (minimum {values.min():g})" if (values < 0).any() else "fractional values"
        raise InvalidInputError(f"{name} holds {given}; give counts of words, whole numbers from 0 up.")
    if n_columns is not None and matrix.shape[1] != n_columns:
        raise InvalidInputError(
            f"{name} has {matrix.shape[1]} columns and the vocabulary {n_columns} words; give documents over the same "
            f"words."
        )
    return matrix


def column_names(X: Any) -> list[str] | None:
    """Return the names of the columns of a frame or an AnnData; None for what has none, or others than text."""
    names: list[Any] = list(getattr(X, "var_names", getattr(X, "columns", ())))
    return names if names and all(isinstance(name, str) for name in names) else None


def in_order_of(names: list[str] | None, X: Any, name: str, whose: str) -> Any:
    """Return X with its columns in the order of ``names``, told by name where both have them.

    ``whose`` says whose names these are; a frame of as many columns with other names is refused.
    """
    own = column_names(X)
    if names is None or own is None or len(own) != len(names) or own == names:
        return X
    known = set(names)
    other = next((column for column in own if column not in known), None)
    if other is not None:
        raise InvalidInputError(
            f"{name} has the column {other!r}, which is not in {whose}; give the same columns, or {name}.to_numpy() "
            f"if they are the same in the same order."
        )
    return X[:, names] if hasattr(X, "var_names") else X[names]


def is_sparse(matrix: Any) -> bool:
    """Say whether a matrix is one of scipy's."""
    return hasattr(matrix, "tocsr")


def has_rows(X: Any) -> bool:
    """Say whether `rows_at` takes rows of X: an array, a sparse matrix, a list, a frame or a data set of texts."""
    return isinstance(X, np.ndarray | list | tuple | TextDataset) or is_sparse(X) or hasattr(X, "iloc")


def rows_at(X: Any, rows: np.ndarray) -> Any:
    """Return some rows, in a container of the same kind.

    >>> rows_at(["few", "hot", "cold"], np.array([2, 0]))
    ['cold', 'few']
    """
    if isinstance(X, TextDataset):
        return X.subset(rows)
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return [X[row] for row in rows.tolist()] if isinstance(X, list | tuple) else X[rows]


def stored(matrix: Any) -> np.ndarray:
    """Return the entries that are held in memory, flat."""
    return matrix.data if is_sparse(matrix) else matrix.ravel()


def dense(matrix: Any) -> np.ndarray:
    """Return a matrix as an array."""
    return matrix.toarray() if is_sparse(matrix) else np.asarray(matrix)


def row_sums(matrix: Any) -> np.ndarray:
    """Return the sum of each row, (n,)."""
    return np.asarray(matrix.sum(axis=1), dtype=np.float64).ravel()


def column_moments(matrix: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and standard deviation of every column, (K,); exactly 0 where a column is constant."""
    n_rows = matrix.shape[0]
    mean = np.asarray(matrix.sum(axis=0), dtype=np.float64).ravel() / n_rows
    if is_sparse(matrix):
        square = np.bincount(matrix.indices, (matrix.data - mean[matrix.indices]) ** 2, minlength=matrix.shape[1])
        n_stored = np.bincount(matrix.indices, minlength=matrix.shape[1])
        variance = (square + (n_rows - n_stored) * mean**2) / n_rows
        low, high = matrix.min(axis=0).toarray().ravel(), matrix.max(axis=0).toarray().ravel()
    else:
        variance = ((matrix - mean) ** 2).mean(axis=0)
        low, high = matrix.min(axis=0), matrix.max(axis=0)
    return mean, np.where(low == high, 0.0, np.sqrt(variance))


def scale_columns(matrix: Any, factor: np.ndarray) -> Any:
    """Return the matrix with every column multiplied by its factor."""
    if not is_sparse(matrix):
        return matrix * factor
    scaled = matrix.copy()
    scaled.data = matrix.data * factor[matrix.indices]
    return scaled


def same_shape(one: Any, other: Any, names: str) -> None:
    """Refuse two matrices of different shapes."""
    if tuple(one.shape) != tuple(other.shape):
        raise InvalidInputError(
            f"{names} have shapes {tuple(one.shape)} and {tuple(other.shape)}; give matrices of one shape."
        )
