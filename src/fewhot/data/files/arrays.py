"""Arrays and matrices: .npy, .npz, .mtx, .h5ad and folders of sparse rows."""

from __future__ import annotations

import math
import warnings
import zipfile
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from fewhot.core.errors import DataError, InvalidInputError
from fewhot.core.warning import warn_caller
from fewhot.data.dense import MAPPED_ABOVE_BYTES
from fewhot.data.files.table import Table, as_float32, check_finite, encode_labels, refuse_dtype, unreadable
from fewhot.data.pixels import (
    AS_FOUND,
    Folding,
    brought_down,
    check_same_shape,
    fold_of,
    image_shape_of,
    in_words,
    look_like_pixels,
    squares,
)
from fewhot.data.stored import open_rows


def read_npy(path: Path, label: str | int | None = None, folding: Folding = AS_FOUND) -> Table:
    """Open an array, memory-mapped: float32 is never loaded, other types are converted unless they are large.

    Of three or four axes it holds images, and `images_of` says what becomes of them.
    """
    _no_label_column(path, label)
    try:
        array = np.lib.format.open_memmap(path, mode="r")
    except ValueError as error:
        raise _npy_error(path, error) from error
    if array.dtype.kind not in "biuf":
        refuse_dtype(array.dtype, path)
    if are_images(array, path, folding):
        return images_of(array, path, folding)
    if array.ndim == 2 and array.size and array.dtype != np.float32 and array.nbytes > MAPPED_ABOVE_BYTES:
        check_finite(array, path)
        return Table(X=array)
    return Table(X=as_float32(array, path))


def read_npz(path: Path, label: str | int | None = None, folding: Folding = AS_FOUND) -> Table:
    """Read a dense matrix (the array "X", or the only one with two axes) or one that `scipy.sparse.save_npz` wrote.

    Of three or four axes it holds images. An array "y" gives the labels, a matrix of whole numbers "Y" several of each
    row beside an "X", and strings called "feature_names" the columns' names.
    """
    _no_label_column(path, label)
    if not zipfile.is_zipfile(path):
        raise unreadable(path, "an .npz archive")
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            names = archive.files
            sparse = {"format", "shape", "data"} <= set(names)
            matrix: Any = sp.load_npz(path) if sparse else archive[_matrix_name(path, archive)]
            y = archive["y"] if "y" in names else _label_matrix(archive)
            columns = archive["feature_names"].astype(str).tolist() if "feature_names" in names else None
    except DataError:
        raise
    except (ValueError, KeyError, zipfile.BadZipFile, zlib.error, EOFError, OSError, TypeError) as error:
        pickled = "object" in str(error).lower()
        raise (_pickled(path) if pickled else unreadable(path, "an .npz archive")) from error
    n_rows, n_columns = (*matrix.shape, 0, 0)[:2]
    labels, label_names = (None, None) if y is None else encode_labels(y, path, n_rows)
    if isinstance(matrix, np.ndarray) and matrix.dtype.kind in "biuf" and are_images(matrix, path, folding):
        return replace(images_of(matrix, path, folding), y=labels, label_names=label_names)
    if columns is not None and len(columns) != n_columns:
        raise DataError(f"{path} has {len(columns)} feature_names for {n_columns} columns; save one name a column.")
    X = as_float32(matrix, path, columns)
    return Table(X=X, y=labels, feature_names=columns, label_names=label_names)


def read_mtx(path: Path, label: str | int | None = None) -> Table:
    """Read a Matrix Market file: coordinates stay sparse, the array form is dense."""
    from scipy.io import mmread

    _no_label_column(path, label)
    try:
        matrix = mmread(path)
    except (ValueError, OverflowError, OSError, StopIteration, EOFError) as error:
        raise unreadable(path, "a Matrix Market file") from error
    return Table(X=as_float32(matrix, path))


def read_rows_folder(path: Path, label: str | int | None = None) -> Table:
    """Read all rows of a folder that `write_rows` made."""
    _no_label_column(path, label)
    rows = open_rows(path)
    return Table(X=as_float32(rows.tocsr(), path), feature_names=rows.names)


def read_h5ad(path: Path, label: str | int | None = None) -> Table:
    """Read an AnnData file: ``.X``, the names of its variables, and a column of ``.obs`` as labels if asked for."""
    try:
        import anndata
    except ImportError as error:
        raise DataError(f"Reading {path} needs anndata; install it by: pip install 'fewhot[files]'.") from error
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the spelling of old files, which are read all the same
            data = anndata.read_h5ad(path)
    except Exception as error:
        raise unreadable(path, "an .h5ad file") from error
    if data.X is None:
        raise DataError(f"{path} has no matrix .X; put the layer to be read into .X and write it again.")
    names = [str(name) for name in data.var_names]
    X = as_float32(data.X, path, names)
    if label is None:
        return Table(X=X, feature_names=names)
    if label not in data.obs:
        known = ", ".join(map(str, data.obs.columns)) or "none"
        raise DataError(f"{path} has no column {label!r} in .obs for the labels; its columns: {known}.")
    y, label_names = encode_labels(np.asarray(data.obs[label]), path, data.n_obs)
    return Table(X=X, y=y, feature_names=names, label_names=label_names)


def are_images(array: np.ndarray, path: Path, folding: Folding) -> bool:
    """Say whether an array holds images: by its axes, because a shape was asked for, or because its bytes look so.

    Flat rows of bytes that are square pictures are taken as such, which is said; others that look like pixels are
    refused, for as counts they would be fitted badly.
    """
    if not array.size or array.ndim not in (2, 3, 4):
        return False
    if array.ndim > 2:
        return True
    if folding.asked is not None or folding.fitted is not None:
        return True
    if not look_like_pixels(array):
        return False
    shape, n = squares(array.shape[1]), array.shape[1]
    if shape is None:
        raise DataError(
            f"{path} holds {n:,} columns of bytes from {array.min()} to {array.max()}, which look like pixels; say how "
            f"a row is a picture with image_shape=HEIGHTxWIDTH, or save counts in another type, such as int32."
        )
    warn_caller(
        f"{path} holds {n:,} columns of bytes from {array.min()} to {array.max()}, which are taken as pictures of "
        f"{in_words(shape)} pixels; image_shape=HEIGHTxWIDTH names another shape.",
        UserWarning,
    )
    return True


def images_of(array: np.ndarray, path: Path, folding: Folding) -> Table:
    """Return images, or flat rows that are images, as rows of pixels: whole numbers from 0 to 255 divided by 255.

    Where whole numbers do not reach 128, and are not stored as bytes, they stay as they are, and so do fractions.
    """
    try:
        if array.ndim > 2:
            shape = image_shape_of(array, str(path))
            if folding.fitted is not None:
                check_same_shape(shape, folding.fitted, str(path))
            elif folding.asked is not None and folding.asked[:2] != shape[:2]:
                raise DataError(
                    f"{path} holds images of {in_words(shape)}, and image_shape={in_words(folding.asked)} was asked "
                    f"for; leave it out, for it is for flat rows and folders of pictures."
                )
        elif folding.fitted is not None and math.prod(folding.fitted) != array.shape[1]:
            return Table(X=as_float32(array, path))  # of other columns, which is for the fit to refuse
        else:
            wanted = folding.fitted or folding.asked or squares(array.shape[1])
            assert wanted is not None
            shape = fold_of(array.shape[1], wanted, str(path))
        rows = array.reshape(len(array), -1)
        check_finite(rows, path)
        X = as_float32(brought_down(rows, folding.levels, str(path)), path)
    except InvalidInputError as error:
        raise DataError(str(error)) from error
    return Table(X=X, image_shape=folding.fitted or shape)


def _matrix_name(path: Path, archive: Any) -> str:
    if "X" in archive.files:
        return "X"
    axes = {name: archive[name].ndim for name in archive.files if name != "y"}
    candidates = [name for name, n in axes.items() if n == 2] or [name for name, n in axes.items() if n in (3, 4)]
    if len(candidates) == 1:
        return candidates[0]
    found = f"arrays with two to four axes: {', '.join(candidates)}" if candidates else "no array with two axes"
    raise DataError(f"{path} has no array called 'X' and {found}; save the matrix as np.savez(path, X=matrix).")


def _label_matrix(archive: Any) -> np.ndarray | None:
    """Return the array "Y" beside an "X" where it is a matrix of whole numbers."""
    if not {"X", "Y"} <= set(archive.files):
        return None
    labels = archive["Y"]
    return labels if labels.ndim == 2 and labels.dtype.kind in "biu" else None


def _npy_error(path: Path, error: ValueError) -> DataError:
    return _pickled(path) if "object" in str(error).lower() else unreadable(path, "an .npy array")


def _pickled(path: Path) -> DataError:
    return DataError(
        f"{path} holds Python objects, which are stored as pickle and never loaded, for they can run code; "
        f"save an array of numbers."
    )


def _no_label_column(path: Path, label: str | int | None) -> None:
    if label is not None:
        raise DataError(
            f"label is {label!r}, and a {path.suffix} file has no named columns; put the labels into an .npz file "
            f"beside the matrix: np.savez(path, X=matrix, y=labels)."
        )
