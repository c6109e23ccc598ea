"""Folders of pictures: what becomes of each kind of file, and what is said of those that cannot be read."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from fewhot.core.errors import DataError
from fewhot.data import open_data, read_file
from fewhot.data.pixels import Folding, brought_down, look_like_pixels, parsed_shape

RNG = np.random.default_rng(0)
GRAY = RNG.integers(0, 256, (6, 4), dtype=np.uint8)
COLOR = RNG.integers(0, 256, (6, 4, 3), dtype=np.uint8)


def pixels(folder: Path, **how: object) -> np.ndarray:
    """Return what is read of a folder as bytes, in the shape it has."""
    found = read_file(folder, **how)  # pyright: ignore[reportArgumentType]
    assert isinstance(found.X, np.ndarray)
    assert found.X.dtype == np.float32
    assert found.image_shape is not None
    return (found.X * 255).reshape(-1, *found.image_shape)


def one(folder: Path, image: Image.Image, name: str = "x.png", **how: object) -> Path:
    folder.mkdir(exist_ok=True)
    image.save(folder / name, **how)  # pyright: ignore[reportArgumentType]
    return folder


KINDS: dict[str, tuple[Callable[[], Image.Image], np.ndarray]] = {
    "gray": (lambda: Image.fromarray(GRAY), GRAY),
    "color": (lambda: Image.fromarray(COLOR), COLOR),
    "gray saved in color": (lambda: Image.fromarray(np.repeat(GRAY[..., None], 3, axis=-1)), GRAY),
    "black and white": (lambda: Image.fromarray(GRAY > 99), np.where(GRAY > 99, 255, 0)),
    "a palette": (lambda: Image.fromarray(COLOR[:1, :1].repeat(6, 0).repeat(4, 1)).quantize(4), COLOR[:1, :1]),
    "16 bits": (lambda: Image.fromarray(GRAY.astype(np.uint16) * 257), GRAY),
    "opaque": (lambda: Image.fromarray(np.dstack([COLOR, np.full((6, 4), 255, np.uint8)])), COLOR),
    "transparent": (lambda: Image.fromarray(np.dstack([COLOR, np.zeros((6, 4), np.uint8)])), np.full((6, 4), 255)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_png_is_gray_or_color_of_eight_bits(kind: str, tmp_path: Path) -> None:
    make, wanted = KINDS[kind]
    found = pixels(one(tmp_path / "x", make()))[0]
    assert found.ndim == wanted.ndim
    np.testing.assert_allclose(found, np.broadcast_to(wanted, found.shape), atol=0.6)


def test_pictures_are_turned_as_the_camera_says(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # the top of the scene is on the right
    gradient = np.repeat(np.linspace(0, 255, 16, dtype=np.uint8)[:, None], 8, axis=1)
    folder = one(tmp_path / "x", Image.fromarray(gradient), "x.jpg", exif=exif, quality=95)
    (found,) = pixels(folder)
    np.testing.assert_allclose(found, np.rot90(gradient, -1), atol=4)


def test_gray_pictures_among_colored_ones_are_in_color(tmp_path: Path) -> None:
    one(tmp_path / "x", Image.fromarray(COLOR), "b.png")
    found = pixels(one(tmp_path / "x", Image.fromarray(GRAY), "a.png"))
    np.testing.assert_allclose(found, [np.repeat(GRAY[..., None], 3, axis=-1), COLOR], atol=0.01)
    assert pixels(tmp_path / "x", image_shape="6x4x1").shape == (2, 6, 4)


def test_folders_within_are_labels_and_hidden_files_are_left_out(tmp_path: Path) -> None:
    for name in ("b/2.png", "a/10.PNG", "a/9.jpeg", "b/deep/1.png"):
        path = tmp_path / "x" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(GRAY).save(path, format="PNG")
    for name in (".DS_Store", "a/.hidden.png", "__MACOSX/a.png", "a/Thumbs.db"):
        path = tmp_path / "x" / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"no picture")
    found = open_data(tmp_path / "x")
    assert found.y is not None
    assert (found.label_names, found.y.tolist()) == (["a", "b"], [0, 0, 1, 1])
    assert read_file(tmp_path / "x" / "a").y is None


def test_scaling_keeps_proportions_and_cuts_off_what_juts_out(tmp_path: Path) -> None:
    wide = np.zeros((10, 40, 3), dtype=np.uint8)
    wide[:, 15:25] = [255, 0, 0]
    found = pixels(one(tmp_path / "x", Image.fromarray(wide)), image_shape=(5, 5))
    np.testing.assert_allclose(found[0, :, 1:4], np.broadcast_to([255, 0, 0], (5, 3, 3)), atol=1)


def chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def bomb(side: int) -> bytes:
    """Return a PNG of a few hundred bytes that unfolds to side x side pixels."""
    head = struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")


def good(folder: Path) -> Path:
    one(folder, Image.fromarray(COLOR), "a.png")
    return folder


def cut_off(folder: Path) -> None:
    content = (good(folder) / "a.png").read_bytes()
    (folder / "b.png").write_bytes(content[: len(content) // 2])


BAD: dict[str, tuple[Callable[[Path], object], str]] = {
    "cut off": (cut_off, r"x/b\.png cannot be read as a picture: it is damaged or of another kind; leave it out"),
    "no picture": (lambda x: (good(x) / "b.png").write_text("hello"), r"x/b\.png cannot be read as a picture"),
    "empty file": (lambda x: (good(x) / "b.jpg").touch(), r"x/b\.jpg cannot be read as a picture"),
    "bomb": (
        lambda x: (good(x) / "b.png").write_bytes(bomb(60_000)),
        r"x/b\.png unfolds to more than 89,478,485 pixels",
    ),
    "half a bomb": (lambda x: (good(x) / "b.png").write_bytes(bomb(10_000)), r"x/b\.png unfolds to more than"),
    "several sizes": (
        lambda x: one(good(x), Image.fromarray(COLOR[:3]), "b.png"),
        r"2 sizes, height x width: 6x4 \(1 of 2, such as a\.png\), 3x4 .*; add image_shape=6x4 to bring all to one",
    ),
    "too large": (
        lambda x: one(x, Image.effect_noise((900, 600), 50)),
        r"has 600x900 pixels, 540,000 numbers, .* add image_shape=43x64 to bring pictures down",
    ),
    "two levels": (lambda x: good(good(x) / "within"), r"holds pictures, such as a\.png, beside folders of pictures"),
    "none": (lambda x: x.mkdir(), r"is a folder without pictures"),
}


@pytest.mark.filterwarnings("default")  # as outside of tests: Pillow warns of half a bomb
@pytest.mark.parametrize("kind", BAD)
def test_what_cannot_be_read_is_named_in_a_sentence(kind: str, tmp_path: Path) -> None:
    make, sentence = BAD[kind]
    make(tmp_path / "x")
    with pytest.raises(DataError, match=sentence) as caught:
        read_file(tmp_path / "x")
    assert "\n" not in str(caught.value)


def test_one_picture_is_no_data(tmp_path: Path) -> None:
    good(tmp_path / "x")
    with pytest.raises(DataError, match=r"a\.png is one picture; give the folder that holds all of them"):
        read_file(tmp_path / "x" / "a.png")


@pytest.mark.parametrize(
    ("given", "shape"),
    [("112x92", (112, 92)), ("28 × 20 × 3", (28, 20, 3)), ("(28, 20)", (28, 20)), ([8, 8, 1], (8, 8, 1))],
)
def test_shapes_are_understood(given: str, shape: tuple[int, ...]) -> None:
    assert parsed_shape(given) == shape


@pytest.mark.parametrize("given", ["112", "0x8", "8x8x2", "ax8", "", "8x8x3x3", (8.5, None)])
def test_other_shapes_are_refused(given: str) -> None:
    with pytest.raises(ValueError, match="it must be HEIGHTxWIDTH, such as 112x92"):
        parsed_shape(given)


@pytest.mark.parametrize(
    ("values", "levels", "wanted"),
    [
        (np.array([0, 255], np.uint8), None, [0, 1]),
        (np.array([0, 51], np.uint8), None, [0, 0.2]),  # dark, and stored as bytes
        (np.array([0, 1], np.uint8), None, [0, 1]),
        (np.array([0, 255]), None, [0, 1]),
        (np.array([0.0, 255.0]), None, [0, 1]),  # as a table gives them
        (np.array([0, 16]), None, [0, 16]),  # of a unit of their own
        (np.array([0, 16], np.uint8), 255, [0, 16 / 255]),
        (np.array([0, 200]), 1, [0, 200]),
        (np.array([0.5, 0.25]), 255, [0.5, 0.25]),
        (np.array([-3.5, 200.0]), None, [-3.5, 200]),
    ],
)
def test_whole_numbers_up_to_255_become_fractions(values: np.ndarray, levels: int | None, wanted: list[float]) -> None:
    np.testing.assert_allclose(brought_down(values, levels, "x"), wanted, rtol=1e-6)


def test_dark_numbers_that_are_not_stored_as_bytes_are_asked_about() -> None:
    with pytest.raises(ValueError, match=r"holds pixels up to 16, and the model was fitted on pixels in \[0, 1\]"):
        brought_down(np.array([0.0, 16.0]), 255, "x")


def test_bytes_are_told_from_counts_by_how_they_spread() -> None:
    counts = np.minimum(RNG.geometric(0.05, (100, 50)) * (RNG.random((100, 50)) < 0.1), 255)
    counts[0, 0] = 200
    assert not look_like_pixels(np.minimum(counts, 12).astype(np.uint8))
    assert not look_like_pixels(np.where(counts > 150, counts, np.minimum(counts, 12)).astype(np.uint8))
    strokes = np.where(RNG.random((100, 50)) < 0.2, RNG.integers(30, 256, (100, 50)), 0)
    assert look_like_pixels(strokes.astype(np.uint8))
    assert not look_like_pixels(strokes)


def test_folding_says_what_is_settled() -> None:
    assert Folding(asked=(8, 6)).channels is None
    assert (Folding(asked=(8, 6, 3)).channels, Folding(fitted=(8, 6)).channels) == (3, 1)


@pytest.mark.parametrize(("columns", "shape"), [(64, (8, 8)), (192, (8, 8, 3)), (120, None)])
def test_flat_bytes_are_squares_or_are_asked_about(columns: int, shape: tuple[int, ...] | None, tmp_path: Path) -> None:
    rows = RNG.integers(0, 256, (20, columns), dtype=np.uint8)
    np.save(tmp_path / "x.npy", rows)
    if shape is None:
        with pytest.raises(DataError, match=r"look like pixels; say how a row is a picture with image_shape=HEIGHTxW"):
            read_file(tmp_path / "x.npy")
        return
    with pytest.warns(UserWarning, match=f"taken as pictures of {'x'.join(map(str, shape))} pixels"):
        found = read_file(tmp_path / "x.npy")
    assert found.image_shape == shape
    np.testing.assert_allclose(found.X, rows / 255, atol=1e-6)


def test_a_table_of_bright_bytes_is_told_how_to_say_so(tmp_path: Path) -> None:
    np.savetxt(tmp_path / "x.csv", RNG.integers(0, 256, (20, 64)), fmt="%d", delimiter=",")
    with pytest.warns(UserWarning, match=r"taken as a table; if they are pixels, give image_shape=8x8"):
        assert read_file(tmp_path / "x.csv").image_shape is None


def test_shapes_are_for_files_of_dense_rows(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("some words\nmore words\n")
    with pytest.raises(DataError, match=r"image_shape= is for dense rows and folders of pictures, and .* holds texts"):
        read_file(tmp_path / "x.txt", image_shape=(2, 2))
    with pytest.raises(DataError, match="image_shape= is for files, and digits is a dataset"):
        open_data("digits", image_shape=(8, 8))
    np.save(tmp_path / "x.npy", np.zeros((5, 60)))
    with pytest.raises(DataError, match="60 columns, and images of 8x8 have 64 pixels, in color 192"):
        read_file(tmp_path / "x.npy", image_shape=(8, 8))
