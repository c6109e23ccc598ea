"""UCI-HAR: the archive in the archive, its tables, and the published counts."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from fewhot.core.errors import DataError, InvalidParameterError
from fewhot.data import DataFile, describe, forget_dataset, load_dataset, register_dataset
from fewhot_papers.data import read_uci_har
from fewhot_papers.data.uci_har import ARCHIVE
from tests.data.server import Server

needs_files = pytest.mark.skipif(
    not describe("uci_har").on_disk, reason="needs the published archive: set FEWHOT_DATA to a folder that has it"
)
RNG = np.random.default_rng(0)
ROWS = {"train": RNG.uniform(-1, 1, (30, 5)), "test": RNG.uniform(-1, 1, (12, 5))}
LABELS = {part: RNG.permutation(np.arange(len(rows)) % 6 + 1) for part, rows in ROWS.items()}


def archive(leave_out: str = "", spoil: str = "") -> bytes:
    """Return an archive as the repository packs it: numbers in columns of sixteen characters, labels from 1."""
    inner, outer = io.BytesIO(), io.BytesIO()
    with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as packed:
        tables = {"activity_labels.txt": "1 WALKING\n2 WALKING_UPSTAIRS\n"}
        for part, rows in ROWS.items():
            tables[f"{part}/X_{part}.txt"] = "".join("".join(f"{v:16.7e}" for v in row) + "\n" for row in rows)
            tables[f"{part}/y_{part}.txt"] = "".join(f"{label}\n" for label in LABELS[part])
            tables[f"{part}/subject_{part}.txt"] = "1\n" * len(rows)
        for name, text in tables.items():
            if name != leave_out:
                packed.writestr(f"UCI HAR Dataset/{name}", "no numbers\n" if name == spoil else text)
        packed.writestr("__MACOSX/._UCI HAR Dataset", b"")
    with zipfile.ZipFile(outer, "w") as packed:
        packed.writestr("UCI HAR Dataset.names", "about it")
        packed.writestr("UCI HAR Dataset.zip", inner.getvalue())
    return outer.getvalue()


@pytest.mark.parametrize("part", ["train", "test"])
def test_features_and_activities_are_read(tmp_path: Path, part: str) -> None:
    (tmp_path / "har.zip").write_bytes(archive())
    X, y = read_uci_har(tmp_path / "har.zip", part)
    np.testing.assert_allclose(X, ROWS[part], rtol=1e-6)
    np.testing.assert_array_equal(y, LABELS[part] - 1)
    assert (X.dtype, y.dtype) == (np.float32, np.int64)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "File is not a zip file"),
        (archive()[:-200], "File is not a zip file"),
        (archive(leave_out="test/y_test.txt"), "There is no item named 'UCI HAR Dataset/test/y_test.txt'"),
        (archive(spoil="test/X_test.txt"), "could not convert string 'no'"),
    ],
)
def test_another_archive_is_refused(tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "har.zip").write_bytes(content)
    with pytest.raises(DataError, match=rf"har\.zip is not the archive of UCI-HAR \(.*{words}.*get the published file"):
        read_uci_har(tmp_path / "har.zip", "test")


def test_another_part_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameterError, match="part is 'dev'; it must be one of 'train', 'test'"):
        read_uci_har(tmp_path / "har.zip", "dev")


@pytest.fixture
def small(server: Server, cache: Path) -> Iterator[str]:
    """Register a small archive that the server holds, under the published name, and return the dataset's name."""
    content = archive()
    server.files = {f"/{ARCHIVE}": content}
    register_dataset(
        "small_har",
        lambda part, files: read_uci_har(files[ARCHIVE], part),
        title="x",
        licence="x",
        shapes={part: rows.shape for part, rows in ROWS.items()},
        addresses=[server.url],
        files=[DataFile(name=ARCHIVE, sha256=hashlib.sha256(content).hexdigest())],
    )
    yield "small_har"
    forget_dataset("small_har")


def test_the_archive_is_fetched_under_its_published_name(small: str) -> None:
    loaded = load_dataset(small, split="all")
    np.testing.assert_allclose(loaded.X, np.concatenate([ROWS["train"], ROWS["test"]]), rtol=1e-6)
    assert set(loaded.y.tolist()) == set(range(6))


def test_the_published_set_is_described_without_its_file() -> None:
    info = describe("uci_har")
    assert (info.shapes["train"], info.shapes["test"]) == ((7352, 561), (2947, 561))
    assert info.address == "https://archive.ics.uci.edu/static/public/240/"
    assert "CC BY 4.0" in info.licence


@needs_files
def test_the_published_archive_is_read() -> None:
    train, test = (load_dataset("uci_har", split=split, download=False) for split in ("train", "test"))
    assert np.bincount(train.y).tolist() == [1226, 1073, 986, 1286, 1374, 1407]
    assert train.label_names == ["walking", "walking upstairs", "walking downstairs", "sitting", "standing", "laying"]
    assert np.bincount(test.y).tolist() == [496, 471, 420, 491, 532, 537]
    assert np.abs(train.X).max() <= 1
