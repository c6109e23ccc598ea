"""Folders of pictures: one picture a row, subfolders are labels."""

from __future__ import annotations

import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from fewhot.core.errors import DataError
from fewhot.data.files.table import Table
from fewhot.data.pixels import BYTE, Folding, Shape, in_words

ENDINGS = (".png", ".jpg", ".jpeg", ".pgm", ".ppm", ".bmp", ".webp")
_FORMATS = ("PNG", "JPEG", "PPM", "BMP", "WEBP")
"""Pillow reads dozens more, through code that few look after."""
MAX_NUMBERS = 1 << 18
"""Numbers a picture has at most, unless a size is asked for: two layers of 400 units are then 0.8 GB of weights."""
_SUGGESTED = 64
"""The longer side that is suggested for pictures that are too large."""
_LISTED = 3


def is_picture(path: Path) -> bool:
    """Say whether a file has the name of a picture."""
    return path.suffix.lower() in ENDINGS


def pictures_in(folder: Path) -> list[Path]:
    """Return the pictures in a folder and the folders within, in the order of their paths; hidden ones are left out."""
    found = (path.relative_to(folder) for path in folder.rglob("*") if is_picture(path) and path.is_file())
    return sorted(path for path in found if not any(part.startswith((".", "__")) for part in path.parts))


def read_pictures(folder: Path, folding: Folding) -> Table:
    """Read a folder of pictures as rows of pixels in [0, 1], in the order of their paths.

    Folders within are labels. Pictures are turned as their cameras say, 16 bits become 8, and what is transparent is
    laid over white. They are gray unless one of them has a color. All must have one size, or ``folding`` asks for one:
    then each is scaled to fill it, and what juts out of it on two sides is cut off.
    """
    paths = pictures_in(folder)
    if not paths:
        raise DataError(f"{folder} is a folder without pictures; accepted are {', '.join(ENDINGS)}.")
    labels = _labels(folder, paths)
    size = folding.size
    pictures: list[np.ndarray] = []
    for path in paths:
        pixels = _pixels(folder / path, size)
        first = pictures[0] if pictures else pixels
        if folding.fitted is None and pixels.shape[:2] != first.shape[:2]:
            raise _different_sizes(folder, paths)
        if folding.asked is None and pixels.size > MAX_NUMBERS:
            raise _too_large(folder / path, pixels)
        if folding.fitted is not None and pixels.shape[:2] != folding.fitted[:2]:
            raise DataError(
                f"{folder / path} has {in_words(pixels.shape[:2])} pixels, and the run was fitted on pictures of "
                f"{in_words(folding.fitted[:2])}; resize the pictures, or fit again with "
                f"image_shape={in_words(folding.fitted[:2])}, which brings all to one size."
            )
        pictures.append(pixels)
    n_channels = folding.channels or (3 if any(pixels.ndim == 3 for pixels in pictures) else 1)
    stacked = np.stack([_with_channels(pixels, n_channels) for pixels in pictures])
    shape = tuple(map(int, stacked.shape[1:]))
    X = np.divide(stacked.reshape(len(stacked), -1), BYTE, dtype=np.float32)
    names = sorted(set(labels or ()))
    if len(names) < 2:
        return Table(X=X, image_shape=shape)
    y = np.array([names.index(label) for label in labels], dtype=np.int64)
    return Table(X=X, y=y, label_names=names, image_shape=shape)


def _labels(folder: Path, paths: list[Path]) -> list[str]:
    """Return the folder that each picture is in; nothing where all are at the top."""
    at_top = [path for path in paths if len(path.parts) == 1]
    if at_top and len(at_top) < len(paths):
        within = next(path for path in paths if len(path.parts) > 1)
        raise DataError(
            f"{folder} holds pictures, such as {at_top[0]}, beside folders of pictures, such as {within.parts[0]}; put "
            f"all pictures into folders, which are their labels, or none."
        )
    return [] if at_top else [path.parts[0] for path in paths]


def _pixels(path: Path, size: tuple[int, int] | None) -> np.ndarray:
    """Return a picture as bytes: (h, w) where it is gray, else (h, w, 3)."""
    from PIL import Image, ImageOps

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            warnings.simplefilter("ignore", UserWarning)  # of metadata that are damaged, where pixels are not
            with Image.open(path, formats=_FORMATS) as opened:
                image = _eight_bits(ImageOps.exif_transpose(opened))
    except (Image.DecompressionBombWarning, Image.DecompressionBombError) as error:
        raise DataError(
            f"{path} unfolds to more than {Image.MAX_IMAGE_PIXELS:,} pixels, as files do that are made to fill the "
            f"memory; leave it out, or save it smaller."
        ) from error
    except (OSError, ValueError, SyntaxError, EOFError, IndexError) as error:
        raise _damaged(path) from error
    if size is not None and (image.height, image.width) != size:
        height, width = size
        image = ImageOps.fit(image, (width, height), Image.Resampling.BILINEAR)  # looks at all pixels when it shrinks
    pixels = np.asarray(image)
    has_color = pixels.ndim == 3 and bool((pixels != pixels[..., :1]).any())
    return pixels if has_color or pixels.ndim == 2 else pixels[..., 0]


def _eight_bits(image: Any) -> Any:
    """Return a picture as gray or red, green and blue; what is transparent is laid over white."""
    from PIL import Image

    if image.mode.startswith(("I", "F")):  # 16 bits
        return Image.fromarray((np.asarray(image, dtype=np.float64) / 257).round().clip(0, BYTE).astype(np.uint8))
    if "A" in image.mode or "transparency" in image.info:
        over = image.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", over.size, "white"), over).convert("RGB")
    return image.convert("L" if image.mode in ("1", "L") else "RGB")


def _with_channels(pixels: np.ndarray, n_channels: int) -> np.ndarray:
    if n_channels == 1:
        return pixels if pixels.ndim == 2 else (pixels @ np.array([0.299, 0.587, 0.114])).round().astype(np.uint8)
    return pixels if pixels.ndim == 3 else np.repeat(pixels[..., None], 3, axis=-1)


def _damaged(path: Path) -> DataError:
    return DataError(f"{path} cannot be read as a picture: it is damaged or of another kind; leave it out.")


def _different_sizes(folder: Path, paths: list[Path]) -> DataError:
    """Return what to say of pictures of several sizes: those found, each with a picture, and the way out."""
    examples: dict[Shape, Path] = {}
    counts: Counter[Shape] = Counter()
    for path in paths:
        size = _size(folder / path)
        examples.setdefault(size, path)
        counts[size] += 1
    common = counts.most_common()
    listed = ", ".join(
        f"{in_words(size)} ({count} of {len(paths)}, such as {examples[size]})" for size, count in common[:_LISTED]
    )
    more = f" and {len(common) - _LISTED} more" if len(common) > _LISTED else ""
    height, width = common[0][0]
    wanted = in_words(common[0][0] if height * width <= MAX_NUMBERS // 3 else _smaller(height, width))
    return DataError(
        f"{folder} holds pictures of {len(common)} sizes, height x width: {listed}{more}; add image_shape={wanted} to "
        f"bring all to one size."
    )


def _size(path: Path) -> Shape:
    """Return the height and width of a picture that is upright, by its head alone."""
    from PIL import Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(path, formats=_FORMATS) as image:
                turned = image.getexif().get(0x0112, 1) >= 5  # the orientation; from 5 on a side lies on the ground
                return (image.width, image.height) if turned else (image.height, image.width)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise _damaged(path) from error


def _too_large(path: Path, pixels: np.ndarray) -> DataError:
    height, width = pixels.shape[:2]
    return DataError(
        f"{path} has {in_words((height, width))} pixels, {pixels.size:,} numbers, more than a model of rows can learn "
        f"from; add image_shape={in_words(_smaller(height, width))} to bring pictures down to that size."
    )


def _smaller(height: int, width: int) -> Shape:
    scale = _SUGGESTED / max(height, width)
    return max(1, round(height * scale)), max(1, round(width * scale))
