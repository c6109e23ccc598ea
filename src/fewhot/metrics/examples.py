"""One example at a time: its row, and its code."""

from __future__ import annotations

import warnings
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import numpy as np

from fewhot.core.errors import InvalidInputError
from fewhot.metrics.matrices import dense


def single_row(x: Any, name: str) -> Any:
    """Return one example as rows of one, (1, p); arrays, sparse matrices, frames and tensors stay what they are."""
    x = x if hasattr(x, "shape") else np.asarray(x)
    if len(x.shape) == 1:
        x = (x if hasattr(x, "reshape") else np.asarray(x)).reshape(1, -1)
    if len(x.shape) != 2 or x.shape[0] != 1:
        raise InvalidInputError(f"{name} has shape {tuple(x.shape)}; give one example, (p,) or (1, p).")
    return x


@contextmanager
def without_names() -> Generator[None, None, None]:
    """Let rows be encoded that have lost the column names the model was fitted with."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names", UserWarning)
        yield


def map_codes(estimator: Any, X: Any) -> Any:
    """Return the map codes of rows, with or without their column names."""
    with without_names():
        return estimator.transform(X)


def map_code(estimator: Any, x: Any, name: str) -> np.ndarray:
    """Return the map code of one example, (K,)."""
    return np.asarray(dense(map_codes(estimator, single_row(x, name))), dtype=np.float64)[0]


def decode(estimator: Any, codes: np.ndarray) -> np.ndarray:
    """Return the decoder's mean of codes, (n, p)."""
    return np.asarray(estimator.inverse_transform(codes), dtype=np.float64)
