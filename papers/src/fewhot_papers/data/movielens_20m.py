"""MovieLens 20M: who liked which film, in the split of users that recommenders are compared on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fewhot.data import DataFile, Table, read_movielens, register_dataset

ARCHIVE = "ml-20m.zip"


def _read(part: str, files: Mapping[str, Path]) -> Table:
    return read_movielens(files[ARCHIVE])


def register() -> None:
    """Add the dataset to the catalogue."""
    register_dataset(
        "movielens_20m",
        _read,
        title="MovieLens 20M: which films a user gave 4 stars or more; users with 5 films or more; 10,000 "
        "validation and 10,000 test users",
        licence="GroupLens terms: research use with acknowledgement, no redistribution, no commercial use",
        shapes={"all": (136_677, 20_720)},
        addresses=["https://files.grouplens.org/datasets/movielens/"],
        files=[DataFile(name=ARCHIVE, sha256="96f243c338a8665f6bcc89c53edf6ee39162a846940de6b7c8c48aeada765ff3")],
        n_test=10_000,
        n_validation=10_000,
    )
