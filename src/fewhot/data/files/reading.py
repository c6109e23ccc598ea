"""One function for every kind of file, chosen by the ending of its name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from fewhot.core.checks import truth
from fewhot.core.errors import DataError
from fewhot.core.warning import warn_caller
from fewhot.data.files.arrays import images_of, read_h5ad, read_mtx, read_npy, read_npz, read_rows_folder
from fewhot.data.files.csv import read_csv
from fewhot.data.files.parquet import read_parquet
from fewhot.data.files.pictures import ENDINGS, is_picture, pictures_in, read_pictures
from fewhot.data.files.selection import Selection
from fewhot.data.files.table import RawTable, Table, table_of
from fewhot.data.files.text import read_jsonl, read_text_rows, read_txt
from fewhot.data.loaded import Loaded, content_digest
from fewhot.data.pixels import AS_FOUND, BRIGHT, BYTE, MIN_PIXELS, Folding, are_bright, in_words, parsed_shape, squares
from fewhot.data.stored import is_rows_folder
from fewhot.data.tables import TableVectorizer
from fewhot.data.text.reading import is_lines

ArrayReader = Callable[[Path, str | int | None, Folding], Table]
Reader = Callable[[Path, str | int | None], Table]
TableReader = Callable[[Path, Selection], RawTable]

_ARRAY_READERS: dict[str, ArrayReader] = {
    ".npy": read_npy,
    ".npz": read_npz,
}
_READERS: dict[str, Reader] = {
    ".mtx": read_mtx,
    ".h5ad": read_h5ad,
    ".txt": read_txt,
}
_TABLE_READERS: dict[str, TableReader] = {
    ".csv": read_csv,
    ".tsv": read_csv,
    ".parquet": read_parquet,
    ".jsonl": read_jsonl,
}

EXTENSIONS = (*_ARRAY_READERS, *_READERS, *_TABLE_READERS)
"""The endings of the files that can be read."""


def read_file(
    path: str | Path,
    *,
    label: str | int | None = None,
    text: str | None = None,
    columns: str | Sequence[str] | None = None,
    drop: str | Sequence[str] | None = None,
    prepare: bool | TableVectorizer = False,
    image_shape: str | Sequence[int] | None = None,
) -> Loaded:
    r"""Read a file of numbers or of texts, or a folder of pictures.

    ``.npy`` opens memory-mapped and sparse matrices stay sparse. Nothing is unpickled. What cannot be read raises
    `DataError`; of a table with columns that are not numbers, it lists all of them.

    Parameters
    ----------
    path
        A file that ends in .npy, .npz (dense, or from `scipy.sparse.save_npz`), .csv, .tsv, .parquet, .mtx, .h5ad or
        .jsonl; or a folder that `write_rows` made, which is read whole here. Of texts: a file that ends in .txt (a text
        a line), .jsonl, .csv or .tsv, or in one of these and .gz, .bz2 or .xz. Of images: .npy or .npz with three
        or four axes, (n, height, width) or (n, height, width, channels), or a folder of pictures, PNG or JPEG, where
        folders within are labels.
    label
        The column of labels in a table (.csv, .parquet, .jsonl; in .h5ad a column of ``.obs``), by name or by place
        from 0. Words become 0, 1, ... in sorted order and are kept as ``label_names``.
    text
        The column of a .jsonl, .csv or .tsv file whose texts are the rows; the other columns are left out.
    columns
        The columns of a table to keep, a list of names or one string with commas; None keeps all.
    drop
        The columns of a table to leave out, in the same form.
    prepare
        Whether words, dates and missing values of a table are turned into numbers, by a new `TableVectorizer` or by the
        one that is given; one that is not fitted yet is fitted on these rows.
    image_shape
        How flat rows are images, (height, width) or (height, width, channels), or text such as "112x92"; pictures of a
        folder are brought to this size. Whole numbers from 0 to 255 are then pixels, and divided by 255.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "flowers.csv"
    ...     _ = path.write_text("length,width,kind\n5.1,3.5,iris\n4.9,3.0,rose\n")
    ...     flowers = read_file(path, label="kind")
    >>> flowers.X.shape, flowers.feature_names, flowers.y.tolist(), flowers.label_names
    ((2, 2), ['length', 'width'], [0, 1], ['iris', 'rose'])
    """
    selection = Selection(label=label, columns=columns, drop=drop)
    folding = folding_of(image_shape)
    return read_selected(path, selection, text=text, vectorizer=vectorizer_of(prepare), folding=folding)


def folding_of(image_shape: str | Sequence[int] | None) -> Folding:
    """Return what was asked of the shape of images; None asks for nothing."""
    return Folding(asked=None if image_shape is None else parsed_shape(image_shape))


def vectorizer_of(prepare: bool | TableVectorizer) -> TableVectorizer | None:
    """Return the vectorizer that ``prepare`` asks for; None for none."""
    if isinstance(prepare, TableVectorizer):
        return prepare
    return TableVectorizer() if truth("prepare", prepare) else None


def read_selected(
    path: str | Path,
    selection: Selection,
    *,
    text: str | None = None,
    vectorizer: TableVectorizer | None = None,
    fit_on: Callable[[int], np.ndarray] | None = None,
    folding: Folding = AS_FOUND,
) -> Loaded:
    """Read a file as `read_file` does; a vectorizer that is not fitted yet is fitted on the rows of ``fit_on``."""
    path = Path(path).expanduser()
    try:
        table = _table(path, selection, text, vectorizer, fit_on, folding)
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror or error}); check the file and its rights.") from error
    return Loaded(
        X=table.X,
        y=table.y,
        name=path.name,
        split=None,
        image_shape=table.image_shape,
        feature_names=table.feature_names,
        licence="",
        digest=content_digest(table.X, table.y),
        label_names=table.label_names,
    )


def _table(
    path: Path,
    selection: Selection,
    text: str | None,
    vectorizer: TableVectorizer | None,
    fit_on: Callable[[int], np.ndarray] | None,
    folding: Folding,
) -> Table:
    _check_file(path, text)
    ending = path.suffix.lower()
    if text is None and ending in _TABLE_READERS and path.is_file():
        if vectorizer is not None and folding.asked is not None:
            raise DataError(
                "prepare= turns columns into numbers, and image_shape= is for pixels; leave one of them out."
            )
        return _folded(table_of(_TABLE_READERS[ending](path, selection), path, vectorizer, fit_on), path, folding)
    refuse_columns(path, selection, vectorizer)
    try:
        return _labelled(path, selection.label, text, folding)
    except DataError:
        if not selection.label_may_lack or selection.label is None:
            raise
        return _labelled(path, None, text, folding)


def _labelled(path: Path, label: str | int | None, text: str | None, folding: Folding) -> Table:
    if text is not None or is_lines(path):
        return _folded(read_text_rows(path, text, label), path, folding)
    if is_rows_folder(path):
        return _folded(read_rows_folder(path, label), path, folding)
    if path.is_dir():
        if label is not None:
            raise DataError(f"label is {label!r}, and the labels of {path} are the folders within; leave it out.")
        return read_pictures(path, folding)
    ending = path.suffix.lower()
    if ending in _ARRAY_READERS:
        return _folded(_ARRAY_READERS[ending](path, label, folding), path, folding)
    return _folded(_READERS[ending](path, label), path, folding)


def _folded(table: Table, path: Path, folding: Folding) -> Table:
    """Return flat rows of numbers as images, where a shape is known or was asked for."""
    wanted = folding.asked or folding.fitted
    X: Any = table.X
    if table.image_shape is not None or wanted is None:
        if table.image_shape is None and isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "f":
            _mention_pixels(X, path)
        return table
    if not isinstance(X, np.ndarray) or X.ndim != 2:
        if folding.asked is None:
            return table
        what = "texts" if isinstance(X, np.ndarray) else "a sparse matrix"
        raise DataError(
            f"image_shape= is for dense rows and folders of pictures, and {path} holds {what}; leave it out."
        )
    found = images_of(X, path, folding)
    return replace(table, X=found.X, image_shape=found.image_shape)


def _mention_pixels(X: np.ndarray, path: Path) -> None:
    """Say how pixels are told where rows may be some; a table does not say whether its numbers are bytes."""
    n, some = X.shape[1], X[:: max(1, len(X) // 1000)]
    if n < MIN_PIXELS or some.min() < 0 or not BRIGHT <= some.max() <= BYTE or (some != np.floor(some)).any():
        return
    if are_bright(some):
        shape = squares(n)
        warn_caller(
            f"{path} holds {n:,} columns of whole numbers from 0 to {some.max():.0f}, which are taken as a table; if "
            f"they are pixels, give image_shape={'HEIGHTxWIDTH' if shape is None else in_words(shape)}.",
            UserWarning,
        )


def refuse_columns(data: str | Path, selection: Selection, vectorizer: TableVectorizer | None) -> None:
    """Refuse what only tables take."""
    given = {"columns": selection.columns, "drop": selection.drop, "prepare": vectorizer}
    name = next((name for name, value in given.items() if value is not None), None)
    if name is not None:
        endings = ", ".join(_TABLE_READERS)
        raise DataError(f"{name}= is for tables ({endings}), and {data} is none; leave it out.")


def _check_file(path: Path, text: str | None) -> None:
    accepted = f"accepted are files that end in {', '.join(EXTENSIONS)}"
    if is_rows_folder(path):
        return
    if path.is_dir():
        if not pictures_in(path):
            raise DataError(
                f"{path} is a folder without pictures ({', '.join(ENDINGS)}); {accepted}, folders of pictures, and "
                f"folders that fewhot.data.write_rows made."
            )
        return
    if is_picture(path) and path.exists():
        raise DataError(f"{path} is one picture; give the folder that holds all of them.")
    if not path.exists():
        raise DataError(f"There is no file {path}; check the path, or name a dataset.")
    if text is None and not is_lines(path) and path.suffix.lower() not in EXTENSIONS:
        given = f"ends in {path.suffix}" if path.suffix else "has no ending that says what it is"
        raise DataError(f"{path} {given}; {accepted}: convert it to one of these.")
    if path.is_file() and path.stat().st_size == 0:
        raise DataError(f"{path} is empty; write it again.")
