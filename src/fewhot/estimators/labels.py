"""Label matrices as users have them: what is accepted, and one sentence for what is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from fewhot.core.errors import InvalidInputError
from fewhot.core.masks import check_unmasked


def label_matrix(y: Any, n_rows: int, name: str = "y") -> np.ndarray:
    """Return labels as a float32 matrix, (n, K); frames, sparse matrices and tensors are taken as they are.

    The rows of labels called ``y_val`` are called ``X_val``.
    """
    rows = name.replace("y", "X", 1)
    if y is None:
        raise InvalidInputError(f"{name} was not given; give a matrix with a row of labels for each row of {rows}.")
    check_unmasked(y, name)
    values = _numbers(y, name)
    if values.ndim != 2 or not values.shape[1]:
        raise InvalidInputError(
            f"{name} has shape {values.shape}; it must be a matrix with a row for each row of {rows} and a column for "
            f"each label{_way_out(name, values)}."
        )
    if len(values) != n_rows:
        raise InvalidInputError(f"{rows} has {n_rows} rows and {name} has {len(values)}; they must have as many.")
    if not np.isfinite(values).all():
        raise InvalidInputError(f"{name} holds NaN or infinite values; it must hold whole numbers.")
    if (values < 0).any() or (values != values.round()).any():
        raise InvalidInputError(
            f"{name} holds negative or fractional values; it must hold whole numbers of at least 0."
        )
    return values.astype(np.float32)


def indicator_matrix(y: Any, n_rows: int, name: str = "y") -> np.ndarray:
    """Return labels as a float32 matrix of zeros and ones, (n, K)."""
    values = label_matrix(y, n_rows, name)
    if values.max(initial=0) > 1:
        raise InvalidInputError(
            f"{name} holds the value {values.max():g}; labels must be 0 or 1. For how often things occur there is "
            f"SDLGMCounter."
        )
    return values


def classes_of(y: Any, n_labels: int) -> np.ndarray:
    """Return what labels are called: the names of a frame's columns, else their numbers."""
    names = _names(y)
    return np.arange(n_labels) if names is None else names


def check_label_names(y: Any, classes: np.ndarray, name: str = "y") -> None:
    """Refuse a frame whose columns are not those of the fit, in their order; what has no names is taken as it is."""
    names, was_named = _names(y), not np.array_equal(classes, np.arange(len(classes)))
    if names is not None and was_named and not np.array_equal(names, classes):
        raise InvalidInputError(
            f"The columns of {name} are not those of the fit in their order; give {_some(classes)}, as classes_ says."
        )


def check_columns(labels: np.ndarray, n_labels: int, name: str = "y") -> None:
    """Refuse labels that a model does not have."""
    if labels.shape[1] != n_labels:
        raise InvalidInputError(
            f"{name} has {labels.shape[1]} columns and the model was fitted on {n_labels} labels; give those."
        )


def as_tensor(labels: np.ndarray) -> Tensor:
    """Return labels as a tensor."""
    return torch.from_numpy(np.ascontiguousarray(labels))


def _numbers(y: Any, name: str) -> np.ndarray:
    """Return labels as an array of real numbers; sparse ones become float32 at once."""
    if sp.issparse(y):
        y = y.astype(np.float32).toarray() if y.dtype.kind in "biuf" else y.toarray()
    elif isinstance(y, Tensor):
        y = _of_tensor(y)
    plain = y.to_numpy() if hasattr(y, "to_numpy") else y
    try:
        values = np.asarray(plain)
        if values.dtype.kind in "OV":
            values = np.asarray(plain, dtype=np.float64)
    except (TypeError, ValueError) as error:
        if _lacks_some(plain):
            raise InvalidInputError(f"{name} has missing values; fill them in or drop their rows first.") from error
        values = np.empty(0, dtype="U")
    if values.dtype.kind not in "biuf":
        raise InvalidInputError(
            f"{name} does not hold numbers; give a matrix of them, such as scikit-learn's MultiLabelBinarizer makes."
        )
    return values


def _of_tensor(y: Tensor) -> np.ndarray:
    """Return a tensor of any layout, of numbers that numpy need not know, as an array."""
    dense = y.detach().to_dense() if y.layout != torch.strided else y.detach()
    return (dense.float() if dense.dtype == torch.bfloat16 else dense).cpu().numpy()


def _lacks_some(plain: Any) -> bool:
    """Say whether an array of objects has an entry that stands for none, of Python or of pandas."""
    entries = plain.ravel() if isinstance(plain, np.ndarray) and plain.dtype.kind == "O" else ()
    return any(type(entry).__name__ in ("NoneType", "NAType", "NaTType") for entry in entries)


def _names(y: Any) -> np.ndarray | None:
    """Return the names of the columns of a frame, whole numbers as such; None for anything else."""
    columns = getattr(y, "columns", None)
    if columns is None:
        return None
    names = list(columns)
    if all(isinstance(name, int | np.integer) for name in names):
        return np.asarray(names, dtype=np.int64)
    return np.asarray([str(name) for name in names], dtype=object)


def _way_out(name: str, values: np.ndarray) -> str:
    """Return how labels in one axis become a matrix."""
    if values.ndim != 1:
        return ""
    return (
        f": {name}.reshape(-1, 1) for one label that is there or not, or scikit-learn's LabelBinarizer for one class "
        f"of several a row"
    )


def _some(classes: np.ndarray) -> str:
    shown = ", ".join(repr(name) for name in classes[:3].tolist())
    return shown if len(classes) <= 3 else f"{shown} and so on"
