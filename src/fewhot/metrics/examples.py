"""One example at a time: its row, and its code."""

from __future__ import annotations

import warnings
from collections.abc import Generator
from contextlib import contextmanager
from itertools import zip_longest
from typing import Any

import numpy as np

from fewhot.core.errors import InvalidInputError, InvalidParameterError, InvalidTypeError
from fewhot.data.pixels import flat, pixel_rows
from fewhot.metrics.libraries import library
from fewhot.metrics.matrices import as_numbers, dense


def single_row(x: Any, name: str) -> Any:
    """Return one example as rows of one, (1, p); arrays, sparse matrices, frames and tensors stay what they are."""
    x = x if hasattr(x, "shape") else as_numbers(x, name, "a column")
    if len(x.shape) == 1:
        x = (x if hasattr(x, "reshape") else np.asarray(x)).reshape(1, -1)
    if len(x.shape) != 2 or x.shape[0] != 1:
        raise InvalidInputError(f"{name} has shape {tuple(x.shape)}; give one example, (p,) or (1, p).")
    return x


def check_estimator(estimator: Any) -> None:
    """Refuse what does not encode and decode rows; one that is not fitted says so itself."""
    is_class = isinstance(estimator, type)
    if is_class or not all(hasattr(estimator, method) for method in ("transform", "inverse_transform")):
        given = f"the class {estimator.__name__}" if is_class else f"of type {type(estimator).__name__}"
        raise InvalidTypeError(f"estimator is {given}; give a fitted estimator with transform and inverse_transform.")


def refuse_texts(estimator: Any) -> None:
    """Refuse a model of texts where rows of numbers are needed."""
    if getattr(estimator, "vocabulary_", None) is not None:
        raise InvalidParameterError(
            f"{type(estimator).__name__} was fitted on texts, and this is for models of rows of numbers; look at its "
            f"units with top_words and unit_texts."
        )


def has_gates(estimator: Any) -> bool:
    """Say whether units of a fitted estimator can be off; refuse what is not fitted, or not of this library."""
    module = getattr(estimator, "module_", None)
    if module is None:
        raise InvalidParameterError(
            f"{type(estimator).__name__} has no module_ that tells whether units have gates; give a fitted estimator "
            f"of this library."
        )
    return bool(module.latent.gated)


def check_columns(estimator: Any, X: Any) -> None:
    """Refuse rows whose columns have other names than the model's, or the same in another order."""
    one_of_a_frame = hasattr(X, "to_frame") and hasattr(X, "index")
    names = X.index if one_of_a_frame else getattr(X, "columns", getattr(X, "var_names", None))
    known = getattr(estimator, "feature_names_in_", None)
    if known is None or names is None or not all(isinstance(name, str) for name in names):
        return
    other = next((pair for pair in zip_longest(names, known) if pair[0] != pair[1]), None)
    if other is not None:
        raise InvalidInputError(
            f"The rows have the column {other[0]!r} where the model was fitted with {other[1]!r}; give the columns in "
            f"the order of feature_names_in_."
        )


def transformed(estimator: Any, X: Any) -> Any:
    """Return what ``transform`` does where scikit-learn is told nothing about its output."""
    with library("sklearn").config_context(transform_output="default"):
        return estimator.transform(X)


@contextmanager
def without_names() -> Generator[None, None, None]:
    """Let rows be encoded that have lost the column names the model was fitted with."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names", UserWarning)
        yield


def map_codes(estimator: Any, X: Any) -> Any:
    """Return the map codes of rows, with or without their column names."""
    with without_names():
        return transformed(estimator, X)


def single_text(x: Any, name: str) -> Any:
    """Return one text as texts of one; a data set of texts stays what it is."""
    if isinstance(x, str):
        return [x]
    n_rows = x.n_rows if hasattr(x, "n_rows") else len(x) if hasattr(x, "__len__") else None
    if n_rows != 1:
        given = f"of type {type(x).__name__}" if n_rows is None else f"{n_rows} of them"
        raise InvalidInputError(f"{name} is {given}, and the model reads texts; give one text.")
    return x


def says_texts(estimator: Any) -> bool:
    """Say whether an estimator says texts word by word."""
    return bool(getattr(estimator, "says_texts", False))


def single(estimator: Any, x: Any, name: str) -> Any:
    """Return one example as the estimator reads many: a row of one, or, where it says texts, a text of one."""
    check_estimator(estimator)
    if says_texts(estimator):
        return single_text(x, name)
    refuse_texts(estimator)
    known = getattr(estimator, "image_shape_", None)
    x = pixel_rows(x, known, getattr(estimator, "_levels", 1), name)
    check_columns(estimator, x)
    return single_row(x, name)


def map_code(estimator: Any, x: Any, name: str) -> np.ndarray:
    """Return the map code of one example, (K,)."""
    return np.asarray(dense(map_codes(estimator, single(estimator, x, name))), dtype=np.float64)[0]


def decode(estimator: Any, codes: np.ndarray) -> np.ndarray:
    """Return the decoder's mean of codes, (n, p), images among them, or the texts that it says, (n,)."""
    decoded = estimator.inverse_transform(codes)
    return np.asarray(decoded) if says_texts(estimator) else flat(np.asarray(decoded, dtype=np.float64))
