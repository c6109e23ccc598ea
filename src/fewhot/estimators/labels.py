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
    """Return labels as a float32 matrix, (n, K); frames, sparse matrices and tensors are taken as they are."""
    if y is None:
        raise InvalidInputError(f"{name} was not given; give a matrix with a row of labels for each row of X.")
    check_unmasked(y, name)
    plain = _plain(y)
    try:
        values = np.asarray(plain, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"{name} does not hold numbers; give a matrix of them, such as scikit-learn's MultiLabelBinarizer makes."
        ) from error
    if values.ndim != 2 or not values.shape[1]:
        raise InvalidInputError(
            f"{name} has shape {values.shape}; it must be a matrix with a row for each row of X and a column for each "
            f"label."
        )
    if len(values) != n_rows:
        raise InvalidInputError(f"X has {n_rows} rows and {name} has {len(values)}; they must have as many.")
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


def label_names(y: Any) -> np.ndarray | None:
    """Return the names of the columns of a frame; None for anything else."""
    columns = getattr(y, "columns", None)
    return None if columns is None else np.asarray([str(name) for name in columns], dtype=object)


def as_tensor(labels: np.ndarray) -> Tensor:
    """Return labels as a tensor."""
    return torch.from_numpy(np.ascontiguousarray(labels))


def _plain(y: Any) -> Any:
    if sp.issparse(y):
        return y.toarray()
    if isinstance(y, Tensor):
        return y.detach().cpu().numpy()
    return y.to_numpy() if hasattr(y, "to_numpy") else y
