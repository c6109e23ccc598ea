"""UCI-HAR: what people do, told by the phone at their waist."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from fewhot.core.checks import one_of
from fewhot.core.errors import DataError
from fewhot.data.catalogue import DataFile, register_dataset

ARCHIVE = "human+activity+recognition+using+smartphones.zip"
_INNER = "UCI HAR Dataset.zip"
_FOLDER = "UCI HAR Dataset"


def read_uci_har(path: Path, part: str) -> tuple[np.ndarray, np.ndarray]:
    """Read the archive of UCI-HAR: a zip file in a zip file, with a table of numbers a part and one of labels.

    Parameters
    ----------
    path
        The archive as the UCI Machine Learning Repository gives it out.
    part
        "train" or "test".

    Returns
    -------
    X
        Features in [-1, 1], (n, 561), float32.
    y
        Activities, (n,): walking, walking upstairs, walking downstairs, sitting, standing and laying as 0 to 5.

    References
    ----------
    Anguita, Ghio, Oneto, Parra and Reyes-Ortiz (2013), A public domain dataset for human activity recognition using
    smartphones.
    """
    one_of("part", part, ("train", "test"))
    try:
        with zipfile.ZipFile(path) as outer, zipfile.ZipFile(BytesIO(outer.read(_INNER))) as inner:
            X = _table(inner, f"{_FOLDER}/{part}/X_{part}.txt", np.float32)
            y = _table(inner, f"{_FOLDER}/{part}/y_{part}.txt", np.int64)
    except (zipfile.BadZipFile, KeyError, ValueError) as error:
        reason = str(error).strip("'\"")
        raise DataError(f"{path} is not the archive of UCI-HAR ({reason}); get the published file.") from error
    return X, y[:, 0] - 1


def _read(part: str, files: Mapping[str, Path]) -> tuple[np.ndarray, np.ndarray]:
    return read_uci_har(files[ARCHIVE], part)


def _table(archive: zipfile.ZipFile, name: str, dtype: Any) -> np.ndarray:
    with archive.open(name) as file:
        return np.loadtxt(file, dtype=dtype, ndmin=2)


def register() -> None:
    """Add the dataset to the catalogue."""
    register_dataset(
        "uci_har",
        _read,
        title="UCI-HAR: six activities of thirty people, 561 features in [-1, 1] of a phone's motion sensors",
        licence="CC BY 4.0 (J. L. Reyes-Ortiz et al., UCI Machine Learning Repository); its read-me: no commercial use",
        shapes={"train": (7352, 561), "test": (2947, 561)},
        addresses=["https://archive.ics.uci.edu/static/public/240/"],
        files=[DataFile(name=ARCHIVE, sha256="c00b803081a5c797cd5e4b83700a9810b38d53d9d84e01917e090e1fdbc81031")],
        label_names=["walking", "walking upstairs", "walking downstairs", "sitting", "standing", "laying"],
    )
