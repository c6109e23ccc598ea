"""Smiley: drawn faces whose sources are known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fewhot.core.checks import real_number, truth, whole_number
from fewhot.core.seeding import derive_seed, resolve_seed
from fewhot.data.catalogue import register_dataset
from fewhot.data.loaded import Loaded, content_digest

BLOCK = 1024
"""Rows that are drawn together; part of the law, for another size draws other rows."""

SIDE = 32
SOURCE_STD = 0.5
SOURCES = {
    "bowtie": ("x", "y", "width", "height"),
    "hat": ("x", "y", "brim_width", "brim_height", "crown_width", "crown_height"),
    "eyes": ("distance", "y", "radius"),
    "mouth": ("width", "height", "x", "y", "bend"),
}
"""The sources of each attribute, in the order of the columns."""

_NAMES = tuple(f"{attribute}_{source}" for attribute, sources in SOURCES.items() for source in sources)
_COUNTS = [len(sources) for sources in SOURCES.values()]
_MIDDLE = 16.5
_GRID = np.arange(1.0, SIDE + 1)
_LICENCE = "none needed: generated"
_SEEDS = {"train": 0, "test": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class Smiley:
    """Faces and the sources that made them.

    Attributes
    ----------
    X
        The faces, (n, 1024), float32.
    sources
        Presence times value of the 18 sources, (n, 18), float32.
    presence
        Which attributes are there, (n, 4), booleans: bowtie, hat, eyes, mouth.
    source_names
        What the columns of ``sources`` are called.
    image_shape
        How a row folds into a picture: (32, 32).
    seed
        The seed from which all of it came.
    """

    X: np.ndarray
    sources: np.ndarray
    presence: np.ndarray
    source_names: tuple[str, ...]
    image_shape: tuple[int, int]
    seed: int

    def loaded(self) -> Loaded:
        """Return the rows as every other dataset's."""
        return Loaded(
            X=self.X,
            y=None,
            name="smiley",
            split=None,
            image_shape=self.image_shape,
            feature_names=None,
            licence=_LICENCE,
            digest=content_digest(self.X),
        )


def smiley(n_rows: int = 60_000, *, mouth_std: float = 0.5, normalise: bool = True, random_state: Any = 0) -> Smiley:
    r"""Draw faces with a bowtie, a hat, eyes and a mouth, each of which may be missing.

    Pictures are 32 x 32 and, before they are normalised, 1 inside the face and 0 outside. Pixel centres have the
    coordinates 1 to 32, x to the right and y down, so that the middle is 16.5; a pixel belongs to a shape when its
    centre does, edges included. Each attribute is there with probability one half, and all its sources are drawn from
    :math:`N(0, 0.5^2)`, in pixels. In the order in which they are put together, with :math:`v_1, v_2, \ldots` an
    attribute's own sources and width before height:

    - the head, always there: a disc of radius 10 around (16.5, 16.5);
    - the bowtie, added: two triangles that meet in :math:`(16.5 + v_1/2,\ 29 + v_2)`, based on the left and right
      sides of a rectangle of :math:`12 + 3v_3` by :math:`5 + 2v_4` around that point;
    - the hat, added: a brim of :math:`15 + 3v_3` by :math:`2 + 2v_4` around :math:`(16.5 + v_1,\ 6 + v_2)`, and on its
      middle a crown of :math:`10 + 2v_5` by :math:`2 + v_6`;
    - the eyes, taken away: discs of radius :math:`2 + v_3` around :math:`(16.5 \mp (4 + v_1),\ 14 + v_2)`;
    - the mouth, taken away: a rectangle of :math:`4 + v_1` by :math:`2 + v_2` around
      :math:`(16 + c v_3,\ 22 + c v_4)` and, on each side, two squares of one pixel, the nearer one :math:`v_5` and
      the farther one :math:`1.4 v_5` below its middle; :math:`c` is ``mouth_std`` / 0.5.

    A size below zero counts as zero, which is rare except for the brim's height (one hat in 44).

    Parameters
    ----------
    n_rows
        How many faces.
    mouth_std
        Standard deviation of the mouth's place, in pixels: 0.5 in the paper, 0.25 in its authors' public code.
    normalise
        Whether every picture is divided by its Euclidean norm.
    random_state
        The seed. The dataset "smiley" has 60,000 training rows of seed 0 and 10,000 test rows of seed 1.

    References
    ----------
    Tonolini, Jensen and Murray-Smith (2019), Variational sparse coding.

    Examples
    --------
    >>> made = smiley(200)
    >>> made.X.shape, made.sources.shape, made.presence.shape
    ((200, 1024), (200, 18), (200, 4))
    >>> made.source_names[:4]
    ('bowtie_x', 'bowtie_y', 'bowtie_width', 'bowtie_height')
    >>> bool(np.allclose(np.linalg.norm(made.X, axis=1), 1))
    True
    """
    whole_number("n_rows", n_rows)
    real_number("mouth_std", mouth_std, low=0, high=SIDE)
    truth("normalise", normalise)
    seed = resolve_seed(random_state)
    X = np.empty((n_rows, SIDE * SIDE), dtype=np.float32)
    sources = np.empty((n_rows, len(_NAMES)), dtype=np.float32)
    presence = np.empty((n_rows, len(SOURCES)), dtype=bool)
    for block in range(-(-n_rows // BLOCK)):
        rng = np.random.Generator(np.random.PCG64(derive_seed(seed, "smiley", block)))
        there = rng.random((BLOCK, len(SOURCES))) < 0.5
        values = rng.normal(0.0, SOURCE_STD, (BLOCK, len(_NAMES))).astype(np.float32)
        rows = slice(block * BLOCK, min((block + 1) * BLOCK, n_rows))
        kept = slice(0, rows.stop - rows.start)
        presence[rows] = there[kept]
        sources[rows] = np.where(np.repeat(there, _COUNTS, axis=1), values, 0)[kept]
        faces = _draw(sources[rows], presence[rows], mouth_std / SOURCE_STD).reshape(-1, SIDE * SIDE)
        X[rows] = faces / np.sqrt(faces.sum(axis=1, keepdims=True)) if normalise else faces
    return Smiley(X=X, sources=sources, presence=presence, source_names=_NAMES, image_shape=(SIDE, SIDE), seed=seed)


def _draw(sources: np.ndarray, presence: np.ndarray, mouth_gain: float) -> np.ndarray:
    """Return the pictures of some rows, (n, 32, 32), booleans; below, a number of a face is (n, 1)."""
    bowtie, hat, eyes, mouth = np.split(sources.astype(np.float64).T[:, :, None], np.cumsum(_COUNTS)[:-1])
    has_bowtie, has_hat, has_eyes, has_mouth = presence.T[:, :, None, None]
    face = _HEAD | (has_bowtie & _bowtie(*bowtie)) | (has_hat & _hat(*hat))
    return face & ~(has_eyes & _eyes(*eyes)) & ~(has_mouth & _mouth(*mouth, gain=mouth_gain))


def _bowtie(x: np.ndarray, y: np.ndarray, width: np.ndarray, height: np.ndarray) -> np.ndarray:
    across = np.abs(_GRID - (_MIDDLE + 0.5 * x))[:, None, :]
    down = np.abs(_GRID - (29 + y))[:, :, None]
    width, height = (12 + 3 * width)[:, :, None], (5 + 2 * height)[:, :, None]
    return (across <= width / 2) & (down * width <= height * across)


def _hat(
    x: np.ndarray,
    y: np.ndarray,
    brim_width: np.ndarray,
    brim_height: np.ndarray,
    crown_width: np.ndarray,
    crown_height: np.ndarray,
) -> np.ndarray:
    middle, brim_y, brim, crown = _MIDDLE + x, 6 + y, np.maximum(2 + 2 * brim_height, 0), 2 + crown_height
    crown_y = brim_y - brim / 2 - crown / 2
    return _rectangle(middle, brim_y, 15 + 3 * brim_width, brim) | _rectangle(
        middle, crown_y, 10 + 2 * crown_width, crown
    )


def _eyes(distance: np.ndarray, y: np.ndarray, radius: np.ndarray) -> np.ndarray:
    left, right = (_disc(_MIDDLE + side * (4 + distance), 14 + y, 2 + radius) for side in (-1, 1))
    return left | right


def _mouth(
    width: np.ndarray, height: np.ndarray, x: np.ndarray, y: np.ndarray, bend: np.ndarray, *, gain: float
) -> np.ndarray:
    x, y, width = 16 + gain * x, 22 + gain * y, 4 + width
    hole = _rectangle(x, y, width, 2 + height)
    one = np.ones_like(x)
    for side in (-1, 1):
        for away, below in ((0.5, 1.0), (1.5, 1.4)):
            hole |= _rectangle(x + side * (width / 2 + away), y + below * bend, one, one)
    return hole


def _rectangle(x: np.ndarray, y: np.ndarray, width: np.ndarray, height: np.ndarray) -> np.ndarray:
    across, down = np.abs(_GRID - x) <= width / 2, np.abs(_GRID - y) <= height / 2
    return down[:, :, None] & across[:, None, :]


def _disc(x: np.ndarray, y: np.ndarray, radius: np.ndarray) -> np.ndarray:
    square = np.square(_GRID - x)[:, None, :] + np.square(_GRID - y)[:, :, None]
    return square <= np.square(np.maximum(radius, 0))[:, :, None]


_HEAD = _disc(np.full((1, 1), _MIDDLE), np.full((1, 1), _MIDDLE), np.full((1, 1), 10.0))


def _read_smiley(part: str, files: Mapping[str, Path]) -> tuple[np.ndarray, None]:
    n_rows, _ = _SHAPES[part]
    return smiley(n_rows, random_state=_SEEDS[part]).X, None


_SHAPES = {"train": (60_000, SIDE * SIDE), "test": (10_000, SIDE * SIDE)}


def register() -> None:
    """Add the dataset to the catalogue."""
    register_dataset(
        "smiley",
        _read_smiley,
        title="Smiley: drawn faces with 18 known sources, 32 x 32, rows of norm 1 (fewhot_papers.data.smiley)",
        licence=_LICENCE,
        shapes=_SHAPES,
        image_shape=(SIDE, SIDE),
    )
