"""Images: MNIST and Fashion-MNIST from their published files, and the digits that come with scikit-learn."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fewhot.core.errors import DataError
from fewhot.data.catalogue import DataFile, register_dataset
from fewhot.data.fetch import open_content


def read_idx(path: Path) -> np.ndarray:
    """Read an IDX file of bytes, compressed or not: two zeros, a type, the number of axes, their lengths, the bytes."""
    with open_content(path) as file:
        content = file.read()
    n_axes = content[3] if len(content) > 3 else 0
    start = 4 + 4 * n_axes
    if content[:3] != b"\x00\x00\x08" or len(content) < start:
        raise DataError(f"{path} is not an IDX file of bytes; get the published file.")
    shape = struct.unpack(f">{n_axes}I", content[4:start])
    if len(content) != start + int(np.prod(shape)):
        raise DataError(f"{path} is cut off or has bytes to spare; get the published file.")
    return np.frombuffer(content, dtype=np.uint8, offset=start).reshape(shape)


def _read_mnist(part: str, files: Mapping[str, Path]) -> tuple[np.ndarray, np.ndarray]:
    """Return grey levels in [0, 1], (n, 784), and the labels."""
    prefix = _PREFIX[part]
    images = read_idx(files[f"{prefix}-images-idx3-ubyte.gz"])
    X = np.divide(images.reshape(len(images), -1), 255, dtype=np.float32)
    return X, read_idx(files[f"{prefix}-labels-idx1-ubyte.gz"])


def _read_digits(part: str, files: Mapping[str, Path]) -> tuple[np.ndarray, np.ndarray]:
    """Return grey levels in [0, 1], (1797, 64), and the labels."""
    from sklearn.datasets import load_digits

    digits: Any = load_digits()
    return digits.data / 16, digits.target


_PREFIX = {"train": "train", "test": "t10k"}


def _files(train_images: str, train_labels: str, test_images: str, test_labels: str) -> tuple[DataFile, ...]:
    return (
        DataFile(name="train-images-idx3-ubyte.gz", sha256=train_images, part="train"),
        DataFile(name="train-labels-idx1-ubyte.gz", sha256=train_labels, part="train"),
        DataFile(name="t10k-images-idx3-ubyte.gz", sha256=test_images, part="test"),
        DataFile(name="t10k-labels-idx1-ubyte.gz", sha256=test_labels, part="test"),
    )


register_dataset(
    "digits",
    _read_digits,
    title="Handwritten digits, 8 x 8 grey levels, embedded in scikit-learn",
    licence="CC BY 4.0 (E. Alpaydin and C. Kaynak, UCI Machine Learning Repository)",
    shapes={"all": (1797, 64)},
    image_shape=(8, 8),
)

register_dataset(
    "mnist",
    _read_mnist,
    title="MNIST: handwritten digits, 28 x 28 grey levels",
    licence="CC BY-SA 3.0, as commonly given (Y. LeCun, C. Cortes and C. J. C. Burges)",
    shapes={"train": (60_000, 784), "test": (10_000, 784)},
    addresses=[
        "https://ossci-datasets.s3.amazonaws.com/mnist/",
        "https://storage.googleapis.com/cvdf-datasets/mnist/",
    ],
    files=_files(
        train_images="ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        train_labels="65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        test_images="0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        test_labels="ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
    ),
    image_shape=(28, 28),
)

register_dataset(
    "fashion_mnist",
    _read_mnist,
    title="Fashion-MNIST: articles of clothing, 28 x 28 grey levels",
    licence="MIT (Zalando SE)",
    shapes={"train": (60_000, 784), "test": (10_000, 784)},
    addresses=[
        "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
        "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion/",
    ],
    files=_files(
        train_images="c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
        train_labels="bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
        test_images="5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
        test_labels="0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
    ),
    image_shape=(28, 28),
)
