"""Images as rows: one row an image, pixels line by line, channels last; bytes are pixels in [0, 1]."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from fewhot.core.errors import InvalidInputError, InvalidParameterError
from fewhot.data.recognise import as_matrix

CHANNELS = (1, 3, 4)
"""How many numbers a pixel may have: grey, color, and color with opacity."""
BYTE = 255

BRIGHT = 128
"""Whole numbers that are not stored as bytes are taken for such if one is so large; others have a unit of their own."""
_COMMON = 16
"""Of counts, most are 1 or 2; of pixels that are not black, half are brighter than this."""
_LEAST_SIDE = 8
MIN_PIXELS = 64
"""Tables of fewer columns are not taken for pictures."""

Shape = tuple[int, ...]
"""(height, width) or (height, width, channels)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Folding:
    """How rows of a file are images.

    Attributes
    ----------
    asked
        The shape that was asked for; None where files say it themselves.
    fitted
        The shape of the images of an earlier fit; None where there was none, or it was of rows that are no images.
    levels
        What whole-number pixels of that fit were divided by.
    """

    asked: Shape | None = None
    fitted: Shape | None = None
    levels: int | None = None

    @property
    def size(self) -> tuple[int, int] | None:
        """Height and width that pictures are brought to; None for their own."""
        return None if self.asked is None else (self.asked[0], self.asked[1])

    @property
    def channels(self) -> int | None:
        """1 or 3 where that is settled."""
        known = self.fitted or (self.asked if self.asked is not None and len(self.asked) == 3 else None)
        return None if known is None else (known[2] if len(known) == 3 else 1)


AS_FOUND = Folding()
"""Images are what files say themselves."""


def parsed_shape(given: str | Sequence[int]) -> Shape:
    """Return the shape that a text such as "112x92" or "28x20x3" means, or a sequence of its numbers.

    >>> parsed_shape("112x92"), parsed_shape((28, 20, 3))
    ((112, 92), (28, 20, 3))
    """
    numbers = re.split(r"\s*[x×X,]\s*", given.strip("()[] ")) if isinstance(given, str) else list(given)
    try:
        shape = tuple(int(number) for number in numbers)
    except (TypeError, ValueError):
        shape = ()
    if len(shape) not in (2, 3) or min(shape) < 1 or shape[2:] not in ((), *((n,) for n in CHANNELS)):
        raise InvalidParameterError(
            f"image_shape is {given!r}; it must be HEIGHTxWIDTH, such as 112x92, or HEIGHTxWIDTHx3 for color."
        )
    return shape


def in_words(shape: Shape) -> str:
    """Return a shape as it is written: "112x92".

    >>> in_words((28, 20, 3))
    '28x20x3'
    """
    return "x".join(map(str, shape))


def squares(n_columns: int) -> Shape | None:
    """Return the square picture, gray or in color, that so many numbers can be; None where there is none.

    >>> squares(784), squares(3072), squares(560)
    ((28, 28), (32, 32, 3), None)
    """
    for channels in (1, 3):
        side = math.isqrt(n_columns // channels)
        if side >= _LEAST_SIDE and channels * side**2 == n_columns:
            return (side, side) if channels == 1 else (side, side, 3)
    return None


def fold_of(n_columns: int, shape: Shape, name: str = "X") -> Shape:
    """Return ``shape``, in color where rows have three numbers a pixel; refuse one that rows do not fold to."""
    color = (*shape[:2], 3)
    if math.prod(shape) == n_columns:
        return shape
    if len(shape) == 2 and math.prod(color) == n_columns:
        return color
    raise InvalidInputError(
        f"{name} has {n_columns:,} columns, and images of {in_words(shape)} have {math.prod(shape):,} pixels"
        f"{', in color ' + format(math.prod(color), ',') if len(shape) == 2 else ''}; give image_shape=HEIGHTxWIDTH "
        f"whose product is the number of columns."
    )


def look_like_pixels(rows: np.ndarray) -> bool:
    """Say whether rows of bytes are pixels: bright ones among them, and most of those that are not 0 far from it."""
    return rows.dtype == np.uint8 and rows.size > 0 and are_bright(rows)


def are_bright(rows: np.ndarray) -> bool:
    """Say whether whole numbers from 0 to 255 spread as pixels do, and not as counts."""
    if rows.max() < BRIGHT:
        return False
    some = rows[:: max(1, len(rows) // 1000)]
    return float(np.median(some[some > 0])) >= _COMMON if some.any() else False


def stacked(X: Any, name: str = "X") -> Any:
    """Return a list of images as one array; anything else as it is."""
    if not isinstance(X, list | tuple) or not X or not _is_image(X[0]):
        return X
    images = [np.asarray(image) for image in X]
    other = next((image for image in images if image.shape != images[0].shape), None)
    if other is not None:
        raise InvalidInputError(
            f"{name} holds images of shape {images[0].shape} and {other.shape}; resize them to one shape first."
        )
    return np.stack(images)


def is_images(X: Any) -> bool:
    """Say whether an array has more axes than a matrix."""
    return isinstance(X, np.ndarray) and X.ndim > 2


def image_shape_of(X: np.ndarray, name: str = "X") -> Shape:
    """Return the shape of the images in an array, (n, height, width) or (n, height, width, channels)."""
    shape = tuple(map(int, X.shape[1:]))
    if X.ndim == 4 and shape[-1] not in CHANNELS:
        hint = "; channels come last: bring them there by transpose(0, 2, 3, 1)" if shape[0] in CHANNELS else ""
        raise InvalidInputError(
            f"{name} has shape {X.shape}, and images are (n, height, width) or (n, height, width, channels) with 1, 3 "
            f"or 4 channels{hint}."
        )
    if X.ndim not in (3, 4) or 0 in X.shape:
        raise InvalidInputError(
            f"Found array with dim {X.ndim}, of shape {X.shape}, in {name}; reshape {name} to (rows, columns), or to "
            f"images (n, height, width) or (n, height, width, channels)."
        )
    return shape


def check_same_shape(given: Shape, known: Shape | None, name: str = "X") -> None:
    """Refuse images of another shape than those of a fit; one channel may be left out."""
    if known is None:
        raise InvalidInputError(
            f"{name} holds images of shape {given}, and the model was fitted on rows that are no images; give "
            f"{name}.reshape(len({name}), -1), or fit it on images."
        )
    if _without_grey(given) != _without_grey(known):
        raise InvalidInputError(
            f"{name} holds images of shape {given}, and the model was fitted on images of shape {known}; resize them "
            f"to that shape first."
        )


def levels_of(pixels: np.ndarray, name: str = "X") -> int:
    """Return what whole-number pixels like those of a fit are divided by: 255, or 1 where they are as they should be.

    Bytes are, and other whole numbers from 0 to 255 if they reach 128; 0 and 1 alone are left as they are. Fractions
    are never divided: those in [0, 1] are on a level with bytes divided by 255, and others with bytes as they are.
    """
    low, high = pixels.min(), pixels.max()
    if pixels.dtype.kind in "iu":
        _check_bytes(pixels, name)
        return BYTE if high >= (2 if pixels.dtype == np.uint8 else BRIGHT) else 1
    within = low >= 0 and high <= 1
    return BYTE if within and bool(((pixels > 0) & (pixels < 1)).any()) else 1


def check_levels(pixels: np.ndarray, levels: int, name: str = "X") -> int:
    """Return what pixels are divided by, for a model whose pixels have ``levels``."""
    if pixels.dtype.kind in "iu":
        _check_bytes(pixels, name)
        return levels
    if levels == BYTE and pixels.max() >= 2:
        raise InvalidInputError(
            f"{name} holds pixels up to {pixels.max():g}, and the model was fitted on pixels in [0, 1]; give bytes "
            f"(uint8), or divide {name} by 255."
        )
    return 1


def brought_down(pixels: np.ndarray, levels: int | None, name: str) -> np.ndarray:
    """Return pixels of a file as float32; whole numbers from 0 to 255 are divided by 255, whatever their type.

    ``levels`` is what those of a fit were divided by; None decides as `levels_of` does.
    """
    kind = pixels.dtype.kind
    if kind in "iu":
        low, high, whole = pixels.min(), pixels.max(), True
        _check_bytes(pixels, name)
    else:
        low, high = pixels.min(), pixels.max()
        whole = kind == "f" and low >= 0 and high <= BYTE and bool((pixels == np.floor(pixels)).all())
    are_bytes = whole and high >= (2 if pixels.dtype == np.uint8 else BRIGHT)
    if are_bytes and levels != 1:
        return np.divide(pixels, np.float32(BYTE), dtype=np.float32)
    rows = np.asarray(pixels, dtype=np.float32)
    if levels == BYTE:
        check_levels(rows, levels, name)  # such as 0 to 16, which may be dark bytes or of another unit
    return rows


def folded(rows: np.ndarray, shape: Shape | None) -> np.ndarray:
    """Return rows as images; as they are where they are none."""
    return rows if shape is None else rows.reshape(len(rows), *shape)


def flat(X: np.ndarray) -> np.ndarray:
    """Return images as rows, without a copy where that can be."""
    return X.reshape(len(X), -1)


def pixel_rows(X: Any, shape: Shape | None, levels: int, name: str = "X") -> Any:
    """Return images, or one of them, as rows of pixels like those of a fit; anything else as it is.

    ``shape`` and ``levels`` are those of the fit: None and 1 where its rows were no pixels.
    """
    if (shape is None and levels == 1) or hasattr(X, "iloc") or hasattr(X, "columns"):
        return X
    rows = as_matrix(stacked(X, name), name)
    if not isinstance(rows, np.ndarray) or not rows.size:
        return rows
    rows = rows[None] if rows.shape == shape else rows
    if is_images(rows):
        check_same_shape(image_shape_of(rows, name), shape, name)
        rows = flat(rows)
    levels = check_levels(rows, levels, name)
    return rows if levels == 1 else np.divide(rows, np.float32(levels), dtype=np.float32)


def _check_bytes(pixels: np.ndarray, name: str) -> None:
    low, high = pixels.min(), pixels.max()
    if low < 0 or high > BYTE:
        raise InvalidInputError(
            f"{name} holds pixels from {low} to {high}, and whole-number pixels run from 0 to 255; divide them by "
            f"their largest value."
        )


def _is_image(value: Any) -> bool:
    """Say whether an entry of a list is an image: an array or tensor with as many axes, or one of Pillow's."""
    interface = getattr(value, "__array_interface__", None)
    shape = value.shape if isinstance(value, torch.Tensor) else () if interface is None else interface["shape"]
    return len(shape) in (2, 3)


def _without_grey(shape: Shape) -> Shape:
    return shape[:2] if shape[2:] == (1,) else shape
