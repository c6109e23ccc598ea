"""Input at the edge: scikit-learn's checks, this library's sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator, KeysView, ValuesView
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils import get_tags
from sklearn.utils.validation import _check_feature_names, _check_n_features, check_array

from fewhot.codes import Codes
from fewhot.core.errors import InvalidInputError, InvalidTypeError
from fewhot.core.warning import warn_caller
from fewhot.data import Dataset, as_dataset, as_matrix
from fewhot.data.pixels import (
    check_levels,
    check_same_shape,
    flat,
    image_shape_of,
    is_images,
    levels_of,
    look_like_pixels,
    stacked,
)
from fewhot.data.ragged import canonical
from fewhot.data.recognise import ACCEPTED, LARGEST, named_columns
from fewhot.data.stored import StoredRows
from fewhot.data.text import TextDataset, Vocabulary, is_text, text_dataset
from fewhot.data.text.building import as_read
from fewhot.estimators.histories import as_matrix_of_users
from fewhot.nn import Pretrained

_DTYPES: Any = [
    np.float64,
    np.float32,
    np.float16,
    *(np.dtype(f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)),
]
_SPARSE: Any = "csr"

Histories = Any
"""A `scipy.sparse.csr_array` of users and items; scipy's own annotations know too little of it."""

_LARGE = 1e4
_FINEST = 1e-5  # of a number: float32 tells some eighty values apart within so narrow a range

_OF_TEXTS = "; convert the text columns to numbers first, or give one of them, such as X['text'], to fit texts."
_REMEDIES = (
    ("contains NaN", "; impute or drop the missing values first."),
    ("contains infinity", "; remove or replace the infinite values first."),
    ("not compatible with arrays of bytes/strings", _OF_TEXTS),
    ("could not convert string", _OF_TEXTS),
    ("Complex data", "; pass real numbers."),
    ("inhomogeneous", "X has rows of different lengths; give rows of equal length."),
    ("features as input", "; pass the columns it was fitted on."),
    ("Found array with dim", "; reshape X to (rows, columns)."),
    ("while a minimum of", "; give at least one row and one column."),
    ("2-dimensional container", "X is a single row or column; pass a matrix, or a frame with one column."),
    ("feature names should match", "; pass the columns it was fitted on."),
    ("not 'datetime.", "X holds dates or times; turn them into numbers first, such as days since a start."),
    ("not 'Timestamp'", "X holds dates or times; turn them into numbers first, such as days since a start."),
)
"""Marks of scikit-learn's and numpy's messages, and what to say: after theirs, or instead of it."""


def dataset_of(estimator: BaseEstimator, X: Any, *, fitting: bool, name: str = "X") -> Dataset:
    """Return validated rows; scikit-learn's own messages come back as one sentence that says what to do.

    ``name`` is what the sentence calls the rows. A fit on texts keeps their vocabulary, by which later ones are read.
    """
    if fitting and _reads_images(estimator):
        vars(estimator).update(image_shape_=None, _levels=1)
    if isinstance(X, TextDataset) or is_text(X):
        return _texts(estimator, X, fitting, name)
    given = X
    if getattr(estimator, "recommends", False):
        X = as_matrix_of_users(estimator, given, fitting=fitting, name=name)
    if isinstance(X, Iterator | KeysView | ValuesView):
        raise InvalidTypeError(f"{name} is of type {type(X).__name__}; give a list, such as list({name}).")
    if isinstance(X, list | tuple) and any(isinstance(row, list | tuple) and is_text(row) for row in X[:1]):
        raise InvalidInputError(f"{name} holds lists of words; give each text as one string, such as ' '.join(words).")
    _forget_or_require_texts(estimator, fitting, name)
    matrix = as_matrix(stacked(X, name), name)
    if isinstance(matrix, StoredRows):
        return _stored(estimator, matrix, named_columns(X), fitting, name)
    columns = named_columns(X) if fitting or X is given else None  # those of users' items have been found
    shape = image_shape_of(matrix, name) if is_images(matrix) and _reads_images(estimator) else None
    if shape is not None:
        matrix, columns = flat(matrix), None
        if fitting:
            vars(estimator).pop("feature_names_in_", None)
        else:
            check_same_shape(shape, getattr(estimator, "image_shape_", None), name)
    checked = _checked(estimator, matrix, columns, fitting=fitting, name=name)
    if not isinstance(checked, np.ndarray):
        return as_dataset(_with_levels(estimator, checked, name), name)
    levels = _levels(estimator, checked, shape, fitting, name)
    if fitting:
        _check_resolution(checked, name)
    return as_dataset(checked, name, levels, shape if fitting else getattr(estimator, "image_shape_", None))


def _reads_images(estimator: Any) -> bool:
    """Say whether an estimator folds rows into images; others refuse more than two axes."""
    return get_tags(estimator).input_tags.three_d_array


def _with_levels(estimator: Any, rows: Any, name: str) -> Any:
    """Return sparse rows as those of the fit were: bytes divided, where these were pixels."""
    known = getattr(estimator, "_levels", 1)
    levels = check_levels(rows.data, known, name) if known != 1 and rows.nnz else 1
    return rows if levels == 1 else rows.astype(np.float32) / np.float32(levels)


def _levels(estimator: Any, rows: np.ndarray, shape: tuple[int, ...] | None, fitting: bool, name: str) -> int:
    """Return what rows are divided by: nothing but pixels is, as those of the fit were. A fit on images remembers."""
    if fitting and not _reads_images(estimator):
        return 1
    if fitting:
        estimator.image_shape_ = shape
        if shape is not None or _are_bytes_of_pixels(estimator, rows, name):
            estimator._levels = levels_of(rows, name)
            return check_levels(rows, estimator._levels, name)
        return 1
    levels = getattr(estimator, "_levels", 1)
    if getattr(estimator, "image_shape_", None) is None and levels == 1:
        return 1
    return check_levels(rows, levels, name)


def _are_bytes_of_pixels(estimator: Any, rows: np.ndarray, name: str) -> bool:
    """Say whether flat rows of bytes are pixels where nothing says what they are; what is assumed is said."""
    open_to = getattr(estimator, "bytes_are_pixels", False) and getattr(estimator, "likelihood", None) == "auto"
    if not open_to or not look_like_pixels(rows):
        return False
    warn_caller(
        f"{name} holds bytes from {rows.min()} to {rows.max()}, which are taken as pixels and divided by 255; give "
        f"images, {name}.reshape(n, height, width), to say so, or {name}.astype(int) if they are counts.",
        UserWarning,
    )
    return True


def _texts(estimator: Any, texts: Any, fitting: bool, name: str) -> TextDataset:
    """Return texts as ids, by the vocabulary of the fit where there is one."""
    known: Vocabulary | None = None if fitting else getattr(estimator, "vocabulary_", None)
    if known is None and not fitting:
        raise InvalidInputError(f"{name} holds texts, and the model was fitted on rows of numbers; give such rows.")
    cut = getattr(estimator, "_tokeniser", None) if fitting else None
    data = texts if isinstance(texts, TextDataset) else text_dataset(texts, known, tokeniser=cut, name=name)
    if fitting:
        given = getattr(estimator, "encoder", None)
        estimator._reader = given if isinstance(given, Pretrained) else None
        estimator._reads_known_words = isinstance(texts, TextDataset) and texts.pieces is None
    reader = getattr(estimator, "_reader", None)  # of the fit, whatever the argument is by now
    if isinstance(reader, Pretrained) and data.pieces is None:
        reads_known_words = getattr(estimator, "_reads_known_words", False)
        if isinstance(texts, TextDataset) or reads_known_words:
            if not reads_known_words:
                raise InvalidInputError(
                    f"{name} was read by a vocabulary, and the pretrained encoder was fitted on strings, which it cuts "
                    f"by itself; give strings."
                )
            read = (" ".join(data.words(row)) for row in range(data.n_rows))
        else:
            read = as_read(texts, data.vocabulary, name)
        data = data.with_pieces(reader.cut(read))
    if known is not None and data.vocabulary != known:
        raise InvalidInputError(
            f"{name} has another vocabulary than the texts of the fit; give strings, or texts read by vocabulary_."
        )
    if fitting:
        estimator.vocabulary_ = data.vocabulary
        estimator.n_features_in_ = data.spec.n_columns
        vars(estimator).pop("feature_names_in_", None)
    return data


def _forget_or_require_texts(estimator: Any, fitting: bool, name: str) -> None:
    """Let a fit on numbers forget the words of an earlier one; refuse numbers where a model was fitted on texts."""
    if fitting:
        vars(estimator).pop("vocabulary_", None)
    elif getattr(estimator, "vocabulary_", None) is not None:
        raise InvalidInputError(
            f"{name} is no list of strings, and the model was fitted on texts; give at least one text in a list."
        )


def interactions_of(
    estimator: BaseEstimator, X: Any, *, fitting: bool, dtype: type = np.float32, named: Any = None
) -> Histories:
    """Return validated histories, (users, items), as a CSR copy: nothing negative, no stored zeros, in order.

    Entries given twice are added up, as scipy does. A fit remembers its number of users, so that a matrix given the
    wrong way round can be told. ``named`` is what knows the names of the columns where X is a part of it.
    """
    known = getattr(estimator, "n_features_in_", None)
    read = as_matrix_of_users(estimator, X, fitting=fitting)
    given: Any = tuple(getattr(X, "shape", ()))
    if not fitting and read is X and given == (known, getattr(estimator, "n_users_", None)) and given != given[::-1]:
        raise InvalidInputError(
            f"X has shape {given}, and the model was fitted on {given[1]} users and {given[0]} items; pass X.T, with "
            f"one row a user."
        )
    has_names = fitting or read is X
    X = read
    matrix = as_matrix(X)
    in_memory = matrix.tocsr() if isinstance(matrix, StoredRows) else matrix
    columns = named_columns(X if named is None else named) if has_names else None
    rows: Histories = canonical(_checked(estimator, in_memory, columns, fitting=fitting, name="X"))
    low, high = (rows.data.min(), rows.data.max()) if rows.nnz else (0, 0)
    if low < 0:
        raise InvalidInputError(
            f"Negative values in data: X holds {low:g}; give 0 where a user has no item, and more where one is."
        )
    if high > LARGEST:
        raise InvalidInputError(f"X holds values as large as {high:.3g}; rescale them first.")
    rows = rows.astype(dtype)
    rows.eliminate_zeros()
    if fitting and not rows.nnz:
        raise InvalidInputError("X holds no entry above 0; give the items that users have.")
    if fitting:
        estimator.n_users_ = rows.shape[0]  # pyright: ignore[reportAttributeAccessIssue]
    return rows


def codes_of(Z: Any, n_units: int) -> Any:
    """Return codes, (n, n_units), as an array or a CSR matrix of finite numbers."""
    Z = Z.values if isinstance(Z, Codes) else Z
    Z = as_matrix(Z, "Z")
    try:
        Z = Z.tocsr() if sp.issparse(Z) else np.asarray(Z)
    except ValueError as error:  # rows of different lengths
        raise InvalidInputError(f"The codes are no matrix ({error}); give (n, n_components) numbers.") from error
    if Z.dtype.kind not in "fiub":
        raise InvalidTypeError(f"The codes are of type {Z.dtype}; give real numbers.")
    if Z.ndim != 2 or Z.shape[1] != n_units:
        raise InvalidInputError(f"Codes of shape {Z.shape} were given; give (n, {n_units}), as transform returns.")
    if not Z.shape[0]:
        raise InvalidInputError(f"Codes of shape {Z.shape} were given; give at least one row.")
    values = Z.data if sp.issparse(Z) else Z
    if not (np.abs(values) <= np.finfo(np.float32).max).all():
        raise InvalidInputError("The codes contain NaN or infinity; give finite float32 numbers.")
    return Z


def rows_at(X: Any, rows: np.ndarray) -> Any:
    """Return some rows of an array, a matrix or a frame."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if sp.issparse(X):
        return X.tocsr()[rows]
    return X[rows] if hasattr(X, "shape") else [X[i] for i in rows]


def _checked(estimator: BaseEstimator, matrix: Any, columns: Any, *, fitting: bool, name: str) -> Any:
    """Return an array or a CSR matrix of finite numbers with the columns the estimator knows.

    scikit-learn's ``validate_data``, but for the names, which are read from ``columns``.
    """
    try:
        _check_names(estimator, columns, fitting=fitting)
        checked = check_array(matrix, accept_sparse=_SPARSE, dtype=_DTYPES, estimator=estimator, input_name="X")
        _check_n_features(estimator, matrix, reset=fitting)
        return checked
    except ValueError as error:
        if not fitting:
            _refuse_transposed(estimator, matrix, name, error)
        raise InvalidInputError(_one_sentence(error, name)) from error
    except TypeError as error:
        raise InvalidTypeError(_one_sentence(error, name, f"; accepted are {ACCEPTED}.")) from error


def _stored(estimator: BaseEstimator, rows: StoredRows, columns: Any, fitting: bool, name: str) -> Dataset:
    """Return rows that stay on disk, with scikit-learn's count and names of columns."""
    check_filled(rows, name)
    try:
        _check_names(estimator, columns, fitting=fitting)
        _check_n_features(estimator, rows, reset=fitting)
    except ValueError as error:
        if not fitting:
            _refuse_transposed(estimator, rows, name, error, remedy="write its transpose to another folder")
        raise InvalidInputError(_one_sentence(error, name)) from error
    return as_dataset(rows, name)


def _check_names(estimator: BaseEstimator, columns: Any, *, fitting: bool) -> None:
    """Check the names of columns as scikit-learn does, which does not know those of rows on disk; None has none."""
    if columns is None:
        return
    names = columns.names if isinstance(columns, StoredRows) else None
    if names is None:
        _check_feature_names(estimator, columns, reset=fitting)
    elif fitting:
        estimator.feature_names_in_ = np.array(names, dtype=object)  # pyright: ignore[reportAttributeAccessIssue]
    else:
        known = getattr(estimator, "feature_names_in_", None)
        if known is not None and list(known) != names:
            raise ValueError("The feature names should match those that were passed during fit.")


def check_filled(rows: StoredRows, name: str = "X") -> None:
    """Refuse rows on disk of which there are none, or none of whose columns."""
    if not all(rows.shape):
        raise InvalidInputError(f"{name} has shape {rows.shape}; give at least one row and one column.")


def _refuse_transposed(
    estimator: BaseEstimator, matrix: Any, name: str, error: ValueError, remedy: str | None = None
) -> None:
    """Refuse rows as many as the model knows columns, which they have not; others are for the caller to refuse."""
    shape = getattr(matrix, "shape", ())
    if len(shape) == 2 and shape[0] == getattr(estimator, "n_features_in_", None) != shape[1]:
        raise InvalidInputError(
            f"{name} has {shape[0]} rows and {shape[1]} columns, and the model knows {shape[0]} columns: it looks "
            f"transposed; {remedy or f'give {name}.T'}."
        ) from error


def _check_resolution(rows: np.ndarray, name: str) -> None:
    """Refuse columns of large numbers that lie so close together that single precision blurs them."""
    low, high = rows.min(axis=0).astype(float), rows.max(axis=0).astype(float)
    size = np.maximum(np.abs(low), np.abs(high))
    spread = high - low
    blurred = np.flatnonzero((size > _LARGE) & (spread > 0) & (spread < _FINEST * size))
    if len(blurred):
        column = blurred[0]
        raise InvalidInputError(
            f"Column {column} of {name} has values near {size[column]:.3g} that differ by {spread[column]:.3g} at "
            f"most, which float32 blurs; subtract its mean, or leave it out."
        )


def _one_sentence(error: Exception, name: str, otherwise: str = "") -> str:
    """Return the first line of a message with the remedy that belongs to it, about the rows called ``name``."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    reshape = next((f": {line}" for line in lines[1:] if line.startswith("Reshape your data")), "")
    remedy = next((remedy for mark, remedy in _REMEDIES if mark in str(error)), reshape or otherwise)
    what = lines[0].rstrip(".:") + (_names_at_fault(lines[1:]) if "feature names" in lines[0] else "")
    sentence = what + (remedy or ".") if remedy[:1] in ("", ";", ":") else remedy
    sentence = re.sub(r"\bX\b", name, sentence)
    return sentence if name == "X" or name in sentence else f"{name}: {sentence}"


def _names_at_fault(lines: list[str]) -> str:
    """Return scikit-learn's lists of columns in brackets, on one line.

    >>> _names_at_fault(["Feature names unseen at fit time:", "- ph", "Feature names missing:", "- pH", "- mass"])
    ' (feature names unseen at fit time: ph; feature names missing: pH, mass)'
    """
    told: list[str] = []
    for line in lines:
        if told and line.startswith("- "):
            told[-1] += f"{' ' if told[-1].endswith(':') else ', '}{line[2:]}"
        else:
            told.append(line[:1].lower() + line[1:].rstrip("."))
    return f" ({'; '.join(told)})" if told else ""
