"""One function for every kind of file, chosen by the ending of its name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from fewhot.core.checks import truth
from fewhot.core.errors import DataError
from fewhot.data.files.arrays import read_h5ad, read_mtx, read_npy, read_npz, read_rows_folder
from fewhot.data.files.csv import read_csv
from fewhot.data.files.parquet import read_parquet
from fewhot.data.files.selection import Selection
from fewhot.data.files.table import RawTable, Table, table_of
from fewhot.data.files.text import read_jsonl, read_text_rows, read_txt
from fewhot.data.loaded import Loaded, content_digest
from fewhot.data.stored import is_rows_folder
from fewhot.data.tables import TableVectorizer
from fewhot.data.text.reading import is_lines

Reader = Callable[[Path, str | int | None], Table]
TableReader = Callable[[Path, Selection], RawTable]

_READERS: dict[str, Reader] = {
    ".npy": read_npy,
    ".npz": read_npz,
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

EXTENSIONS = (*_READERS, *_TABLE_READERS)
"""The endings of the files that can be read."""


def read_file(
    path: str | Path,
    *,
    label: str | int | None = None,
    text: str | None = None,
    columns: str | Sequence[str] | None = None,
    drop: str | Sequence[str] | None = None,
    prepare: bool | TableVectorizer = False,
) -> Loaded:
    r"""Read a file of numbers or of texts.

    ``.npy`` opens memory-mapped and sparse matrices stay sparse. Nothing is unpickled. What cannot be read raises
    `DataError`; of a table with columns that are not numbers, it lists all of them.

    Parameters
    ----------
    path
        A file that ends in .npy, .npz (dense, or from `scipy.sparse.save_npz`), .csv, .tsv, .parquet, .mtx, .h5ad or
        .jsonl; or a folder that `write_rows` made, which is read whole here. Of texts: a file that ends in .txt (a text
        a line), .jsonl, .csv or .tsv, or in one of these and .gz, .bz2 or .xz.
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
    return read_selected(path, selection, text=text, vectorizer=vectorizer_of(prepare))


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
) -> Loaded:
    """Read a file as `read_file` does; a vectorizer that is not fitted yet is fitted on the rows of ``fit_on``."""
    path = Path(path).expanduser()
    try:
        table = _table(path, selection, text, vectorizer, fit_on)
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror or error}); check the file and its rights.") from error
    return Loaded(
        X=table.X,
        y=table.y,
        name=path.name,
        split=None,
        image_shape=None,
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
) -> Table:
    _check_file(path, text)
    ending = path.suffix.lower()
    if text is None and ending in _TABLE_READERS and path.is_file():
        return table_of(_TABLE_READERS[ending](path, selection), path, vectorizer, fit_on)
    refuse_columns(path, selection, vectorizer)
    try:
        return _labelled(path, selection.label, text)
    except DataError:
        if not selection.label_may_lack or selection.label is None:
            raise
        return _labelled(path, None, text)


def _labelled(path: Path, label: str | int | None, text: str | None) -> Table:
    if text is not None or is_lines(path):
        return read_text_rows(path, text, label)
    return read_rows_folder(path, label) if is_rows_folder(path) else _READERS[path.suffix.lower()](path, label)


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
        raise DataError(f"{path} is a folder; {accepted}, and folders that fewhot.data.write_rows made.")
    if not path.exists():
        raise DataError(f"There is no file {path}; check the path, or name a dataset.")
    if text is None and not is_lines(path) and path.suffix.lower() not in EXTENSIONS:
        given = f"ends in {path.suffix}" if path.suffix else "has no ending that says what it is"
        raise DataError(f"{path} {given}; {accepted}: convert it to one of these.")
    if path.is_file() and path.stat().st_size == 0:
        raise DataError(f"{path} is empty; write it again.")
