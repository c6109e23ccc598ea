"""20 Newsgroups: posts of twenty groups as word counts, as published and from the posts themselves."""

from __future__ import annotations

import re
import tarfile
import zlib
from array import array
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fewhot.core.checks import one_of
from fewhot.core.errors import DataError
from fewhot.data.catalogue import DataFile, register_dataset
from fewhot.data.counting import count_words, csr_of, vocabulary_of
from fewhot.data.files.table import Table
from fewhot.data.lines import bad_line, lines_of

ARCHIVE = "20news-bydate.tar.gz"
GROUPS = (
    "alt.atheism",
    "comp.graphics",
    "comp.os.ms-windows.misc",
    "comp.sys.ibm.pc.hardware",
    "comp.sys.mac.hardware",
    "comp.windows.x",
    "misc.forsale",
    "rec.autos",
    "rec.motorcycles",
    "rec.sport.baseball",
    "rec.sport.hockey",
    "sci.crypt",
    "sci.electronics",
    "sci.med",
    "sci.space",
    "soc.religion.christian",
    "talk.politics.guns",
    "talk.politics.mideast",
    "talk.politics.misc",
    "talk.religion.misc",
)
"""The groups in the order of their labels."""

_LICENCE = "none stated (collected by K. Lang, 1995); the posts belong to their authors, in wide research use"
_WORD = re.compile("[a-z]+")


def read_features(path: str | Path, vocabulary: str | Path) -> Table:
    """Read word counts as the neural variational document model has them: ``label id:count id:count ...`` a line.

    Parameters
    ----------
    path
        The counts; ids are lines of the vocabulary, from 1.
    vocabulary
        A word and its count over the training documents a line.

    Returns
    -------
    Table
        Counts (documents, words) as CSR, the first number of every line as labels, and the words.

    References
    ----------
    Miao, Yu and Blunsom (2016), Neural variational inference for text processing.
    """
    words, _ = _vocabulary(vocabulary)
    labels, columns, counts, offsets = array("q"), array("i"), array("f"), array("q", [0])
    for number, line in lines_of(path):
        label, *entries = line.split() or [""]
        try:
            labels.append(int(label))
            pairs = [entry.split(":") for entry in entries]
            columns.extend(int(column) - 1 for column, _ in pairs)
            counts.extend(int(count) for _, count in pairs)
        except (ValueError, OverflowError) as error:
            raise bad_line(number, path, "is not a label and id:count pairs of whole numbers") from error
        here = slice(offsets[-1], None)
        if not all(0 <= column < len(words) for column in columns[here]) or min(counts[here], default=1) < 1:
            raise bad_line(number, path, f"has an id outside 1 to {len(words)} or a count below 1")
        offsets.append(len(columns))
    if not labels:
        raise DataError(f"{path} has no documents; get the published file.")
    return Table(X=csr_of(offsets, columns, counts, len(words)), y=np.array(labels), feature_names=words)


def read_newsgroups(
    path: Path, part: str | None = "train", *, n_words: int = 2000, vocabulary: Sequence[str] | None = None
) -> Table:
    """Read the posts themselves and count their words.

    The header is removed up to the first blank line, what is left is lower-cased, and words are runs of a to z. A post
    without a word of the vocabulary is a row of zeros.

    Parameters
    ----------
    path
        The archive ``20news-bydate.tar.gz``, a folder that it was unpacked to, or a folder of your own with a folder a
        class and a file a post.
    part
        "train" or "test"; None for a folder of your own, which has no parts.
    n_words
        How many words the vocabulary has: the most frequent ones of the training posts (of all posts without parts).
    vocabulary
        The words to count instead.

    Returns
    -------
    Table
        Counts (posts, words) as CSR, the classes as labels with their names, and the words.
    """
    one_of("part", part, ("train", "test", None))
    path = Path(path)
    posts = list(_posts(path, part))

    def words_to_choose_from() -> Iterator[list[str]]:
        return (_words(post) for _, post in (_posts(path, "train") if part == "test" else posts))

    chosen = vocabulary_of(words_to_choose_from, vocabulary, n_words)
    X = count_words((_words(post) for _, post in posts), chosen)
    names, y = np.unique([group for group, _ in posts], return_inverse=True)
    return Table(X=X, y=y.astype(np.int64), feature_names=chosen, label_names=names.tolist())


def _vocabulary(path: str | Path) -> tuple[list[str], np.ndarray]:
    words, totals = [], []
    for number, line in lines_of(path):
        try:
            word, total = line.split()
            words.append(word)
            totals.append(int(total))
        except ValueError as error:
            raise bad_line(number, path, "is not a word and its count") from error
    return words, np.array(totals)


def _words(post: str) -> list[str]:
    _, _, body = post.replace("\r\n", "\n").partition("\n\n")
    return _WORD.findall(body.lower())


def _posts(path: Path, part: str | None) -> Iterator[tuple[str, str]]:
    """Give the class and the text of every post of a part, by class and name."""
    if path.is_dir():
        return _posts_of_folder(path, part)
    if part is None:
        raise DataError(f"{path} is no folder of classes; give part='train' or part='test' for the archive.")
    return _posts_of_archive(path, part)


def _posts_of_folder(path: Path, part: str | None) -> Iterator[tuple[str, str]]:
    folder = path if part is None else path / f"20news-bydate-{part}"
    if not folder.is_dir():
        raise DataError(
            f"{folder} is not there; unpack {ARCHIVE} in {path}, or give part=None for a folder of classes."
        )
    files = sorted(file for group in folder.iterdir() if group.is_dir() for file in group.iterdir() if file.is_file())
    if not files:
        raise DataError(f"{folder} has no folder with posts; give a folder that has a folder a class.")
    return ((file.parent.name, file.read_bytes().decode("latin-1")) for file in files)


def _posts_of_archive(path: Path, part: str) -> Iterator[tuple[str, str]]:
    found: dict[tuple[str, str], str] = {}
    try:
        with tarfile.open(path) as archive:
            for member in archive:
                folder, _, place = member.name.removeprefix("./").partition("/")
                file = archive.extractfile(member) if folder == f"20news-bydate-{part}" else None
                if file is not None:
                    group, _, name = place.partition("/")
                    found[group, name] = file.read().decode("latin-1")
    except (tarfile.TarError, EOFError, zlib.error, OSError) as error:
        raise DataError(f"{path} is not there, cut off or no tar archive; get {ARCHIVE} again.") from error
    if not found:
        raise DataError(f"{path} has no folder 20news-bydate-{part}; get the published {ARCHIVE}.")
    return ((group, found[group, name]) for group, name in sorted(found))


def _read_nvdm(part: str, files: Mapping[str, Path]) -> Table:
    """Return the counts with their labels.

    The training counts must add up to those that the vocabulary gives its words. The order of documents is free, so
    that a file made anew from the posts will do.
    """
    path = files[f"{part}.feat"]
    table = read_features(path, files["vocab.new"])
    labels: Any = table.y
    if not np.isin(labels, np.arange(1, len(GROUPS) + 1)).all():
        raise DataError(f"{path} has labels outside 1 to {len(GROUPS)}; get the published file.")
    words, totals = _vocabulary(files["vocab.new"])
    wrong = np.flatnonzero(table.X.sum(axis=0) != totals)
    if part == "train" and wrong.size:
        raise DataError(
            f"{path} has other counts than vocab.new, first of the word {words[wrong[0]]!r}; get the published file."
        )
    return Table(X=table.X, y=labels - 1, feature_names=words)


def _read_posts(part: str, files: Mapping[str, Path]) -> Table:
    return read_newsgroups(files[ARCHIVE], part)


register_dataset(
    "newsgroups_nvdm",
    _read_nvdm,
    title="20 Newsgroups: counts of 2,000 words, as released by Miao et al. (2016); 500 validation documents",
    licence=_LICENCE,
    shapes={"train": (11_268, 2000), "test": (7505, 2000)},
    addresses=["https://raw.githubusercontent.com/ysmiao/nvdm/master/data/20news/"],
    files=[
        DataFile(name="train.feat", sha256=None, part="train"),  # its counts are compared with those of the vocabulary
        DataFile(
            name="test.feat", sha256="344eff7e61116d72abd6ebc3d3c1e286c0474b41bf85ab09c8b898e0a5ff80c1", part="test"
        ),
        DataFile(name="vocab.new", sha256="afbe73140a0d39578e6ae33914e049e6587768c088a0501392afda20ca3c85a8"),
    ],
    folder="20newsgroups/nvdm2000",
    page="https://github.com/ysmiao/nvdm",
    label_names=GROUPS,
    n_validation=500,
)

register_dataset(
    "newsgroups_posts",
    _read_posts,
    title="20 Newsgroups: the posts by date, counts of the 2,000 most frequent words of the training posts",
    licence=_LICENCE,
    shapes={"train": (11_314, 2000), "test": (7532, 2000)},
    addresses=["http://qwone.com/~jason/20Newsgroups/", "https://people.csail.mit.edu/jrennie/20Newsgroups/"],
    files=[DataFile(name=ARCHIVE, sha256="8f1b2514ca22a5ade8fbb9cfa5727df95fa587f4c87b786e15c759fa66d95610")],
    folder="20newsgroups",
    label_names=GROUPS,
    n_validation=500,
)
