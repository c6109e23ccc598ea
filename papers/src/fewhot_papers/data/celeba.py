"""CelebA: aligned faces of well-known people, from a folder of the user's, for they have no stable public address."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fewhot.core.checks import one_of
from fewhot.core.errors import DataError
from fewhot.data.catalogue import DataFile, register_dataset
from fewhot.data.fetch import open_content

PARTITION = "list_eval_partition.txt"
IMAGES = "img_align_celeba"
SIDE = 32
ALIGNED = (178, 218)
"""Width and height of the aligned images."""

_NUMBERS = {"fit": "0", "validation": "1", "test": "2"}
_CENTRE = (0, 20, 178, 198)  # the largest centred square: left, top, right, bottom


def read_celeba(partition: Path, images: Path, part: str) -> np.ndarray:
    """Read faces of CelebA as 32 x 32 colours.

    Of every aligned image the largest centred square (178 x 178 pixels) is brought down to 32 x 32 by Pillow's bilinear
    filter, which looks at all its pixels. Reading takes minutes: `write_matrix` keeps the rows in a file that does not.

    Parameters
    ----------
    partition
        The published file ``list_eval_partition.txt``: a name and a part a line.
    images
        The folder ``img_align_celeba`` with the images by these names.
    part
        "fit", "validation" or "test": 0, 1 or 2 in the file.

    Returns
    -------
    ndarray
        Colours in [0, 1], (n, 3072), float32: pixels row by row, each with its red, green and blue.

    References
    ----------
    Liu, Luo, Wang and Tang (2015), Deep learning face attributes in the wild.
    """
    one_of("part", part, tuple(_NUMBERS))
    names = _names(partition, part)
    X = np.empty((len(names), SIDE * SIDE * 3), dtype=np.float32)
    for row, name in enumerate(names):
        np.divide(_pixels(images / name).ravel(), 255, out=X[row], dtype=np.float32)
    return X


def _read(part: str, files: Mapping[str, Path]) -> tuple[np.ndarray, None]:
    return read_celeba(files[PARTITION], files[IMAGES], part), None


def _names(path: Path, part: str) -> list[str]:
    """Return the names of a part's images, in the order of the published list of names and parts."""
    with open_content(path) as file:
        pairs = [line.split() for line in file.read().decode().splitlines() if line.strip()]
    if not all(len(pair) == 2 and pair[1] in _NUMBERS.values() for pair in pairs):
        raise DataError(f"{path} is not a list of image names and parts 0, 1 or 2; get the published file.")
    return [name for name, number in pairs if number == _NUMBERS[part]]


def _pixels(path: Path) -> np.ndarray:
    """Return an image's centred square, brought down to (32, 32, 3)."""
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(path) as image:
            if image.size != ALIGNED:
                raise DataError(
                    f"{path} has {image.width} x {image.height} pixels; give the aligned images, of 178 x 218."
                )
            small: Any = image.convert("RGB").crop(_CENTRE).resize((SIDE, SIDE), Image.Resampling.BILINEAR)
    except (UnidentifiedImageError, OSError) as error:
        raise DataError(f"{path} is missing or damaged; unpack {IMAGES}.zip again.") from error
    return np.asarray(small)


def register() -> None:
    """Add the dataset to the catalogue."""
    register_dataset(
        "celeba32",
        _read,
        title="CelebA: aligned faces, their centred square as 32 x 32 colours",
        licence="non-commercial research only (Z. Liu, P. Luo, X. Wang and X. Tang, CUHK)",
        shapes={"fit": (162_770, 3072), "validation": (19_867, 3072), "test": (19_962, 3072)},
        files=[DataFile(name=PARTITION, sha256="fc955bcb3ef8fbdf7d5640d9a8693a8431b5f2ee291a5c1449a1549e7e073fe7")],
        folders=[IMAGES],
        page="https://mmlab.ie.cuhk.edu.hk/projects/CelebA.html",
        image_shape=(SIDE, SIDE, 3),
    )
