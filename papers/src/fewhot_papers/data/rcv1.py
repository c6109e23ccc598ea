"""RCV1: newswire stories as counts of stems, and a small file of tf-idf weights."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from fewhot.core.errors import DataError
from fewhot.data.catalogue import DataFile, register_dataset
from fewhot.data.counting import count_words, csr_of, vocabulary_of
from fewhot.data.files.table import Table
from fewhot.data.lines import bad_line, lines_of, paths_of

TOKENS = (
    "lyrl2004_tokens_train.dat.gz",
    "lyrl2004_tokens_test_pt0.dat.gz",
    "lyrl2004_tokens_test_pt1.dat.gz",
    "lyrl2004_tokens_test_pt2.dat.gz",
    "lyrl2004_tokens_test_pt3.dat.gz",
)
"""The published files of stems, in the order of their stories."""

N_SMALL_COLUMNS = 47_236
_LICENCE = "Reuters research agreement: no redistribution (D. D. Lewis, Y. Yang, T. G. Rose and F. Li)"
_SMALL = {"train": "rcv1_small.dat", "test": "rcv1_small_test.data"}


def read_rcv1(
    paths: str | Path | Sequence[str | Path],
    *,
    n_words: int = 10_000,
    least_count: int = 3,
    vocabulary: Sequence[str] | None = None,
) -> Table:
    """Read stories of RCV1-v2 from its files of stems and count the stems.

    A story is a line ``.I`` with its number, a line ``.W``, lines of stems and a blank line. The files are read as a
    stream, twice when there is no vocabulary; reading all 804,414 stories takes minutes: `write_matrix` keeps the rows
    in a file that does not.

    Parameters
    ----------
    paths
        The files ``lyrl2004_tokens_*.dat.gz``, compressed or not, or one of them.
    n_words
        How many stems the vocabulary has: the most frequent ones of all stories.
    least_count
        How often a stem must occur in them.
    vocabulary
        The stems to count instead.

    Returns
    -------
    Table
        Counts (stories, stems) as CSR, and the stems; no labels.

    References
    ----------
    Lewis, Yang, Rose and Li (2004), RCV1: a new benchmark collection for text categorization research.
    Krishnan, Liang and Hoffman (2018), On the challenges of learning with inference networks on sparse,
    high-dimensional data.
    """
    files = paths_of(paths)

    def stories() -> Iterator[list[str]]:
        return (stems for path in files for stems in _stories(path))

    chosen = vocabulary_of(stories, vocabulary, n_words, least_count=least_count)
    return Table(X=count_words(stories(), chosen), feature_names=chosen)


def read_vowpal_wabbit(path: str | Path, n_columns: int) -> Table:
    """Read rows in Vowpal Wabbit's form: ``label |namespace id:value id:value ...`` a line, ids from 1.

    Returns
    -------
    Table
        Values (rows, columns) as CSR, and the labels.
    """
    labels, columns, values, offsets = array("q"), array("i"), array("f"), array("q", [0])
    for number, line in lines_of(path):
        label, _, rest = line.partition("|")
        try:
            labels.append(int(label))
            pairs = [entry.split(":") for entry in rest.split()[1:]]
            columns.extend(int(column) - 1 for column, _ in pairs)
            values.extend(float(value) for _, value in pairs)
        except (ValueError, OverflowError) as error:
            raise bad_line(number, path, "is not a whole-number label, a bar, a name and id:value pairs") from error
        if not all(0 <= column < n_columns for column in columns[offsets[-1] :]):
            raise bad_line(number, path, f"has an id outside 1 to {n_columns}")
        offsets.append(len(columns))
    if not labels:
        raise DataError(f"{path} has no rows; get the published file.")
    return Table(X=csr_of(offsets, columns, values, n_columns), y=np.array(labels))


def _stories(path: Path) -> Iterator[list[str]]:
    """Give the stems of every story of a file."""
    stems: list[str] | None = None
    begun = False  # a line .I without its .W
    for number, line in lines_of(path):
        if line.startswith(".I"):
            if begun or not line[2:].strip().isdigit():
                raise bad_line(number, path, "begins a story without a number, or in the middle of another's head")
            if stems is not None:
                yield stems
            begun, stems = True, None
        elif line == ".W":
            if not begun:
                raise bad_line(number, path, "is .W without a line .I before it")
            begun, stems = False, []
        elif line.strip():
            if stems is None:
                raise bad_line(number, path, "has words outside a story")
            stems += line.split()
    if begun or stems is None:
        raise DataError(f"{path} ends in the middle of a story, or has none; get it again.")
    yield stems


def _read(part: str, files: Mapping[str, Path]) -> Table:
    return read_rcv1([files[name] for name in TOKENS])


def _read_small(part: str, files: Mapping[str, Path]) -> tuple[object, np.ndarray]:
    table = read_vowpal_wabbit(files[_SMALL[part]], N_SMALL_COLUMNS)
    return table.X, (np.asarray(table.y) > 0).astype(np.int64)


def register() -> None:
    """Add the datasets to the catalogue."""
    register_dataset(
        "rcv1",
        _read,
        title="RCV1-v2: newswire stories, counts of the 10,000 most frequent stems; 5,000 validation and "
        "10,000 test rows",
        licence=_LICENCE,
        shapes={"all": (804_414, 10_000)},
        files=[DataFile(name=name, sha256=None) for name in TOKENS],
        page="https://jmlr.csail.mit.edu/papers/volume5/lewis04a/lyrl2004_rcv1v2_README.htm",
        n_test=10_000,
        n_validation=5_000,
    )
    register_dataset(
        "rcv1_small",
        _read_small,
        title="RCV1: a thousand stories as tf-idf weights of hashed words, no counts; corporate and industrial or not",
        licence=_LICENCE,
        shapes={"train": (1000, N_SMALL_COLUMNS), "test": (500, N_SMALL_COLUMNS)},
        addresses=[
            "https://raw.githubusercontent.com/VowpalWabbit/vowpal_wabbit/master/test/train-sets/",
            "https://raw.githubusercontent.com/VowpalWabbit/vowpal_wabbit/master/test/test-sets/",
        ],
        files=[
            DataFile(
                name=_SMALL["train"],
                sha256="348d59a15f8161852b817fedd45a0a9efa5e2602ea86d9e920ba7079f633e084",
                part="train",
            ),
            DataFile(
                name=_SMALL["test"],
                sha256="c0f5f4a00497c5cec53b47c0ebb8428cc7c364d436ac10f64b5be33d90bfe293",
                part="test",
            ),
        ],
        label_names=["other", "corporate and industrial"],
    )
