"""The catalogue of datasets: names in, rows out, from a folder, the cache or the network."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from fewhot.core.checks import one_of
from fewhot.core.errors import DataError, DuplicateNameError, UnknownNameError
from fewhot.core.plugins import load_plugin, plugins
from fewhot.data.entries import DataFile, Entry, Read, Shape
from fewhot.data.fetch import TIMEOUT, Progress
from fewhot.data.files.table import Table, as_float32, encode_labels
from fewhot.data.loaded import Loaded, content_digest
from fewhot.data.places import NO_ADDRESS, find, find_folder, not_on_disk, obtain
from fewhot.data.splits import SPLITS

__all__ = [
    "DataFile",
    "DatasetInfo",
    "dataset_names",
    "describe",
    "fetch_dataset",
    "forget_dataset",
    "load_dataset",
    "register_dataset",
]


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
        Rows and columns of every named split; None for a number that is known only after reading.
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
    shapes: dict[str, Shape]
    image_shape: tuple[int, ...] | None
    on_disk: bool
    folder: Path | None

    @property
    def address(self) -> str:
        """The first address, or "" for embedded and generated data."""
        return self.addresses[0] if self.addresses else ""


PLUGINS = "fewhot.datasets"
"""The group of entry points by which other packages add datasets: a name, and a function that registers it."""

_ENTRIES: dict[str, Entry] = {}


def register_dataset(
    name: str,
    read: Read,
    *,
    title: str,
    licence: str,
    shapes: Mapping[str, Shape],
    addresses: Sequence[str] = (),
    files: Sequence[DataFile] = (),
    folders: Sequence[str] = (),
    folder: str | None = None,
    page: str = "",
    image_shape: tuple[int, ...] | None = None,
    feature_names: Sequence[str] | None = None,
    label_names: Sequence[str] | None = None,
    n_test: int | None = None,
    n_validation: int | None = None,
) -> None:
    """Add a dataset to the catalogue, so that its name works wherever a dataset's name does.

    Parameters
    ----------
    name
        Its name; one that is taken is refused.
    read
        A function of a part's name and a dictionary from file and folder names to paths that returns ``(X, y)``, with
        None for y without labels, or a `Table`, whose names of columns and labels are kept. The files have been found
        or fetched, and their content checked.
    title, licence
        What it holds, and under which terms.
    shapes
        Rows and columns of each part that ``read`` knows: "train" and "test" as published; "fit", "validation" and
        "test" where the validation rows are published too; or "all" when there is no published test set, in which case
        a hash of the row's index decides (see `split_rows`). None stands for a number that is known only after reading.
    addresses
        Folders on the network, tried in order; a file's address is the folder's followed by the file's name.
    files
        The files with the SHA-256 of their content; one without is got by hand.
    folders
        Folders of many files, which are found on disk beside the files and never fetched; ``read`` checks what is in
        them.
    folder
        The folder of its files within each place, such as "20newsgroups/nvdm2000"; None for the dataset's name.
    page
        The page to get files and folders from by hand, where they have no address.
    image_shape
        How a row folds into an image.
    feature_names
        The columns' names.
    label_names
        What label 0, 1, ... is called. Labels that ``read`` returns as words are numbered by their place here; None
        numbers words in sorted order, where "all" is the only part.
    n_test
        How many rows of "all" are test rows; None for one in five.
    n_validation
        How many training rows are validation rows; None for one in ten.

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
    entry = Entry(
        read=read,
        title=title,
        licence=licence,
        shapes=dict(shapes),
        addresses=tuple(addresses),
        files=tuple(files),
        folders=tuple(folders),
        folder=name if folder is None else folder,
        page=page,
        image_shape=image_shape,
        feature_names=None if feature_names is None else tuple(feature_names),
        label_names=None if label_names is None else tuple(label_names),
        n_test=n_test,
        n_validation=n_validation,
    )
    if _ENTRIES.get(name, entry) != entry:
        raise DuplicateNameError(f"The dataset name {name!r} is taken by {_ENTRIES[name].title}; choose another name.")
    entry.check()
    _ENTRIES[name] = entry


def forget_dataset(name: str) -> None:
    """Take a dataset out of the catalogue; for tests and interactive work."""
    _ENTRIES.pop(name, None)


def dataset_names() -> list[str]:
    """Return the names of all datasets, sorted: those of this library, of other packages and your own.

    Examples
    --------
    >>> {"digits", "mnist", "planted"} <= set(dataset_names())
    True
    """
    return sorted({*_ENTRIES, *plugins(PLUGINS)})


def describe(name: str, data_dir: str | Path | None = None) -> DatasetInfo:
    """Say what a dataset is, without loading or fetching it.

    Examples
    --------
    >>> describe("digits").shapes["test"], describe("digits").on_disk
    ((339, 64), True)
    """
    entry = _entry(name)
    found = [find(entry, file, data_dir) for file in entry.files]
    found += [find_folder(entry, folder, data_dir) for folder in entry.folders]
    on_disk = all(path is not None for path in found)
    return DatasetInfo(
        name=name,
        title=entry.title,
        licence=entry.licence,
        addresses=entry.addresses,
        files=entry.files,
        folders=entry.folders,
        page=entry.page,
        shapes={split: entry.shape_of(split) for split in SPLITS},
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
    system's folder for caches), each as ``<folder>/<name>/<file>`` unless the dataset has a folder of another name, and
    fetched into the cache when they are nowhere. Their content is checked against the published SHA-256 wherever they
    come from; a file without one is never fetched, and its reader checks what is in it.

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
    parts = [part for part in entry.shapes if part in entry.parts_of(split)]
    files = fetch_dataset(name, data_dir, download=download, progress=progress, timeout=timeout, parts=parts)
    read = [_read(name, entry, part, files) for part in parts]
    X: Any = read[0].X if len(read) == 1 else _stacked([table.X for table in read])
    labels: Any = [table.y for table in read]
    y = None if labels[0] is None else np.concatenate(labels)
    rows = entry.rows_of(split, X.shape[0])
    texts = None if read[0].texts is None else [text for table in read for text in table.texts or ()]
    if rows is not None:
        X, y = X[rows], None if y is None else y[rows]
        texts = None if texts is None else [texts[row] for row in rows]
    return Loaded(
        X=X,
        y=y,
        name=name,
        split=split,
        image_shape=entry.image_shape,
        feature_names=read[0].feature_names,
        licence=entry.licence,
        digest=content_digest(X, y, texts),
        label_names=read[0].label_names,
        texts=texts,
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
        raise DataError(
            f"data_dir is {str(data_dir)!r}, which is no folder; name the folder that holds {entry.folder}/."
        )
    wanted = [file for file in entry.files if parts is None or file.part is None or file.part in parts]
    paths = {
        file.name: obtain(name, entry, file, data_dir, download=download, progress=progress, timeout=timeout)
        for file in wanted
    }
    for folder in entry.folders:
        path = find_folder(entry, folder, data_dir)
        if path is None:
            raise not_on_disk(name, entry, f"{folder}/", data_dir, reason=NO_ADDRESS)
        paths[folder] = path
    return paths


def _entry(name: str) -> Entry:
    if name not in _ENTRIES and name in plugins(PLUGINS):
        load_plugin(plugins(PLUGINS)[name])()
    if name not in _ENTRIES:
        near = difflib.get_close_matches(str(name), dataset_names(), n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise UnknownNameError(f"No dataset is called {name!r}.{hint} Known: {', '.join(dataset_names())}.")
    return _ENTRIES[name]


def _read(name: str, entry: Entry, part: str, files: Mapping[str, Path]) -> Table:
    table = entry.read(part, files)
    table = table if isinstance(table, Table) else Table(X=table[0], y=table[1])
    feature_names = table.feature_names if entry.feature_names is None else list(entry.feature_names)
    X: Any = as_float32(table.X, f"The part {part!r} of {name}", feature_names)
    if any(known not in (None, found) for known, found in zip(entry.shapes[part], X.shape, strict=True)):
        raise DataError(
            f"The part {part!r} of {name} has shape {X.shape} where {tuple(entry.shapes[part])} is published; correct "
            f"the shapes it was registered with, or its reader."
        )
    if table.y is None:
        return Table(X=X, feature_names=feature_names, texts=table.texts)
    y, words = encode_labels(table.y, f"The part {part!r} of {name}", X.shape[0])
    if words is not None and (entry.label_names is not None or len(entry.shapes) > 1):
        y = _places(words, entry.label_names or (), name)[y]
    label_names = (words or table.label_names) if entry.label_names is None else list(entry.label_names)
    return Table(X=X, y=y, feature_names=feature_names, label_names=label_names, texts=table.texts)


def _places(words: Sequence[str], label_names: Sequence[str], name: str) -> np.ndarray:
    """Return the number of each word, the same in every part."""
    unknown = next((word for word in words if word not in label_names), None)
    if unknown is not None:
        raise DataError(
            f"{name} has the label {unknown!r}, which is not in label_names; register it with all its words there, so "
            f"that they have the same numbers in every part."
        )
    return np.array([label_names.index(word) for word in words])


def _stacked(matrices: list[Any]) -> Any:
    return sp.vstack(matrices, format="csr") if sp.issparse(matrices[0]) else np.concatenate(matrices)
