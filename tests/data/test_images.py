"""Digits, MNIST and Fashion-MNIST, and the format of their files."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

from fewhot.core.errors import DataError
from fewhot.data import describe, load_dataset, read_idx, split_rows

needs_files = pytest.mark.skipif(
    not (describe("mnist").on_disk and describe("fashion_mnist").on_disk),
    reason="needs the published files: set FEWHOT_DATA to a folder that has them",
)


def test_digits_are_grey_levels_between_0_and_1() -> None:
    digits = load_dataset("digits", split="all")
    images, labels = load_digits(return_X_y=True)
    np.testing.assert_array_equal(digits.X, (images / 16).astype(np.float32))
    np.testing.assert_array_equal(digits.y, labels)
    assert (digits.X.shape, digits.image_shape, digits.X.dtype) == ((1797, 64), (8, 8), np.float32)
    assert digits.licence


def test_digits_are_split_by_the_hash_of_their_place() -> None:
    digits = load_dataset("digits", split="all")
    test = load_dataset("digits", split="test")
    rows = split_rows(1797, "test")
    np.testing.assert_array_equal(test.X, digits.X[rows])
    np.testing.assert_array_equal(test.y, digits.y[rows])
    assert len(load_dataset("digits")) == 1797 - len(rows)


@pytest.mark.parametrize("name", ["mnist", "fashion_mnist"])
def test_the_published_sets_are_described_without_their_files(name: str) -> None:
    info = describe(name)
    assert info.shapes["train"] == (60_000, 784)
    assert info.shapes["test"] == (10_000, 784)
    assert info.shapes["fit"][0] + info.shapes["validation"][0] == 60_000
    assert len(info.files) == 4
    assert info.address.startswith("http")
    assert info.licence


@needs_files
@pytest.mark.parametrize("name", ["mnist", "fashion_mnist"])
def test_the_published_test_set_is_read(name: str) -> None:
    loaded = load_dataset(name, split="test", download=False)
    assert loaded.X.shape == (10_000, 784)
    assert (loaded.X.dtype, float(loaded.X.min()), float(loaded.X.max())) == (np.float32, 0.0, 1.0)
    assert np.bincount(loaded.y).size == 10
    assert loaded.image_shape == (28, 28)


@needs_files
def test_mnist_holds_what_is_known_of_it() -> None:
    train, validation = (load_dataset("mnist", split=split, download=False) for split in ("train", "validation"))
    assert train.y[:10].tolist() == [5, 0, 4, 1, 9, 2, 1, 3, 1, 4]
    assert round(float(train.X.mean()), 4) == 0.1307  # the mean that everyone normalises with
    assert round(float(train.X.std()), 4) == 0.3081
    assert len(validation) == describe("mnist").shapes["validation"][0]


@needs_files
def test_fashion_has_equal_classes() -> None:
    assert set(np.bincount(load_dataset("fashion_mnist", download=False).y)) == {6000}


def idx(array: np.ndarray) -> bytes:
    lengths = b"".join(length.to_bytes(4, "big") for length in array.shape)
    return bytes([0, 0, 8, array.ndim]) + lengths + array.tobytes()


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "compressed"])
def test_an_idx_file_is_read(tmp_path: Path, pack: type) -> None:
    images = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    (tmp_path / "x").write_bytes(pack(idx(images)))
    np.testing.assert_array_equal(read_idx(tmp_path / "x"), images)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is not an IDX file"),
        (b"PNG" * 9, "is not an IDX file"),
        (idx(np.zeros((2, 3), np.uint8))[:-1], "is cut off or has bytes to spare"),
        (idx(np.zeros((2, 3), np.uint8)) + b"x", "is cut off or has bytes to spare"),
        (idx(np.zeros((2, 3), np.uint8))[:6], "is not an IDX file"),
    ],
)
def test_what_is_no_idx_file_is_refused(tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(DataError, match=words):
        read_idx(tmp_path / "x")
