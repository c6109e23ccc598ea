"""The catalogue of datasets: names in, rows out, from a folder, the cache or the network."""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from fewhot.core.checks import one_of
from fewhot.core.errors import DataError, DuplicateNameError, InvalidParameterError, UnknownNameError
from fewhot.data.fetch import TIMEOUT, Progress, content_sha256, fetch
from fewhot.data.files.table import Table, as_float32, encode_labels
from fewhot.data.loaded import Loaded, content_digest
from fewhot.data.splits import SPLITS, split_rows, validation_mask

Read = Callable[[str, Mapping[str, Path]], tuple[Any, Any]]
"""(part, files and folders by name) -> (X, y); y is None without labels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """A file of a dataset.

    Attributes
    ----------
    name
        The file's name, at every address and on disk.
    sha256
        SHA-256 of its content, after decompression where it is gzip-compressed.
    part
        The published part that needs it, such as "train" or "test"; None when every part does.
    """

    name: str
    sha256: str
    part: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetInfo:
    """What is known about a dataset before it is loaded.

    Attributes
    ----------
    name, title, licence
        What it is called, what it holds, and under which terms.
    addresses
        The folders on the network that hold its files; empty for embedded and generated data.
    files
        Its files; empty for embedded and generated data.
    folders
        Folders of many files that it needs beside them.
    page
        Where to get by hand what has no address; "" otherwise.
    shapes
        Rows and columns of every named split.
    image_shape
        How a row folds into an image; None for rows that are no images.
    on_disk
        Whether loading it needs no network.
    folder
        The folder its files are in, when they are on disk.
    """

    name: str
    title: str
    licence: str
    addresses: tuple[str, ...]
    files: tuple[DataFile, ...]
    folders: tuple[str, ...]
    page: str
    shapes: dict[str, tuple[int, int]]
    image_shape: tuple[int, ...] | None
    on_disk: bool
    folder: Path | None

    @property
    def address(self) -> str:
        """The first address, or "" for embedded and generated data."""
        return self.addresses[0] if self.addresses else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    read: Read
    title: str
    licence: str
    shapes: Mapping[str, tuple[int, int]]
    addresses: tuple[str, ...]
    files: tuple[DataFile, ...]
    folders: tuple[str, ...]
    page: str
    image_shape: tuple[int, ...] | None
    feature_names: tuple[str, ...] | None
    label_names: tuple[str, ...] | None


_PARTS: tuple[tuple[str, ...], ...] = (("train", "test"), ("fit", "validation", "test"), ("all",))
_ENTRIES: dict[str, _Entry] = {}


def register_dataset(
    name: str,
    read: Read,
    *,
    title: str,
    licence: str,
    shapes: Mapping[str, tuple[int, int]],
    addresses: Sequence[str] = (),
    files: Sequence[DataFile] = (),
    folders: Sequence[str] = (),
    page: str = "",
    image_shape: tuple[int, ...] | None = None,
    feature_names: Sequence[str] | None = None,
    label_names: Sequence[str] | None = None,
) -> None:
    """Add a dataset to the catalogue, so that its name works wherever a dataset's name does.

    Parameters
    ----------
    name
        Its name; one that is taken is refused.
    read
        A function of a part's name and a dictionary from file and folder names to paths that returns ``(X, y)``, with
        None for y without labels. The files have been found or fetched, and their content checked.
    title, licence
        What it holds, and under which terms.
    shapes
        Rows and columns of each part that ``read`` knows: "train" and "test" as published; "fit", "validation" and
        "test" where the validation rows are published too; or "all" when there is no published test set, in which case
        a hash of the row's index decides (see `split_rows`).
    addresses
        Folders on the network, tried in order; a file's address is the folder's followed by the file's name.
    files
        The files with the SHA-256 of their content.
    folders
        Folders of many files, which are found on disk beside the files and never fetched; ``read`` checks what is in
        them.
    page
        The page to get files and folders from by hand, where they have no address.
    image_shape
        How a row folds into an image.
    feature_names
        The columns' names.
    label_names
        What label 0, 1, ... is called. Labels that ``read`` returns as words are numbered by their place here; None
        numbers words in sorted order, where "all" is the only part.

    Examples
    --------
    >>> def read_steps(part, files):
    ...     return np.tri(10, 4), ["even", "odd"] * 5
    >>> register_dataset("steps", read_steps, title="Ten steps", licence="public domain", shapes={"all": (10, 4)})
    >>> load_dataset("steps", split="all").X.shape, describe("steps").shapes["test"]
    ((10, 4), (4, 4))
    >>> load_dataset("steps").label_names
    ['even', 'odd']
    >>> forget_dataset("steps")

    With files to fetch, ``read`` finds them by name:

    >>> def read_counts(part, files):
    ...     return sp.load_npz(files["counts.npz"]), None
    >>> register_dataset(
    ...     "words",
    ...     read_counts,
    ...     title="Word counts of twenty groups",
    ...     licence="research use",
    ...     shapes={"all": (18774, 2000)},
    ...     addresses=["https://example.org/words/"],
    ...     files=[DataFile(name="counts.npz", sha256="0" * 64)],
    ... )
    >>> forget_dataset("words")
    """
    entry = _Entry(
        read=read,
        title=title,
        licence=licence,
        shapes=dict(shapes),
        addresses=tuple(addresses),
        files=tuple(files),
        folders=tuple(folders),
        page=page,
        image_shape=image_shape,
        feature_names=None if feature_names is None else tuple(feature_names),
        label_names=None if label_names is None else tuple(label_names),
    )
    if _ENTRIES.get(name, entry) != entry:
        raise DuplicateNameError(f"The dataset name {name!r} is taken by {_ENTRIES[name].title}; choose another name.")
    if set(shapes) not in map(set, _PARTS):
        raise InvalidParameterError(
            f"shapes has the parts {sorted(shapes)}; give 'train' and 'test', with published validation rows 'fit', "
            f"'validation' and 'test', or 'all' alone."
        )
    n_columns = next(iter(entry.shapes.values()))[1]
    if entry.feature_names is not None and len(entry.feature_names) != n_columns:
        raise InvalidParameterError(
            f"feature_names has {len(entry.feature_names)} names for {n_columns} columns; give one name a column."
        )
    for file in entry.files:
        if len(file.sha256) != 64 or set(file.sha256) - set("0123456789abcdef"):
            raise InvalidParameterError(f"The SHA-256 of {file.name} is {file.sha256!r}; give 64 hexadecimal digits.")
    for address in entry.addresses:
        if not address.startswith(("http://", "https://")):
            raise InvalidParameterError(f"The address {address!r} must begin with http:// or https://.")
    _ENTRIES[name] = entry


def forget_dataset(name: str) -> None:
    """Take a dataset out of the catalogue; for tests and interactive work."""
    _ENTRIES.pop(name, None)


def dataset_names() -> list[str]:
    """Return the names of all datasets, sorted.

    Examples
    --------
    >>> dataset_names()
    ['celeba32', 'digits', 'fashion_mnist', 'mnist', 'planted', 'smiley', 'uci_har']
    """
    return sorted(_ENTRIES)


def describe(name: str, data_dir: str | Path | None = None) -> DatasetInfo:
    """Say what a dataset is, without loading or fetching it.

    Examples
    --------
    >>> describe("digits").shapes["test"], describe("digits").on_disk
    ((339, 64), True)
    """
    entry = _entry(name)
    found = [_find(name, file, data_dir) for file in entry.files]
    found += [_find_folder(name, folder, data_dir) for folder in entry.folders]
    on_disk = all(path is not None for path in found)
    return DatasetInfo(
        name=name,
        title=entry.title,
        licence=entry.licence,
        addresses=entry.addresses,
        files=entry.files,
        folders=entry.folders,
        page=entry.page,
        shapes={split: _shape(entry, split) for split in SPLITS},
        image_shape=entry.image_shape,
        on_disk=on_disk,
        folder=next((path.parent for path in found if path is not None), None) if on_disk else None,
    )


def load_dataset(
    name: str,
    split: str = "train",
    data_dir: str | Path | None = None,
    download: bool = True,
    *,
    progress: Progress | None = None,
    timeout: float = TIMEOUT,
) -> Loaded:
    """Load a named dataset.

    Its files are looked for in ``data_dir``, then in ``$FEWHOT_DATA``, then in the cache (``$FEWHOT_CACHE``, or the
    system's folder for caches), each as ``<folder>/<name>/<file>``, and fetched into the cache when they are nowhere.
    Their content is checked against the published SHA-256 wherever they come from.

    Parameters
    ----------
    name
        One of `dataset_names`.
    split
        "train", "validation" (part of "train"), "fit" ("train" without "validation"), "test" or "all".
    data_dir
        A folder of datasets that are already on disk.
    download
        Whether files may be fetched.
    progress
        Called with a file's name, the bytes that are here and the bytes in all while it is fetched.
    timeout
        Seconds without a byte after which an address counts as not answering.

    Examples
    --------
    >>> digits = load_dataset("digits", split="test")
    >>> digits.X.shape, digits.image_shape, float(digits.X.max())
    ((339, 64), (8, 8), 1.0)
    """
    entry = _entry(name)
    one_of("split", split, SPLITS)
    parts = [part for part in entry.shapes if part in _parts_of(entry, split)]
    files = fetch_dataset(name, data_dir, download=download, progress=progress, timeout=timeout, parts=parts)
    read = [_read(name, entry, part, files) for part in parts]
    X: Any = read[0].X if len(read) == 1 else _stacked([table.X for table in read])
    labels: Any = [table.y for table in read]
    y = None if labels[0] is None else np.concatenate(labels)
    rows = _rows_of(entry, split)
    if rows is not None:
        X, y = X[rows], None if y is None else y[rows]
    return Loaded(
        X=X,
        y=y,
        name=name,
        split=split,
        image_shape=entry.image_shape,
        feature_names=read[0].feature_names,
        licence=entry.licence,
        digest=content_digest(X, y),
        label_names=read[0].label_names,
    )


def fetch_dataset(
    name: str,
    data_dir: str | Path | None = None,
    *,
    download: bool = True,
    progress: Progress | None = None,
    timeout: float = TIMEOUT,
    parts: Sequence[str] | None = None,
) -> dict[str, Path]:
    """Return the paths of a dataset's files and folders by name, after fetching missing files and checking them.

    The parameters are those of `load_dataset`; ``parts`` limits the files to those that some published parts need.

    Examples
    --------
    >>> fetch_dataset("digits")
    {}
    """
    entry = _entry(name)
    if data_dir is not None and not Path(data_dir).expanduser().is_dir():
        raise DataError(f"data_dir is {str(data_dir)!r}, which is no folder; name the folder that holds {name}/.")
    wanted = [file for file in entry.files if parts is None or file.part is None or file.part in parts]
    paths = {
        file.name: _obtain(name, entry, file, data_dir, download=download, progress=progress, timeout=timeout)
        for file in wanted
    }
    for folder in entry.folders:
        path = _find_folder(name, folder, data_dir)
        if path is None:
            raise _not_on_disk(name, entry, f"{folder}/", data_dir)
        paths[folder] = path
    return paths


def cache_folder() -> Path:
    """Return the folder for fetched datasets: ``$FEWHOT_CACHE``, or the system's folder for caches."""
    if told := os.environ.get("FEWHOT_CACHE"):
        return Path(told).expanduser()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "fewhot" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "fewhot"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fewhot"


def _entry(name: str) -> _Entry:
    if name not in _ENTRIES:
        near = difflib.get_close_matches(str(name), _ENTRIES, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise UnknownNameError(f"No dataset is called {name!r}.{hint} Known: {', '.join(dataset_names())}.")
    return _ENTRIES[name]


def _obtain(
    name: str,
    entry: _Entry,
    file: DataFile,
    data_dir: str | Path | None,
    *,
    download: bool,
    progress: Progress | None,
    timeout: float,
) -> Path:
    cached = cache_folder() / name / file.name
    path = _find(name, file, data_dir)
    if path is not None and content_sha256(path) == file.sha256:
        return path
    if path is not None and (path != cached or not download):
        raise DataError(
            f"{path} is not the published file (SHA-256 {content_sha256(path)[:12] or 'none: damaged'} instead of "
            f"{file.sha256[:12]}); replace it, or remove it to have it fetched."
        )
    named = os.environ.get("FEWHOT_DATA")
    if named and not Path(named).expanduser().is_dir():
        raise DataError(
            f"$FEWHOT_DATA is {named!r}, which is no folder; name the folder that holds {name}/, or unset it."
        )
    if not download or not entry.addresses:
        raise _not_on_disk(name, entry, file.name, data_dir)
    addresses = [f"{address.rstrip('/')}/{file.name}" for address in entry.addresses]
    return fetch(addresses, cached, file.sha256, progress=progress, timeout=timeout)


def _not_on_disk(name: str, entry: _Entry, what: str, data_dir: str | Path | None) -> DataError:
    looked = ", ".join(str(folder / name) for folder in _folders(data_dir))
    advice = "allow the download"
    if not entry.addresses or what.endswith("/"):
        needed = " and ".join([*(file.name for file in entry.files), *(f"{folder}/" for folder in entry.folders)])
        source = f" (from {entry.page} put {needed} there)" if entry.page else ""
        advice = f"get it by hand, for it has no public address{source}"
    return DataError(
        f"{what} of {name} is not on disk (looked in {looked}); {advice}, or name its folder by data_dir= or "
        f"$FEWHOT_DATA."
    )


def _folders(data_dir: str | Path | None) -> list[Path]:
    told = [data_dir, os.environ.get("FEWHOT_DATA")]
    return [*(Path(folder).expanduser() for folder in told if folder), cache_folder()]


def _find(name: str, file: DataFile, data_dir: str | Path | None) -> Path | None:
    """Return the first place that has the file, compressed or not."""
    spellings = dict.fromkeys([file.name, file.name.removesuffix(".gz")])
    places = (folder / name / spelling for folder in _folders(data_dir) for spelling in spellings)
    return next((place for place in places if place.is_file()), None)


def _find_folder(name: str, folder: str, data_dir: str | Path | None) -> Path | None:
    places = (place / name / folder for place in _folders(data_dir))
    return next((place for place in places if place.is_dir()), None)


def _read(name: str, entry: _Entry, part: str, files: Mapping[str, Path]) -> Table:
    matrix, labels = entry.read(part, files)
    feature_names = None if entry.feature_names is None else list(entry.feature_names)
    X: Any = as_float32(matrix, f"The part {part!r} of {name}", feature_names)
    if X.shape != tuple(entry.shapes[part]):
        raise DataError(
            f"The part {part!r} of {name} has shape {X.shape} where {tuple(entry.shapes[part])} is published; correct "
            f"the shapes it was registered with, or its reader."
        )
    if labels is None:
        return Table(X=X, feature_names=feature_names)
    y, words = encode_labels(labels, f"The part {part!r} of {name}", X.shape[0])
    if words is not None and (entry.label_names is not None or len(entry.shapes) > 1):
        y = _places(words, entry.label_names or (), name)[y]
    label_names = words if entry.label_names is None else list(entry.label_names)
    return Table(X=X, y=y, feature_names=feature_names, label_names=label_names)


def _places(words: Sequence[str], label_names: Sequence[str], name: str) -> np.ndarray:
    """Return the number of each word, the same in every part."""
    unknown = next((word for word in words if word not in label_names), None)
    if unknown is not None:
        raise DataError(
            f"{name} has the label {unknown!r}, which is not in label_names; register it with all its words there, so "
            f"that they have the same numbers in every part."
        )
    return np.array([label_names.index(word) for word in words])


def _parts_of(entry: _Entry, split: str) -> tuple[str, ...]:
    if split == "all" or "all" in entry.shapes:
        return tuple(entry.shapes)
    if split in entry.shapes:
        return (split,)
    return ("fit", "validation") if split == "train" else ("train",)


def _rows_of(entry: _Entry, split: str) -> np.ndarray | None:
    """Return the rows of the parts that make up a split; None for all of them."""
    if "all" in entry.shapes:
        return None if split == "all" else split_rows(entry.shapes["all"][0], split)
    if split in ("train", "test", "all") or split in entry.shapes:
        return None
    validation = validation_mask(entry.shapes["train"][0])
    return np.flatnonzero(validation if split == "validation" else ~validation)


def _shape(entry: _Entry, split: str) -> tuple[int, int]:
    parts = _parts_of(entry, split)
    rows = _rows_of(entry, split)
    n_rows = sum(entry.shapes[part][0] for part in parts) if rows is None else len(rows)
    return n_rows, entry.shapes[parts[0]][1]


def _stacked(matrices: list[Any]) -> Any:
    return sp.vstack(matrices, format="csr") if sp.issparse(matrices[0]) else np.concatenate(matrices)
