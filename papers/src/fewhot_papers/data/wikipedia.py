"""Wikipedia: the articles of April 2010 as word counts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from fewhot.core.checks import whole_number
from fewhot.core.errors import DataError
from fewhot.data.catalogue import DataFile, register_dataset
from fewhot.data.counting import count_words, vocabulary_of
from fewhot.data.files.table import Table
from fewhot.data.lines import lines_of

DUMP = "WestburyLab.wikicorp.201004.txt.bz2"
END = "---END.OF.DOCUMENT---"
PEAK_OF_PAPER = 6
"""How often the most frequent word of an article occurs at least, in the code of Krishnan et al. (2018)."""

_LETTERS = re.compile(r"[^\W\d_]+")


def read_wikipedia(
    path: Path,
    *,
    n_words: int = 20_000,
    vocabulary: Sequence[str] | None = None,
    least_words: int = 6,
    least_peak: int = 1,
    encoding: str = "utf-8",
) -> Table:
    """Read articles from the Westbury Lab's text of Wikipedia and count their words.

    Every article ends with a line ``---END.OF.DOCUMENT---``. Text is lower-cased, and words are runs of letters, so
    that there are no numbers. The file is read as a stream, twice when there is no vocabulary: memory holds one count a
    word and the non-zeros of the rows. All of it takes long: `write_matrix` keeps the rows in a file that does not.

    Parameters
    ----------
    path
        The file, compressed or not.
    n_words
        How many words the vocabulary has: the most frequent ones of all articles.
    vocabulary
        The words to count instead.
    least_words
        Articles with fewer words of the vocabulary are left out.
    least_peak
        Articles of which no word occurs so often are left out. The default leaves out none. The code of Krishnan et al.
        (2018) keeps articles in which some word occurs more than 5 times, which drops many that are not short: 6 does
        the same here, and the dataset "wikipedia" is made so, to be the published one.
    encoding
        How the file's letters are written.

    Returns
    -------
    Table
        Counts (articles, words) as CSR, and the words.

    References
    ----------
    Shaoul and Westbury (2010), The Westbury Lab Wikipedia corpus.
    Krishnan, Liang and Hoffman (2018), On the challenges of learning with inference networks on sparse,
    high-dimensional data.
    """
    whole_number("least_words", least_words, least=0)
    whole_number("least_peak", least_peak, least=0)

    def articles() -> Iterator[list[str]]:
        return _articles(Path(path), encoding)

    chosen = vocabulary_of(articles, vocabulary, n_words)
    X = count_words(articles(), chosen, least_words=least_words, least_peak=least_peak)
    if not len(X.indptr) > 1:
        raise DataError(f"{path} has no article with {least_words} words and a word {least_peak} times; ask for less.")
    return Table(X=X, feature_names=chosen)


def _articles(path: Path, encoding: str) -> Iterator[list[str]]:
    """Give the words of every article."""
    words: list[str] = []
    ended = False
    for _, line in lines_of(path, encoding):
        ended = ended if not line.strip() else line.strip() == END
        if not ended:
            words += _LETTERS.findall(line.lower())
        elif line.strip():
            yield words
            words = []
    if not ended:
        raise DataError(f"{path} does not end with a line {END}; it is cut off or another file: get it again.")


def _read(part: str, files: Mapping[str, Path]) -> Table:
    return read_wikipedia(files[DUMP], least_words=0, least_peak=PEAK_OF_PAPER)


def register() -> None:
    """Add the dataset to the catalogue."""
    register_dataset(
        "wikipedia",
        _read,
        title="Wikipedia of April 2010: counts of 20,000 words, articles in which some word occurs more than 5 times; "
        "100,000 test rows",
        licence="CC BY-SA 3.0 (Wikipedia's authors; text by C. Shaoul and C. Westbury, University of Alberta)",
        shapes={"all": (None, 20_000)},
        files=[DataFile(name=DUMP, sha256=None)],
        page="http://nlp.stanford.edu/data/WestburyLab.wikicorp.201004.txt.bz2",
        n_test=100_000,
        n_validation=10_000,
    )
