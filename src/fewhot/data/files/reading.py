"""One function for every kind of file, chosen by the ending of its name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from fewhot.core.errors import DataError
from fewhot.data.files.arrays import read_h5ad, read_mtx, read_npy, read_npz, read_rows_folder
from fewhot.data.files.csv import read_csv
from fewhot.data.files.parquet import read_parquet
from fewhot.data.files.table import Table
from fewhot.data.files.text import read_jsonl, read_text_rows, read_txt
from fewhot.data.loaded import Loaded, content_digest
from fewhot.data.stored import is_rows_folder
from fewhot.data.text.reading import is_lines

Reader = Callable[[Path, str | int | None], Table]

_READERS: dict[str, Reader] = {
    ".npy": read_npy,
    ".npz": read_npz,
    ".csv": read_csv,
    ".parquet": read_parquet,
    ".mtx": read_mtx,
    ".h5ad": read_h5ad,
    ".txt": read_txt,
    ".jsonl": read_jsonl,
}

EXTENSIONS = tuple(_READERS)
"""The endings of the files that can be read."""


def read_file(path: str | Path, *, label: str | int | None = None, text: str | None = None) -> Loaded:
    r"""Read a file of numbers or of texts.

    ``.npy`` opens memory-mapped and sparse matrices stay sparse. Nothing is unpickled. What cannot be read raises
    `DataError` with one sentence.

    Parameters
    ----------
    path
        A file that ends in .npy, .npz (dense, or from `scipy.sparse.save_npz`), .csv, .parquet, .mtx, .h5ad or .jsonl;
        or a folder that `write_rows` made, which is read whole here. Of texts: a file that ends in .txt (a text a
        line), .jsonl, .csv or .tsv, or in one of these and .gz, .bz2 or .xz.
    label
        The column of labels in a table (.csv, .parquet, .jsonl; in .h5ad a column of ``.obs``), by name or by place
        from 0. Words become 0, 1, ... in sorted order and are kept as ``label_names``.
    text
        The column of a .jsonl, .csv or .tsv file whose texts are the rows; the other columns are left out.

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
    path = Path(path).expanduser()
    reader = _reader(path, text)
    try:
        table = reader(path, label)
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


def _reader(path: Path, text: str | None) -> Reader:
    accepted = f"accepted are files that end in {', '.join(EXTENSIONS)}"
    if is_rows_folder(path):
        return read_rows_folder
    if path.is_dir():
        raise DataError(f"{path} is a folder; {accepted}, and folders that fewhot.data.write_rows made.")
    if not path.exists():
        raise DataError(f"There is no file {path}; check the path, or name a dataset.")
    texts = text is not None or is_lines(path)
    if not texts and path.suffix.lower() not in _READERS:
        given = f"ends in {path.suffix}" if path.suffix else "has no ending that says what it is"
        raise DataError(f"{path} {given}; {accepted}: convert it to one of these.")
    if path.is_file() and path.stat().st_size == 0:
        raise DataError(f"{path} is empty; write it again.")
    return partial(_read_texts, column=text) if texts else _READERS[path.suffix.lower()]


def _read_texts(path: Path, label: str | int | None, column: str | None) -> Table:
    return read_text_rows(path, column, label)
