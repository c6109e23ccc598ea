"""Documents as rows of word counts, read as a stream: what is kept in memory grows with the non-zeros."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import scipy.sparse as sp

from fewhot.core.checks import whole_number
from fewhot.core.errors import DataError, InvalidParameterError

Documents = Callable[[], Iterable[Sequence[str]]]
"""Starts going through the documents, each as its words; called once to choose the words and once to count them."""


def frequent_words(documents: Iterable[Sequence[str]], n_words: int, *, least_count: int = 1) -> list[str]:
    """Return the most frequent words, those of equal frequency in alphabetical order.

    Parameters
    ----------
    documents
        The documents, each as its words.
    n_words
        How many words to return at most.
    least_count
        How often a word must occur in all documents together.

    Examples
    --------
    >>> frequent_words([["sun", "sea", "sun"], ["sea", "air"]], 2)
    ['sea', 'sun']
    """
    whole_number("n_words", n_words)
    whole_number("least_count", least_count)
    counts: Counter[str] = Counter()
    for words in documents:
        counts.update(words)
    return most_frequent(counts, n_words, least_count=least_count)


def most_frequent(counts: Mapping[str, int], n_words: int, *, least_count: int = 1) -> list[str]:
    """Return the most frequent words by how often each occurs; see `frequent_words`."""
    kept = [word for word, count in counts.items() if count >= least_count]
    return sorted(kept, key=lambda word: (-counts[word], word))[:n_words]


def count_words(
    documents: Iterable[Sequence[str]], vocabulary: Sequence[str], *, least_words: int = 0, least_peak: int = 0
) -> sp.csr_array:
    """Return how often each word of a vocabulary occurs in each document, (documents, words), float32.

    Parameters
    ----------
    documents
        The documents, each as its words; words outside the vocabulary do not count.
    vocabulary
        What the columns stand for.
    least_words
        Documents with fewer words are left out.
    least_peak
        Documents of which no word occurs so often are left out.

    Examples
    --------
    >>> count_words([["sun", "sea", "sun"], ["air"]], ["sea", "sun"]).toarray().tolist()
    [[1.0, 2.0], [0.0, 0.0]]
    """
    columns_of = _columns_of(vocabulary)
    offsets, columns, counts = array("q", [0]), array("i"), array("f")
    for words in documents:
        found = Counter(map(columns_of.get, words))
        found.pop(None, None)
        if found.total() < least_words or max(found.values(), default=0) < least_peak:
            continue
        row = sorted((column, count) for column, count in found.items() if column is not None)
        columns.extend(column for column, _ in row)
        counts.extend(count for _, count in row)
        offsets.append(len(columns))
    return csr_of(offsets, columns, counts, len(columns_of))


def csr_of(offsets: array[int], columns: array[int], values: array[float], n_columns: int) -> sp.csr_array:
    """Return rows that were gathered entry by entry, without a copy of them; entries of the same place are added."""
    parts = (np.frombuffer(values, np.float32), np.frombuffer(columns, np.int32), np.frombuffer(offsets, np.int64))
    X = sp.csr_array(parts, shape=(len(offsets) - 1, n_columns))
    X.sum_duplicates()
    return X


def vocabulary_of(
    documents: Documents, vocabulary: Sequence[str] | None, n_words: int, *, least_count: int = 1
) -> list[str]:
    """Return the vocabulary that was given, or the most frequent words of the documents."""
    if vocabulary is not None:
        return list(_columns_of(vocabulary))
    words = frequent_words(documents(), n_words, least_count=least_count)
    if not words:
        raise DataError("The documents have no words that occur often enough; give other documents or a vocabulary.")
    return words


def _columns_of(vocabulary: Sequence[str]) -> dict[str, int]:
    if isinstance(vocabulary, str):
        raise InvalidParameterError("vocabulary is a text; give a list of words, one a column.")
    columns = {word: column for column, word in enumerate(vocabulary)}
    if not columns:
        raise InvalidParameterError("vocabulary has no words; give at least one.")
    if len(columns) < len(vocabulary):
        twin = next(word for word, times in Counter(vocabulary).items() if times > 1)
        raise InvalidParameterError(f"vocabulary has the word {twin!r} more than once; give each word once.")
    return columns
