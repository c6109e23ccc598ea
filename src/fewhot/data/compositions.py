"""Pictures put side by side, some places left empty: how often each thing occurs is known."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fewhot.core.checks import one_of, real_number, whole_number
from fewhot.core.errors import InvalidInputError
from fewhot.core.masks import check_unmasked
from fewhot.core.seeding import derive_seed, resolve_seed
from fewhot.data.catalogue import load_dataset

N_PLACES, P_EMPTY = 5, 0.5
PUBLISHED_ROWS = {"train": 5000, "test": 1000}
MOST_CLASSES = 100_000
"""A composition has a count for every class."""
_NO_PICTURES = "images are no array of real numbers; give pictures of one shape, (m, height, width)."
_NO_CLASSES = "labels are not whole numbers of at least 0; number the classes from 0."


@dataclass(frozen=True, slots=True, kw_only=True)
class Compositions:
    """Rows of pictures, and what is in them.

    Attributes
    ----------
    X
        The compositions, (n, height x width x places), float32, line by line.
    counts
        How often each class occurs, (n, K), whole numbers.
    places
        The class at every place from left to right, -1 where it is empty, (n, places).
    image_shape
        How a row folds into a picture: (height, width x places).
    """

    X: np.ndarray
    counts: np.ndarray
    places: np.ndarray
    image_shape: tuple[int, int]


def compose(
    images: np.ndarray,
    labels: np.ndarray,
    n_rows: int,
    *,
    n_places: int = N_PLACES,
    p_empty: float = P_EMPTY,
    random_state: Any = 0,
) -> Compositions:
    """Put pictures side by side, each place empty with probability ``p_empty``.

    Parameters
    ----------
    images
        The pictures, (m, height, width).
    labels
        Their classes, (m,), from 0.
    n_rows
        How many compositions.
    n_places
        Pictures side by side.
    p_empty
        Probability that a place is empty.
    random_state
        The seed.

    Examples
    --------
    >>> made = compose(np.ones((2, 3, 3)), np.array([0, 1]), 4)
    >>> made.X.shape, made.image_shape, bool((made.counts.sum(axis=1) == (made.places >= 0).sum(axis=1)).all())
    ((4, 45), (3, 15), True)
    """
    whole_number("n_rows", n_rows)
    whole_number("n_places", n_places)
    real_number("p_empty", p_empty, low=0, high=1)
    images, labels = _numbers(images, "images", _NO_PICTURES), _numbers(labels, "labels", _NO_CLASSES)
    if images.ndim != 3 or labels.shape != images.shape[:1] or not images.size:
        raise InvalidInputError(
            f"images have shape {images.shape} and labels {labels.shape}; give pictures (m, height, width) and a class "
            f"for each."
        )
    images, labels = _pictures(images), _classes(labels)
    rng = np.random.default_rng(derive_seed(resolve_seed(random_state), "compositions"))
    empty = rng.random((n_rows, n_places)) < p_empty
    chosen = rng.integers(0, len(images), (n_rows, n_places))
    pictures = np.where(empty[..., None, None], np.float32(0), images[chosen])  # (n, places, height, width)
    places = np.where(empty, -1, labels[chosen])
    counts = (places[..., None] == np.arange(labels.max() + 1)).sum(axis=1)
    height, width = images.shape[1:]
    return Compositions(
        X=pictures.transpose(0, 2, 1, 3).reshape(n_rows, -1),
        counts=counts.astype(np.int64),
        places=places.astype(np.int64),
        image_shape=(height, n_places * width),
    )


def _numbers(given: Any, name: str, otherwise: str) -> np.ndarray:
    """Return an array of real numbers; words, and pictures of several shapes, are refused with what to do otherwise."""
    check_unmasked(given, name)
    try:
        array = np.asarray(given)
        array = array.astype(np.float64) if array.dtype.kind == "O" else array
    except (TypeError, ValueError, OverflowError):
        array = np.empty(0, dtype=object)
    if array.dtype.kind not in "biuf":
        raise InvalidInputError(otherwise)
    return array


def _pictures(images: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        pictures = images.astype(np.float32)
    if not np.isfinite(pictures).all():
        raise InvalidInputError("images hold NaN, infinity or numbers that float32 cannot hold; replace these first.")
    return pictures


def _classes(labels: np.ndarray) -> np.ndarray:
    if not np.isfinite(labels).all() or (labels < 0).any() or (labels != np.floor(labels)).any():
        raise InvalidInputError(_NO_CLASSES)
    if labels.max() >= MOST_CLASSES:
        raise InvalidInputError(
            f"labels go up to {labels.max():g}, and there are at most {MOST_CLASSES:,} classes; number them from 0, "
            f"without gaps."
        )
    return labels.astype(np.int64)


def digit_compositions(
    split: str = "train",
    n_rows: int | None = None,
    data_dir: str | Path | None = None,
    *,
    download: bool = True,
    random_state: Any = 0,
) -> Compositions:
    """Return five places of MNIST digits, half of them empty: of training digits, or of test digits.

    Parameters
    ----------
    split
        "train" or "test": no digit is in both.
    n_rows
        How many compositions; None takes the published 5,000 and 1,000.
    data_dir, download
        Where MNIST is, and whether it may be fetched, as for `load_dataset`.
    random_state
        The seed.

    References
    ----------
    Xu, Onoro Rubio, Serra and Niepert, Learning Sparsity of Representations with Discrete Latent Variables; how often a
    place is empty is not given there.
    """
    one_of("split", split, tuple(PUBLISHED_ROWS))
    mnist = load_dataset("mnist", split, data_dir, download=download)
    assert mnist.y is not None
    images = np.asarray(mnist.X).reshape(-1, 28, 28)
    wanted = PUBLISHED_ROWS[split] if n_rows is None else n_rows
    return compose(images, mnist.y, wanted, random_state=random_state)
