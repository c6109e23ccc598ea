"""Recognising what the user handed over, without importing the library it came from."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from fewhot.core.errors import InvalidInputError, InvalidTypeError
from fewhot.data.dataset import Dataset
from fewhot.data.dense import DenseDataset
from fewhot.data.ragged import RaggedDataset

ACCEPTED = (
    "numpy arrays, scipy sparse matrices, pandas or polars frames, torch tensors, AnnData and memory-mapped arrays"
)


def as_matrix(X: Any) -> Any:
    """Return what scikit-learn's validation understands: an array, a sparse matrix or a frame.

    AnnData gives its ``.X``; torch tensors become arrays on the host; text is refused with a sentence.
    """
    library = type(X).__module__.partition(".")[0]
    if library == "anndata" and hasattr(X, "obs"):
        return _in_memory(X.X)
    if isinstance(X, torch.Tensor) and X.layout != torch.strided:
        raise InvalidTypeError("X is a sparse torch tensor; pass it as a scipy.sparse.csr_array.")
    if isinstance(X, torch.Tensor):
        return X.detach().cpu().float().numpy() if X.dtype == torch.bfloat16 else X.detach().cpu().numpy()
    if isinstance(X, str | bytes | dict | set) or X is None:
        raise InvalidTypeError(f"X is of type {type(X).__name__}, which is not recognised; accepted are {ACCEPTED}.")
    if isinstance(X, list | tuple) and len(X) and isinstance(X[0], str):
        raise InvalidTypeError(f"X is a list of strings, and this model reads numbers; accepted are {ACCEPTED}.")
    return X


def as_dataset(X: Any) -> Dataset:
    """Return the data set of a validated array or sparse matrix."""
    dataset = RaggedDataset.of(X) if sp.issparse(X) else DenseDataset.of(X)
    limit = float(np.finfo(np.float32).max)
    if dataset.spec.maximum > limit or dataset.spec.minimum < -limit:
        raise InvalidInputError(
            f"X holds values as large as {max(dataset.spec.maximum, -dataset.spec.minimum):.3g}, beyond float32's "
            f"{limit:.3g}; rescale the columns first."
        )
    return dataset


def _in_memory(matrix: Any) -> Any:
    if hasattr(matrix, "to_memory"):
        return matrix.to_memory()
    return matrix if hasattr(matrix, "toarray") or isinstance(matrix, np.ndarray) else matrix[()]
