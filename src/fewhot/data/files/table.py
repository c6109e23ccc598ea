"""A matrix as it comes out of a file, and the checks that every kind of file shares."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp

from fewhot.core.errors import DataError
from fewhot.core.records import UNLABELED
from fewhot.core.sparse import check_entries
from fewhot.data.loaded import chunks
from fewhot.data.pixels import Shape
from fewhot.data.tables.cells import is_missing
from fewhot.data.tables.columns import RawColumns
from fewhot.data.tables.problems import check_plain
from fewhot.data.tables.vectorizer import TableVectorizer


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows with their labels and the names of both.

    Attributes
    ----------
    X
        The rows, (n, p), dense or CSR; rows that are texts: strings, (n,).
    y
        Labels, one a row; None without labels.
    feature_names
        The columns' names; None where the source has none.
    label_names
        What label 0, 1, ... was called, where labels were words.
    texts
        The texts that ``X`` counts the words of, with spaces between words; None for rows that are no texts.
    image_shape
        How a row folds into an image; None for rows that are no images.
    """

    X: np.ndarray | sp.csr_array
    y: np.ndarray | None = None
    feature_names: list[str] | None = None
    label_names: list[str] | None = None
    texts: list[str] | None = None
    image_shape: Shape | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RawTable:
    """The columns of a file before they are numbers, and its labels as they stand there.

    Attributes
    ----------
    raw
        The columns that were selected.
    labels
        The cells of the label column, (n,); None without one.
    """

    raw: RawColumns
    labels: Any = None


def table_of(
    found: RawTable,
    path: str | Path,
    vectorizer: TableVectorizer | None = None,
    fit_on: Callable[[int], np.ndarray] | None = None,
) -> Table:
    """Return raw columns as numbers; without a vectorizer every column must hold plain numbers.

    A vectorizer that is not fitted yet is fitted, on the rows that ``fit_on`` returns for their number.
    """
    raw = found.raw
    if vectorizer is None:
        check_plain(raw, str(path))
        X, names = raw.as_matrix(), raw.names if raw.has_names else None
    else:
        X, names = _prepared(raw, vectorizer, fit_on), vectorizer.get_feature_names_out().tolist()
    check_finite(X, path, names)
    if found.labels is None:
        return Table(X=X, feature_names=names)
    y, label_names = encode_labels(found.labels, path, len(X))
    return Table(X=X, y=y, feature_names=names, label_names=label_names)


def _prepared(raw: RawColumns, vectorizer: TableVectorizer, fit_on: Callable[[int], np.ndarray] | None) -> np.ndarray:
    if hasattr(vectorizer, "plans_"):
        return vectorizer.transform(raw)
    if fit_on is None:
        return vectorizer.fit_transform(raw)
    return vectorizer.fit(raw.take(fit_on(raw.n_rows))).transform(raw)


def as_float32(matrix: Any, path: str | Path, names: Sequence[str] | None = None) -> np.ndarray | sp.csr_array:
    """Return a numeric matrix as float32, sparse rows as canonical CSR; every value must be a finite number."""
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise DataError(
            f"{path} holds an array of shape {tuple(map(int, matrix.shape))}; a matrix with at least one row and one "
            f"column is needed: save it as (rows, columns), or images as (n, height, width)."
        )
    if matrix.dtype.kind not in "biuf":
        refuse_dtype(matrix.dtype, path)
    with np.errstate(over="ignore"):  # what float32 cannot hold is refused below, in a sentence
        if sp.issparse(matrix):
            check_entries(matrix, str(path), DataError)
            X = sp.csr_array(matrix, dtype=np.float32)
            X.sum_duplicates()
        else:
            X = matrix if matrix.dtype == np.float32 else np.asarray(matrix, dtype=np.float32)
    check_finite(X, path, names)
    return X


def check_finite(X: Any, path: str | Path, names: Sequence[str] | None = None) -> None:
    """Refuse missing and infinite values, with the place of the first."""
    values = X.data if sp.issparse(X) else X
    for cut in chunks(values):
        bad = ~np.isfinite(values[cut])
        if not bad.any():
            continue
        place = tuple(int(axis[0]) for axis in np.nonzero(bad))
        what = "a missing value (NaN)" if np.isnan(values[cut][place]) else "a value that float32 cannot hold"
        row = cut.start + place[0]
        column = place[-1]
        if sp.issparse(X):
            row, column = int(np.searchsorted(X.indptr, row, side="right")) - 1, int(X.indices[row])
        raise DataError(
            f"{path} has {what} in row {row + 1}, {column_words(column, names)}; fill, drop or rescale such values "
            f"first."
        )


def encode_labels(values: Any, path: str | Path, n_rows: int) -> tuple[np.ndarray, list[str] | None]:
    """Return labels as whole numbers; words become 0, 1, ... in sorted order, and their names come second.

    Rows whose label is missing have `UNLABELED`.
    """
    labels = np.asarray(values)
    if labels.shape[:1] != (n_rows,):
        raise DataError(f"{path} has labels of shape {labels.shape} for {n_rows} rows; give one label a row.")
    if labels.dtype.kind in "biu":
        return labels.astype(np.int64), None
    given = ~np.isnan(labels) if labels.dtype.kind == "f" and labels.ndim == 1 else np.ones(labels.shape, dtype=bool)
    if labels.dtype.kind == "f" and np.isfinite(labels[given]).all() and (labels == np.floor(labels))[given].all():
        return _with_unlabeled(labels[given].astype(np.int64), given), None
    if labels.dtype.kind == "f":
        raise DataError(
            f"{path} has labels that are not whole numbers; a label is a class: give whole numbers or words."
        )
    if labels.ndim > 1:
        raise DataError(f"{path} has labels in {labels.ndim} axes that are no numbers; give one word a row.")
    words = [None if value is None else str(value).strip() for value in labels.ravel()]
    given = np.array([word is not None and not is_missing(word) for word in words])
    known = [word for word, there in zip(words, given, strict=True) if there and word is not None]
    try:
        return _with_unlabeled(np.array([int(word) for word in known], dtype=np.int64), given), None
    except (ValueError, OverflowError):
        names, codes = np.unique(np.array(known, dtype=str), return_inverse=True)
        return _with_unlabeled(codes.astype(np.int64), given), names.tolist()


def _with_unlabeled(labels: np.ndarray, given: np.ndarray) -> np.ndarray:
    found = np.full(given.shape, UNLABELED, dtype=np.int64)
    found[given] = labels
    return found


def refuse_twins(names: Sequence[str], path: str | Path) -> None:
    """Refuse a header that names two columns alike: they could not be told apart."""
    twin = next((name for i, name in enumerate(names) if name and name in names[:i]), None)
    if twin is not None:
        raise DataError(f"{path} has two columns called {twin!r}; give each its own name.")


def refuse_dtype(dtype: object, path: str | Path) -> NoReturn:
    """Refuse an array that holds something else than real numbers."""
    raise DataError(f"{path} holds values of type {dtype}; save real numbers, such as float32.")


def unreadable(path: str | Path, kind: str) -> DataError:
    """Return the error for a file that is cut off or of another kind than its name says."""
    return DataError(f"{path} cannot be read as {kind}: it is cut off, damaged or of another kind; write it again.")


def column_words(column: int, names: Sequence[str] | None) -> str:
    """Return how a sentence calls a column: by its name, else by its place."""
    return f"column {names[column]!r}" if names is not None else f"column {column + 1}"
