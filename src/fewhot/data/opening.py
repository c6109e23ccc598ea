"""Data by name or by path."""

from __future__ import annotations

import difflib
from pathlib import Path

from fewhot.core.errors import DataError, UnknownNameError
from fewhot.data.catalogue import dataset_names, load_dataset
from fewhot.data.fetch import TIMEOUT, Progress
from fewhot.data.files import EXTENSIONS, read_file
from fewhot.data.loaded import Loaded
from fewhot.data.splits import split_rows


def open_data(
    name_or_path: str | Path,
    split: str | None = None,
    data_dir: str | Path | None = None,
    *,
    label: str | int | None = None,
    download: bool = True,
    progress: Progress | None = None,
    timeout: float = TIMEOUT,
) -> Loaded:
    """Load a dataset by its name, or read a file.

    Parameters
    ----------
    name_or_path
        A dataset's name, or the path of a file; a dataset's name comes first (write ``./digits`` for such a file).
    split
        A named split. A dataset gives "train" unless told; a file gives all its rows unless told, and its splits are
        decided by a hash of the row's place (see `split_rows`).
    data_dir, download, progress, timeout
        As for `load_dataset`.
    label
        The label column of a file, as for `read_file`.

    Examples
    --------
    >>> open_data("digits", split="validation").X.shape
    (149, 64)
    """
    if isinstance(name_or_path, str) and name_or_path in dataset_names():
        if label is not None:
            raise DataError(f"label is {label!r}, and the dataset {name_or_path} has its own labels; leave label out.")
        return load_dataset(
            name_or_path, split or "train", data_dir, download=download, progress=progress, timeout=timeout
        )
    path = Path(name_or_path).expanduser()
    if path.suffix.lower() not in EXTENSIONS and not path.exists():
        near = difflib.get_close_matches(str(name_or_path), dataset_names(), n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise UnknownNameError(
            f"{str(name_or_path)!r} is neither a dataset nor a file.{hint} Datasets: {', '.join(dataset_names())}; "
            f"files end in {', '.join(EXTENSIONS)}."
        )
    loaded = read_file(path, label=label)
    return loaded if split is None else loaded.take(split_rows(len(loaded), split), split)
