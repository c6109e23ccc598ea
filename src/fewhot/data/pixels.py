"""Images as rows: one row an image, pixels line by line, channels last; bytes are pixels in [0, 1]."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from fewhot.core.errors import InvalidInputError

CHANNELS = (1, 3, 4)
"""How many numbers a pixel may have: grey, color, and color with opacity."""
BYTE = 255

Shape = tuple[int, ...]
"""(height, width) or (height, width, channels)."""


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
        hint = f"; channels come last: give {name}.transpose(0, 2, 3, 1)" if shape[0] in CHANNELS else ""
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

    Bytes are, and other whole numbers from 0 to 255; 0 and 1 alone are left as they are. Fractions are never divided:
    those in [0, 1] are on a level with bytes divided by 255, and others with bytes as they are.
    """
    low, high = pixels.min(), pixels.max()
    if pixels.dtype.kind in "iu":
        _check_bytes(pixels, name)
        return BYTE if high > 1 else 1
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


def folded(rows: np.ndarray, shape: Shape | None) -> np.ndarray:
    """Return rows as images; as they are where they are none."""
    return rows if shape is None else rows.reshape(len(rows), *shape)


def flat(X: np.ndarray) -> np.ndarray:
    """Return images as rows, without a copy where that can be."""
    return X.reshape(len(X), -1)


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
