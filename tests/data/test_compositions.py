"""Pictures side by side."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fewhot.core.errors import FewhotError, InvalidInputError
from fewhot.data import compose, digit_compositions
from tests.estimators.cases import assert_one_sentence

from .known import published

IMAGES = np.arange(1, 7, dtype=np.float32)[:, None, None] * np.ones((6, 2, 3), np.float32)
LABELS = np.array([0, 1, 2, 0, 1, 2])


def test_every_place_shows_a_picture_of_its_class_or_nothing() -> None:
    made = compose(IMAGES, LABELS, 200, n_places=4, random_state=3)
    assert made.image_shape == (2, 12)
    pictures = made.X.reshape(200, 2, 4, 3)
    values = pictures[:, 0, :, 0]
    assert (pictures == values[:, None, :, None]).all()
    assert ((values == 0) == (made.places == -1)).all()
    shown = values > 0
    np.testing.assert_array_equal(LABELS[values[shown].astype(int) - 1], made.places[shown])
    for k in range(3):
        np.testing.assert_array_equal(made.counts[:, k], (made.places == k).sum(axis=1))


def test_places_are_empty_as_often_as_asked() -> None:
    for p in (0.0, 0.3, 1.0):
        made = compose(IMAGES, LABELS, 2000, p_empty=p)
        assert abs((made.places == -1).mean() - p) < 0.02


def test_one_seed_one_set() -> None:
    one, same, other = (compose(IMAGES, LABELS, 50, random_state=s) for s in (0, 0, 1))
    np.testing.assert_array_equal(one.X, same.X)
    assert not np.array_equal(one.X, other.X)


@pytest.mark.parametrize(
    ("images", "labels"), [(IMAGES[0], LABELS), (IMAGES, LABELS[:2]), (IMAGES[:0], LABELS[:0]), (IMAGES, LABELS[None])]
)
def test_other_pictures_are_refused(images: np.ndarray, labels: np.ndarray) -> None:
    with pytest.raises(FewhotError, match="give pictures"):
        compose(images, labels, 3)


@published("mnist")
def test_digits_of_the_test_part_are_not_those_of_training() -> None:
    train, test = (digit_compositions(split, 20, download=False) for split in ("train", "test"))
    assert train.X.shape == test.X.shape == (20, 28 * 140)
    assert not np.array_equal(train.X, test.X)
    assert train.counts.shape == (20, 10)
    assert digit_compositions("test").X.shape == (1000, 28 * 140)


@pytest.mark.parametrize("labels", [[-1, 0], [0.5, 1], ["a", "b"]], ids=str)
def test_classes_are_numbered_from_zero(labels: Any) -> None:
    with pytest.raises(FewhotError, match=r"^labels are not whole numbers"):
        compose(np.ones((2, 2, 2)), np.array(labels), 4)


def _with_nan() -> np.ndarray:
    images = IMAGES.copy()
    images[0, 0, 0] = np.nan
    return images


@pytest.mark.parametrize(
    "images",
    [
        _with_nan(), IMAGES.astype(float) * 1e300, IMAGES + 1j, IMAGES[:, :0], [[[1, 2], [3]]] * 6,
        np.full((6, 2, 3), "a"), np.ma.masked_less(IMAGES, 2), np.full((6, 2, 3), 10**400, dtype=object),
    ],
    ids=["NaN", "beyond float32", "complex", "of no size", "ragged", "words", "masked", "whole numbers without end"],
)  # fmt: skip
def test_pictures_are_finite_real_numbers_of_one_shape(images: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"^images ") as caught:
        compose(images, LABELS, 3)
    assert_one_sentence(caught.value)


@pytest.mark.parametrize("labels", [LABELS * 10**12, LABELS * 1e300], ids=["10^12", "10^300"])
def test_numbers_that_would_be_too_many_classes_are_refused(labels: np.ndarray) -> None:
    with pytest.raises(InvalidInputError, match=r"^labels go up to 2e\+") as caught:
        compose(IMAGES, labels, 3)
    assert_one_sentence(caught.value)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("label", [np.nan, np.inf])
def test_classes_that_are_not_finite_are_refused_without_a_warning(label: float) -> None:
    with pytest.raises(InvalidInputError, match=r"^labels are not whole numbers") as caught:
        compose(IMAGES, np.where(LABELS == 1, label, LABELS), 3)
    assert_one_sentence(caught.value)


def test_pictures_may_be_lists_of_numbers() -> None:
    ours, theirs = compose(IMAGES.tolist(), LABELS.tolist(), 9), compose(IMAGES, LABELS, 9)
    np.testing.assert_array_equal(ours.X, theirs.X)
    np.testing.assert_array_equal(ours.counts, theirs.counts)
