"""Data by name or by path."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from fewhot.core.errors import DataError, UnknownNameError
from fewhot.data.catalogue import dataset_names, load_dataset
from fewhot.data.fetch import TIMEOUT, Progress
from fewhot.data.files import EXTENSIONS
from fewhot.data.files.reading import folding_of, read_selected, refuse_columns, vectorizer_of
from fewhot.data.files.selection import Selection
from fewhot.data.loaded import Loaded
from fewhot.data.pixels import AS_FOUND, Folding
from fewhot.data.splits import split_rows
from fewhot.data.tables import TableVectorizer
from fewhot.data.text.reading import is_lines


def open_data(
    name_or_path: str | Path,
    split: str | None = None,
    data_dir: str | Path | None = None,
    *,
    label: str | int | None = None,
    text: str | None = None,
    texts: bool = False,
    columns: str | Sequence[str] | None = None,
    drop: str | Sequence[str] | None = None,
    prepare: bool | TableVectorizer = False,
    image_shape: str | Sequence[int] | None = None,
    download: bool = True,
    progress: Progress | None = None,
    timeout: float = TIMEOUT,
) -> Loaded:
    """Load a dataset by its name, or read a file.

    Parameters
    ----------
    name_or_path
        A dataset's name, or the path of a file or a folder of pictures; a dataset's name comes first (write
        ``./digits`` for such a file).
    split
        A named split. A dataset gives "train" unless told; a file gives all its rows unless told, and its splits are
        decided by a hash of the row's place (see `split_rows`).
    data_dir, download, progress, timeout
        As for `load_dataset`.
    label
        The label column of a file, as for `read_file`.
    text
        The column of a file whose texts are the rows, as for `read_file`.
    texts
        Whether the rows of a dataset that has texts are these, and not the counts of their words.
    columns, drop, prepare
        As for `read_file`; a new vectorizer is fitted on the rows of ``split`` alone.
    image_shape
        How rows of a file are images, as for `read_file`.

    Examples
    --------
    >>> open_data("digits", split="validation").X.shape
    (149, 64)
    """
    vectorizer = vectorizer_of(prepare)
    selection = Selection(label=label, columns=columns, drop=drop)
    if not (isinstance(name_or_path, str) and name_or_path in dataset_names()):
        folding = folding_of(image_shape)
        return open_table(
            name_or_path, selection, split, text=text, texts=texts, vectorizer=vectorizer, folding=folding
        )
    if image_shape is not None:
        raise DataError(f"image_shape= is for files, and {name_or_path} is a dataset; leave it out.")
    if label is not None:
        raise DataError(f"label is {label!r}, and the dataset {name_or_path} has its own labels; leave label out.")
    if text is not None:
        raise DataError(f"text is {text!r}, and the dataset {name_or_path} has no columns; give texts=True instead.")
    refuse_columns(name_or_path, selection, vectorizer)
    loaded = load_dataset(
        name_or_path, split or "train", data_dir, download=download, progress=progress, timeout=timeout
    )
    return loaded.as_texts() if texts else loaded


def open_table(
    name_or_path: str | Path,
    selection: Selection,
    split: str | None = None,
    *,
    text: str | None = None,
    texts: bool = False,
    vectorizer: TableVectorizer | None = None,
    folding: Folding = AS_FOUND,
) -> Loaded:
    """Read a file, or a split of its rows; a vectorizer that is not fitted yet is fitted on these rows alone."""
    path = Path(name_or_path).expanduser()
    if path.suffix.lower() not in EXTENSIONS and not path.exists():
        near = difflib.get_close_matches(str(name_or_path), dataset_names(), n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise UnknownNameError(
            f"{str(name_or_path)!r} is neither a dataset nor a file.{hint} Datasets: {', '.join(dataset_names())}; "
            f"files end in {', '.join(EXTENSIONS)}, or are folders of pictures."
        )
    if texts and text is None and not is_lines(path):
        raise DataError(f"texts=True is for datasets, and {path} is none; name its column of texts by text=.")
    fit_on = None if split is None else partial(split_rows, split=split)
    loaded = read_selected(path, selection, text=text, vectorizer=vectorizer, fit_on=fit_on, folding=folding)
    return loaded if split is None else loaded.take(split_rows(len(loaded), split), split)
