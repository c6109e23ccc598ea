"""Input at the edge: scikit-learn's checks, this library's sentences."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from fewhot.core.errors import InvalidInputError, InvalidTypeError
from fewhot.data import Dataset, as_dataset, as_matrix
from fewhot.data.recognise import ACCEPTED

_DTYPES = [
    np.float64,
    np.float32,
    np.float16,
    *(np.dtype(f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)),
]

_REMEDIES = (
    ("contains NaN", "; impute or drop the missing values first."),
    ("contains infinity", "; remove or replace the infinite values first."),
    ("not compatible with arrays of bytes/strings", "; convert the text columns to numbers first."),
    ("could not convert string", "; convert the text columns to numbers first."),
    ("Complex data", "; pass real numbers."),
    ("inhomogeneous", "; give rows of equal length."),
    ("features as input", "; pass the columns it was fitted on."),
    ("Found array with dim", "; reshape X to (rows, columns)."),
    ("while a minimum of", "; give at least one row and one column."),
)


def dataset_of(estimator: BaseEstimator, X: Any, *, fitting: bool) -> Dataset:
    """Return validated rows; scikit-learn's own messages come back as one sentence that says what to do."""
    matrix = as_matrix(X)
    try:
        checked = validate_data(
            estimator, matrix, reset=fitting, accept_sparse="csr", dtype=_DTYPES, accept_large_sparse=True
        )
    except ValueError as error:
        raise InvalidInputError(_one_sentence(error)) from error
    except TypeError as error:
        raise InvalidTypeError(f"{_one_sentence(error).rstrip('.')}; accepted are {ACCEPTED}.") from error
    return as_dataset(checked)


def _one_sentence(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    first = lines[0]
    for mark, remedy in _REMEDIES:
        if mark in str(error):
            return first.rstrip(".:") + remedy
    advice = next((line for line in lines[1:] if line.startswith("Reshape your data")), "")
    return f"{first.rstrip('.:')}: {advice}" if advice else first
