"""Rows as they are drawn: a few at a time, as pictures, profiles or named columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from fewhot.core.checks import one_each, whole_number
from fewhot.core.errors import InvalidInputError, InvalidParameterError
from fewhot.core.sparse import check_entries
from fewhot.data import as_matrix
from fewhot.data.dataset import varying_columns
from fewhot.data.pixels import BRIGHT, BYTE, CHANNELS, pixel_rows
from fewhot.data.recognise import as_array
from fewhot.metrics.examples import check_columns, check_estimator, refuse_texts
from fewhot.metrics.matrices import stored
from fewhot.plots.canvas import label

PROFILE_COLUMNS = 200
"""Up to so many unnamed columns are drawn as one line; beyond, or with names, the columns that matter are listed."""
_DARK = 0.25
"""Pictures that are darker than this all over are brightened."""
_BEYOND = 0.1
_UNEQUAL = 3.0
"""Columns whose spreads differ by more than this factor are drawn in units of their spread."""


def matrix_of(X: Any, name: str = "X") -> Any:
    """Return rows as a CSR or a numpy matrix; a single row becomes a matrix of one."""
    X = as_matrix(X, name)
    matrix: Any = sp.csr_array(X) if sp.issparse(X) else as_array(X, name)
    matrix = matrix[None] if matrix.ndim == 1 else matrix
    if matrix.ndim != 2 or not matrix.shape[0] or not matrix.shape[1]:
        raise InvalidInputError(f"{name} has shape {matrix.shape}; give at least one row and one column, (n, p).")
    return matrix


def matrix_for(estimator: Any, X: Any, name: str = "X") -> Any:
    """Return rows as `matrix_of` does; the columns of a frame must be the estimator's, in their order."""
    check_estimator(estimator)
    refuse_texts(estimator)
    check_columns(estimator, X)
    known = getattr(estimator, "image_shape_", None)
    return matrix_of(pixel_rows(X, known, getattr(estimator, "_levels", 1), name), name)


def shape_for(estimator: Any, image_shape: Sequence[int] | None) -> Sequence[int] | None:
    """Return how rows are pictures: as was asked, or as the images of the fit."""
    return getattr(estimator, "image_shape_", None) if image_shape is None else image_shape


def background_for(estimator: Any, background: Any, n_columns: int) -> Any:
    """Return rows that say what is usual, finite and as wide as the rows drawn; None stays None."""
    if background is None:
        return None
    matrix = matrix_for(estimator, background, "background")
    if matrix.shape[1] != n_columns:
        raise InvalidInputError(
            f"background has {matrix.shape[1]} columns and the rows have {n_columns}; give rows of the same columns."
        )
    if not np.isfinite(stored(matrix)).all():
        raise InvalidInputError("background contains NaN or infinity; give finite numbers.")
    return matrix


def dense(X: Any, rows: Any = slice(None)) -> np.ndarray:
    """Return the chosen rows as a dense array; only these are ever made dense."""
    chosen = X[rows]
    return np.asarray(chosen.toarray() if sp.issparse(chosen) else chosen, dtype=np.float64)


def values_of(codes: Any) -> Any:
    """Return the (n, K) values of codes, given as `Codes`, a sparse matrix or an array."""
    codes = getattr(codes, "values", codes)
    if sp.issparse(codes):
        check_entries(codes, "codes")
    codes = sp.csr_array(codes) if sp.issparse(codes) else np.asarray(codes)
    if codes.ndim != 2 or not codes.shape[0] or not codes.shape[1]:
        raise InvalidInputError(
            f"Codes of shape {codes.shape} were given; a plot takes (rows, units) with at least one of each, as "
            f"transform returns."
        )
    return codes


def row_names(labels: Sequence[Any] | None, n_rows: int, n_shown: int) -> list[str]:
    """Return what is written at each row shown: its label, where every row has one, or its number."""
    if labels is None:
        return [f"row {row}" for row in range(n_shown)]
    return [label(name, 16) for name in one_each("labels", labels, n_rows, "rows")[:n_shown]]


def picture_shape(image_shape: Sequence[int], n_columns: int) -> tuple[int, ...]:
    """Return ``image_shape`` if rows of ``n_columns`` can be folded to it and it can be drawn."""
    sizes = image_shape if np.iterable(image_shape) else ()
    shape = tuple(whole_number("each of image_shape", size) for size in sizes)
    drawable = len(shape) == 2 or (len(shape) == 3 and (_channels_last(shape) or shape[0] in (1, 3)))
    if not drawable or math.prod(shape) != n_columns:
        raise InvalidParameterError(
            f"image_shape is {shape or image_shape!r} and the rows have {n_columns} columns; it must be (height, "
            f"width) or (height, width, 3) whose product is the number of columns."
        )
    return shape


def _channels_last(shape: tuple[int, ...]) -> bool:
    return shape[-1] in (1, 3) or (shape[-1] in CHANNELS and shape[0] not in (1, 3))


def pictures(rows: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Fold rows (n, p) to grey (n, h, w) or coloured (n, h, w, 3 or 4) pictures; channels may come first or last."""
    folded = rows.reshape(-1, *shape)
    if len(shape) == 3 and not _channels_last(shape):
        folded = np.moveaxis(folded, 1, -1)
    return folded[..., 0] if folded.ndim == 4 and folded.shape[-1] == 1 else folded


def grey_range(rows: np.ndarray) -> tuple[float, float]:
    """Return the values of black and white: 0 and 1, 0 and 255, or the extremes of the rows.

    Bytes that a decoder makes may lie a little outside of 0 to 255.
    """
    low, high = float(rows.min(initial=0.0)), float(rows.max(initial=0.0))
    if low >= 0 and high <= 1:
        return 0.0, high if 0 < high < _DARK else 1.0
    near = _BEYOND * BYTE
    return (0.0, float(BYTE)) if low >= -near and BRIGHT <= high <= BYTE + near else (low, high)


def shades(pixels: np.ndarray, low: float, high: float) -> np.ndarray:
    """Bring values to [0, 1], black to white."""
    return np.clip((pixels - low) / (high - low), 0, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """How the columns of rows that are no pictures are named and scaled.

    Attributes
    ----------
    names
        One name a column, or None.
    n
        Number of columns.
    centre, scale
        What is taken off and divided by before drawing, (p,) or a scalar; columns that are constant but for rounding
        errors are divided by infinity, so that none of their values are drawn.
    """

    names: Sequence[str] | None
    n: int
    centre: np.ndarray | float = 0.0
    scale: np.ndarray | float = 1.0

    @classmethod
    def of(cls, n: int, names: Sequence[str] | None, background: Any = None) -> Columns:
        """Look at ``background`` to see whether columns need a common scale; sparse rows are drawn as they are."""
        names = None if names is None else one_each("feature_names", names, n, "columns")
        if background is None or sp.issparse(background) or len(background) < 2:
            return cls(names=names, n=n)
        background = np.asarray(background, dtype=np.float64)
        centre, spread = background.mean(axis=0), background.std(axis=0)
        varies = varying_columns(torch.from_numpy(centre), torch.from_numpy(spread)).numpy()
        moving = spread[varies]
        if (
            not len(moving)
            or moving.max() <= _UNEQUAL * moving.min()
            or (background.min() >= 0 >= background.max() - 1)
        ):
            return cls(names=names, n=n)
        return cls(names=names, n=n, centre=centre, scale=np.where(varies, spread, np.inf))

    @property
    def scaled(self) -> bool:
        """Whether values are drawn in standard deviations from the mean."""
        return not np.isscalar(self.scale)

    @property
    def profile(self) -> bool:
        """Whether a row is drawn as one line over its columns."""
        return self.names is None and self.n <= PROFILE_COLUMNS

    @property
    def unit(self) -> str:
        """Name the scale of drawn values."""
        return "standard deviations from the mean" if self.scaled else "value"

    def name(self, column: int, longest: int = 30) -> str:
        """Return the label of a column."""
        return f"column {column}" if self.names is None else label(self.names[column], longest)

    def level(self, rows: np.ndarray) -> np.ndarray:
        """Return rows as drawn."""
        return (rows - self.centre) / self.scale

    def change(self, rows: np.ndarray) -> np.ndarray:
        """Return differences of rows as drawn."""
        return rows / self.scale
