"""What the catalogue knows of a dataset: its files, its parts, and which rows make up a split."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fewhot.core.errors import InvalidParameterError
from fewhot.data.files.table import Table
from fewhot.data.splits import split_rows, validation_mask

Read = Callable[[str, Mapping[str, Path]], tuple[Any, Any] | Table]
"""(part, files and folders by name) -> (X, y), with None for y without labels; or a `Table`, which has names too."""

Shape = tuple[int | None, int | None]
"""Rows and columns; None for a number that is known only after reading."""

PARTS: tuple[tuple[str, ...], ...] = (("train", "test"), ("fit", "validation", "test"), ("all",))


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """A file of a dataset.

    Attributes
    ----------
    name
        The file's name, at every address and on disk; there it may be compressed or not.
    sha256
        SHA-256 of the file as it is published, or of its content after decompression where it is gzip-compressed. None
        where nobody has published one: such a file is never fetched, and whoever reads it checks what is in it.
    part
        The published part that needs it, such as "train" or "test"; None when every part does.
    """

    name: str
    sha256: str | None
    part: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A dataset as it was registered; `register_dataset` says what the fields mean."""

    read: Read
    title: str
    licence: str
    shapes: Mapping[str, Shape]
    addresses: tuple[str, ...]
    files: tuple[DataFile, ...]
    folders: tuple[str, ...]
    folder: str
    page: str
    image_shape: tuple[int, ...] | None
    feature_names: tuple[str, ...] | None
    label_names: tuple[str, ...] | None
    n_test: int | None
    n_validation: int | None

    def check(self) -> None:
        """Refuse what could not work."""
        if set(self.shapes) not in map(set, PARTS):
            raise InvalidParameterError(
                f"shapes has the parts {sorted(self.shapes)}; give 'train' and 'test', with published validation rows "
                f"'fit', 'validation' and 'test', or 'all' alone."
            )
        n_columns = next(iter(self.shapes.values()))[1]
        if self.feature_names is not None and len(self.feature_names) != n_columns:
            raise InvalidParameterError(
                f"feature_names has {len(self.feature_names)} names for {n_columns} columns; give one name a column."
            )
        if self.n_test is not None and "all" not in self.shapes:
            raise InvalidParameterError(f"n_test is {self.n_test}, and the test rows are published; leave n_test out.")
        if self.n_validation is not None and "validation" in self.shapes:
            raise InvalidParameterError(
                f"n_validation is {self.n_validation}, and the validation rows are published; leave n_validation out."
            )
        for file in self.files:
            if file.sha256 is not None and (len(file.sha256) != 64 or set(file.sha256) - set("0123456789abcdef")):
                raise InvalidParameterError(
                    f"The SHA-256 of {file.name} is {file.sha256!r}; give 64 hexadecimal digits."
                )
        for address in self.addresses:
            if not address.startswith(("http://", "https://")):
                raise InvalidParameterError(f"The address {address!r} must begin with http:// or https://.")

    def parts_of(self, split: str) -> tuple[str, ...]:
        """Return the parts that have the rows of a split."""
        if split == "all" or "all" in self.shapes:
            return tuple(self.shapes)
        if split in self.shapes:
            return (split,)
        return ("fit", "validation") if split == "train" else ("train",)

    def rows_of(self, split: str, n_rows: int) -> np.ndarray | None:
        """Return which of the ``n_rows`` rows of a split's parts are its own; None for all of them."""
        if "all" in self.shapes:
            if split == "all":
                return None
            return split_rows(n_rows, split, n_test=self.n_test, n_validation=self.n_validation)
        if split in ("train", "test", "all") or split in self.shapes:
            return None
        validation = validation_mask(n_rows, self.n_validation)
        return np.flatnonzero(validation if split == "validation" else ~validation)

    def shape_of(self, split: str) -> Shape:
        """Return the rows and columns of a split, as far as they are known before reading."""
        shapes = [self.shapes[part] for part in self.parts_of(split)]
        counts = [n_rows for n_rows, _ in shapes if n_rows is not None]
        if len(counts) < len(shapes):
            return {"test": self.n_test, "validation": self.n_validation}.get(split), shapes[0][1]
        n_rows = sum(counts)
        if self.n_test is not None and self.n_validation is not None:
            n_train = n_rows - self.n_test
            sizes = {"train": n_train, "validation": self.n_validation, "fit": n_train - self.n_validation}
            return {**sizes, "test": self.n_test, "all": n_rows}[split], shapes[0][1]
        rows = self.rows_of(split, n_rows)
        return n_rows if rows is None else len(rows), shapes[0][1]
