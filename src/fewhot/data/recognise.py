"""Recognising what the user handed over, without importing the library it came from."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from fewhot.core.errors import FewhotError, InvalidInputError, InvalidTypeError
from fewhot.core.masks import check_unmasked
from fewhot.core.sparse import check_entries
from fewhot.data.dataset import Dataset
from fewhot.data.dense import DenseDataset
from fewhot.data.ragged import RaggedDataset, canonical
from fewhot.data.stored import BackedRows, StoredDataset, StoredRows
from fewhot.data.tables.problems import check_frame
from fewhot.data.text import is_text, text_dataset

ACCEPTED = (
    "numpy arrays, scipy sparse matrices, pandas or polars frames, torch tensors, AnnData, memory-mapped arrays, "
    "arrays of images and, for texts, lists of strings"
)

LARGEST = 1e18
"""Beyond this, float32 cannot hold the sum of a few hundred squares."""

_TIMES = ("date", "time", "period", "duration")
"""How the names of types of dates, times and spans of time begin, in numpy, pandas and polars alike."""


def as_matrix(X: Any, name: str = "X") -> Any:
    """Return what scikit-learn's validation understands: an array, a sparse matrix or a frame.

    AnnData gives its ``.X``. Sparse rows on disk stay there: those of an AnnData that is backed, and those that
    `open_rows` opened. Torch tensors become arrays on the host; text, dates, masked entries, frames without columns and
    sparse matrices with entries outside of them are refused with a sentence that calls the data ``name``.
    """
    library = _library_of(X)
    if _is_anndata(X):
        _refuse_twice(X.var_names, "variable", name, f"; call {name}.var_names_make_unique() first.")
        backed = getattr(X, "isbacked", False) and getattr(X.X, "format", None) == "csr"
        if backed:
            return BackedRows(X.X)
        X = _in_memory(X.X)
    if isinstance(X, StoredRows):
        return X
    if sp.issparse(X):  # before dictionaries, of which scipy's dok is one
        check_entries(X, name)
        return X
    if isinstance(X, torch.Tensor) and X.layout != torch.strided:
        raise InvalidTypeError(f"{name} is a sparse torch tensor; pass it as a scipy.sparse.csr_array.")
    if isinstance(X, torch.Tensor):
        return X.detach().cpu().float().numpy() if X.dtype == torch.bfloat16 else X.detach().cpu().numpy()
    if isinstance(X, str | bytes | dict | set) or X is None:
        raise InvalidTypeError(
            f"{name} is of type {type(X).__name__}, which is not recognised; accepted are {ACCEPTED}."
        )
    if isinstance(X, list | tuple) and not len(X):
        raise InvalidInputError(f"{name} is empty; give at least one row, or one text.")
    if isinstance(X, list | tuple) and isinstance(X[0], str):
        raise InvalidTypeError(f"{name} is a list of strings, and this model reads numbers; accepted are {ACCEPTED}.")
    if library == "polars" and type(X).__name__ == "LazyFrame":
        raise InvalidTypeError(f"{name} is a polars LazyFrame; pass {name}.collect().")
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        _check_frame(X, name)
    elif isinstance(X, np.ndarray):
        check_unmasked(X, name)
        _refuse_times(name, X.dtype)
    return X


def as_csr(X: Any, name: str = "X") -> Any:
    """Return a matrix of real numbers in any accepted container as canonical CSR, in memory."""
    matrix = as_matrix(X, name)
    if isinstance(matrix, StoredRows):
        return matrix.tocsr()
    matrix = matrix if sp.issparse(matrix) else as_array(matrix, name)
    if matrix.dtype.kind == "c":
        raise InvalidInputError(f"{name} holds complex numbers; pass real numbers.")
    if matrix.ndim != 2:
        raise InvalidInputError(f"{name} has shape {tuple(matrix.shape)}; give a matrix, (rows, columns).")
    return canonical(matrix, name)


def named_columns(X: Any) -> Any:
    """Return what scikit-learn finds the names of columns in: for an AnnData an empty frame, else X itself."""
    return X.var.iloc[:, :0].T if _is_anndata(X) else X


def column_names(X: Any) -> list[str] | None:
    """Return what the columns of a frame, an AnnData or rows on disk are called; None without names that are text."""
    if _is_anndata(X):
        names = list(X.var_names)
    elif isinstance(X, StoredRows):
        names = X.names
    else:
        names = list(X.columns) if hasattr(X, "columns") and hasattr(X, "dtypes") else None
    return names if names is not None and all(isinstance(name, str) for name in names) else None


def as_dataset(X: Any, name: str = "X", levels: int = 1, image_shape: tuple[int, ...] | None = None) -> Dataset:
    """Return the data set of a validated array or sparse matrix, or of strings, which are texts.

    Of images, ``levels`` is what pixels are divided by, and ``image_shape`` how a row folds into one.

    >>> as_dataset(["few hot", "few"]).spec.kind
    'text'
    """
    if is_text(X):
        return text_dataset(X, name=name)
    if isinstance(X, StoredRows):
        dataset: Dataset = StoredDataset.of(X, name)
    else:
        dataset = RaggedDataset.of(X) if sp.issparse(X) else DenseDataset.of(X, levels, image_shape)
    check_scale(max(dataset.spec.maximum, -dataset.spec.minimum), name)
    return dataset


def check_scale(largest: float, name: str = "X") -> None:
    """Refuse data whose largest number, its sign apart, is beyond what a fit can square and add up."""
    if largest > LARGEST:
        raise InvalidInputError(
            f"{name} holds values as large as {largest:.3g}, whose squares float32 cannot add up; rescale the columns "
            f"first."
        )


def as_array(rows: Any, name: str) -> np.ndarray:
    """Return rows as an array of numbers; objects that are numbers become float64."""
    try:
        array = np.asarray(rows)
        array = np.asarray(rows, dtype=np.float64) if array.dtype.kind == "O" else array
    except FewhotError:  # of rows on disk, which know better
        raise
    except (TypeError, ValueError):
        array = np.empty(0, dtype=object)
    if array.dtype.kind not in "biufc":
        raise InvalidTypeError(
            f"{name} is no matrix of numbers; give rows of equal length, and convert the text columns to numbers first."
        )
    return array


def _check_frame(frame: Any, name: str) -> None:
    if not len(frame.columns):
        raise InvalidInputError(
            f"{name} is a frame of shape {tuple(frame.shape)}; give at least one row and one column."
        )
    _refuse_twice(frame.columns, "column", name, "; give each a name of its own.")
    if len(frame):
        check_frame(((str(column), frame[column]) for column in frame.columns), name)


def _refuse_twice(names: Any, what: str, name: str, remedy: str) -> None:
    twice = next((given for given, times in Counter(map(str, names)).items() if times > 1), None)
    if twice is not None:
        raise InvalidInputError(f"{name} has more than one {what} called {twice!r}{remedy}")


def _refuse_times(what: str, dtype: Any) -> None:
    if str(dtype).lower().startswith(_TIMES):
        raise InvalidTypeError(
            f"{what} holds dates or times ({dtype}); turn them into numbers first, such as days since a start."
        )


def _library_of(X: Any) -> str:
    return type(X).__module__.partition(".")[0]


def _is_anndata(X: Any) -> bool:
    return _library_of(X) == "anndata" and hasattr(X, "obs")


def _in_memory(matrix: Any) -> Any:
    if hasattr(matrix, "to_memory"):
        return matrix.to_memory()
    if matrix is None or hasattr(matrix, "toarray") or isinstance(matrix, np.ndarray):
        return matrix
    return matrix[()]
