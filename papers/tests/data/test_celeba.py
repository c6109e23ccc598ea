"""CelebA: which images, which pixels of them, and what is said when they are not there."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from fewhot.core.errors import DataError, InvalidParameterError
from fewhot.data import describe, load_dataset
from fewhot_papers.data import read_celeba

PARTS = {"000001.jpg": 0, "000002.jpg": 0, "000003.jpg": 1, "000004.jpg": 2, "000005.jpg": 2, "000006.jpg": 2}
needs_files = pytest.mark.skipif(
    not describe("celeba32").on_disk, reason="needs the images of CelebA: set FEWHOT_DATA to a folder that has them"
)


def colours(name: str) -> tuple[int, int, int]:
    number = int(name[:6])
    return 40 * number, 250 - 30 * number, 10 * number


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Make a folder as people have it: the list with its published line ends, and plain images of 178 x 218."""
    (tmp_path / "img_align_celeba").mkdir()
    for name in PARTS:
        Image.new("RGB", (178, 218), colours(name)).save(tmp_path / "img_align_celeba" / name, quality=100)
    (tmp_path / "list_eval_partition.txt").write_bytes(
        "".join(f"{name} {part}\r\n" for name, part in PARTS.items()).encode()
    )
    return tmp_path


def read(place: Path, part: str = "fit") -> np.ndarray:
    return read_celeba(place / "list_eval_partition.txt", place / "img_align_celeba", part)


@pytest.mark.parametrize(("part", "number"), [("fit", 0), ("validation", 1), ("test", 2)])
def test_a_part_has_its_images_in_the_order_of_the_list(place: Path, part: str, number: int) -> None:
    names = [name for name, of in PARTS.items() if of == number]
    expected = np.stack([np.full((32, 32, 3), colours(name)).ravel() for name in names]) / 255
    X = read(place, part)
    assert (X.shape, X.dtype) == ((len(names), 3072), np.float32)
    np.testing.assert_allclose(X, expected, atol=3 / 255)  # what JPEG leaves of a plain colour


def test_the_square_is_the_centred_one(place: Path) -> None:
    image = np.zeros((218, 178, 3), dtype=np.uint8)
    image[:20], image[198:] = (255, 0, 0), (0, 0, 255)  # outside the square
    image[20:198, 89:] = (0, 255, 0)
    Image.fromarray(image).save(place / "img_align_celeba" / "000003.jpg", format="PNG")
    found = read(place, "validation").reshape(32, 32, 3)
    assert found[..., [0, 2]].max() == 0
    np.testing.assert_array_equal(found[:, :15, 1], 0)
    np.testing.assert_array_equal(found[:, 17:, 1], 1)
    np.testing.assert_allclose(found[:, 15, 1] + found[:, 16, 1], 1, atol=1 / 255)


def test_every_pixel_of_the_square_counts(place: Path) -> None:
    image = np.random.default_rng(0).integers(0, 256, (218, 178, 3), dtype=np.uint8)
    Image.fromarray(image).save(place / "img_align_celeba" / "000003.jpg", format="PNG")
    scale = 178 / 32
    centres, pixels = (np.arange(32) + 0.5) * scale, np.arange(178) + 0.5
    weights = np.maximum(0, 1 - np.abs(pixels - centres[:, None]) / scale)  # a triangle over the neighbours
    weights /= weights.sum(axis=1, keepdims=True)
    expected = np.einsum("ia,jb,abc->ijc", weights, weights, image[20:198].astype(float)) / 255
    np.testing.assert_allclose(read(place, "validation").reshape(32, 32, 3), expected, atol=2 / 255)


def test_grey_images_become_colours(place: Path) -> None:
    Image.new("L", (178, 218), 51).save(place / "img_align_celeba" / "000003.jpg", format="PNG")
    np.testing.assert_allclose(read(place, "validation"), 0.2, rtol=1e-6)


def test_a_compressed_list_is_read(place: Path) -> None:
    path = place / "list_eval_partition.txt"
    path.write_bytes(gzip.compress(path.read_bytes()))
    assert len(read(place, "test")) == 3


def test_a_missing_image_is_named(place: Path) -> None:
    (place / "img_align_celeba" / "000002.jpg").unlink()
    with pytest.raises(DataError, match=r"000002\.jpg is missing or damaged; unpack img_align_celeba\.zip again\.$"):
        read(place)


@pytest.mark.parametrize("kept", [10, 600])
def test_a_damaged_image_is_named(place: Path, kept: int) -> None:
    path = place / "img_align_celeba" / "000002.jpg"
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(DataError, match=r"000002\.jpg is missing or damaged"):
        read(place)


def test_images_of_another_size_are_refused(place: Path) -> None:
    Image.new("RGB", (409, 687)).save(place / "img_align_celeba" / "000001.jpg")
    with pytest.raises(DataError, match=r"000001\.jpg has 409 x 687 pixels; give the aligned images, of 178 x 218\.$"):
        read(place)


@pytest.mark.parametrize("text", ["000001.jpg\n", "000001.jpg 3\n", "000001.jpg 0 1\n"])
def test_another_list_is_refused(place: Path, text: str) -> None:
    (place / "list_eval_partition.txt").write_text(text)
    with pytest.raises(DataError, match="is not a list of image names and parts 0, 1 or 2; get the published file"):
        read(place)


def test_another_part_is_refused(place: Path) -> None:
    with pytest.raises(InvalidParameterError, match="part is 'train'; it must be one of 'fit', 'validation', 'test'"):
        read(place, "train")


def published_list() -> bytes:
    """Return the published list: 202,599 names in order, the first 162,770 to fit and the last 19,962 to test."""
    numbers = np.repeat([0, 1, 2], [162_770, 19_867, 19_962])
    return "".join(f"{i:06d}.jpg {number}\r\n" for i, number in enumerate(numbers, start=1)).encode()


def test_the_checksum_is_that_of_the_published_list() -> None:
    content = published_list()
    assert hashlib.md5(content).hexdigest() == "d32c9cbf5e040fd4025c592c306e6668"  # as published by torchvision
    assert describe("celeba32").files[0].sha256 == hashlib.sha256(content).hexdigest()


def test_without_the_images_it_is_said_what_to_put_where(tmp_path: Path, cache: Path) -> None:
    (tmp_path / "celeba32").mkdir()
    (tmp_path / "celeba32" / "list_eval_partition.txt").write_bytes(published_list())
    with pytest.raises(DataError) as caught:
        load_dataset("celeba32", data_dir=tmp_path)
    message = str(caught.value)
    assert message.startswith(f"img_align_celeba/ of celeba32 is not on disk (looked in {tmp_path / 'celeba32'}, ")
    assert "put list_eval_partition.txt and img_align_celeba/ there" in message
    assert "no public address" in message


def test_the_published_set_is_described_without_its_files() -> None:
    info = describe("celeba32")
    rows = {split: shape[0] for split, shape in info.shapes.items()}
    assert rows == {"train": 182_637, "validation": 19_867, "fit": 162_770, "test": 19_962, "all": 202_599}
    assert (info.image_shape, info.address) == ((32, 32, 3), "")


@needs_files
def test_the_published_images_are_read() -> None:
    loaded = load_dataset("celeba32", split="validation")
    assert loaded.X.shape == (19_867, 3072)
    assert 0.3 < loaded.X.mean() < 0.6
