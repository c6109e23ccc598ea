"""Strings in, a data set of texts out, in one pass over the texts."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np
import scipy.sparse as sp

from fewhot.core.checks import whole_number
from fewhot.core.errors import InvalidInputError, InvalidTypeError
from fewhot.core.records import END
from fewhot.core.warning import warn_caller
from fewhot.data.text.dataset import TextDataset
from fewhot.data.text.tokenising import as_text, tokeniser_called
from fewhot.data.text.vocabulary import N_WORDS, UNKNOWN, UNKNOWN_WORD, Vocabulary

_LOOKED_AT = 100
"""How many entries are looked at for a string; the others are checked when they are read."""


def text_dataset(
    texts: Iterable[str],
    vocabulary: Vocabulary | None = None,
    *,
    tokeniser: str | None = None,
    n_words: int = N_WORDS,
    max_length: int | None = None,
    name: str = "X",
) -> TextDataset:
    """Return texts as a data set.

    The texts are gone through once, so that a stream from a file will do: kept are their ids, four bytes a word.

    Parameters
    ----------
    texts
        The strings: a list, a tuple, a column of a frame, an array or anything else that gives them one by one. A
        string without words is a text that ends at once.
    vocabulary
        What ids stand for; None takes the most frequent words of these texts.
    tokeniser
        How words are cut, by a name that `tokenise` knows; None takes the vocabulary's, and "plain" without one.
    n_words
        How many words a vocabulary made here has at most.
    max_length
        How many words a text keeps at most, its end not counted; words behind them do not count for the vocabulary.
        None keeps as many as the vocabulary says, and all without one. One warning says how many texts were cut.
    name
        What a complaint calls the texts.

    Examples
    --------
    >>> data = text_dataset(["Few hot!", "", "Few, so few."])
    >>> data.vocabulary.known
    ['few', '!', '.', 'hot', 'so']
    >>> data.words(2), data.lengths.tolist()
    (['few', 'so', 'few', '.'], [4, 1, 5])
    """
    if max_length is not None:
        whole_number("max_length", max_length)
    if tokeniser is None:
        tokeniser = "plain" if vocabulary is None else vocabulary.tokeniser
    max_length = vocabulary.max_length if max_length is None and vocabulary is not None else max_length
    cut = tokeniser_called(tokeniser)
    tokens = _shortened((cut(text) for text in strings_of(texts, name)), max_length, name)
    if vocabulary is not None:
        return TextDataset.of(tokens, vocabulary)
    return _numbered(tokens, n_words, tokeniser, max_length)


def is_text(X: Any) -> bool:
    """Say whether X is a list, a tuple, a column of a frame or an array with a string or bytes among its first entries.

    >>> is_text(["few", "hot"]), is_text(np.array([b"few"])), is_text([[1.0, 2.0]]), is_text("few")
    (True, True, False, False)
    """
    if not isinstance(X, list | tuple) and (getattr(X, "ndim", len(getattr(X, "shape", ()))) != 1 or sp.issparse(X)):
        return False
    return any(isinstance(entry, str | bytes) for entry in islice(X, _LOOKED_AT))


def strings_of(texts: Iterable[Any], name: str = "X") -> Iterator[str]:
    """Go through the texts, and refuse what is no string in a sentence that says where it is."""
    if isinstance(texts, str | bytes):
        raise InvalidTypeError(f"{name} is one {type(texts).__name__}; give a list of strings, one a text.")
    if getattr(texts, "ndim", 1) != 1:
        shape = tuple(getattr(texts, "shape", ()))
        raise InvalidInputError(f"{name} has shape {shape}; give one string a text, such as one column of it.")
    return (as_text(text, f"Text {row} of {name}") for row, text in enumerate(texts))


def _shortened(texts: Iterable[list[str]], max_length: int | None, name: str) -> Iterator[list[str]]:
    n_cut = n_texts = 0
    for words in texts:
        n_texts += 1
        n_cut += max_length is not None and len(words) > max_length
        yield words[:max_length]
    if not n_texts:
        raise InvalidInputError(f"{name} has no texts; give at least one.")
    if n_cut:
        warn_caller(f"{n_cut} of {n_texts} texts have more than {max_length} words and were cut there.", UserWarning)


def _numbered(texts: Iterable[list[str]], n_words: int, tokeniser: str, max_length: int | None) -> TextDataset:
    """Give words numbers as they appear, and others once it is known which are the most frequent."""
    whole_number("n_words", n_words)
    first = {UNKNOWN_WORD: UNKNOWN}
    ids, offsets = array("i"), array("q", [0])
    for words in texts:
        ids.extend(first.setdefault(word, len(first) + UNKNOWN) for word in words)
        ids.append(END)
        offsets.append(len(ids))
    appeared = np.frombuffer(ids, np.int32)
    counts = np.bincount(appeared, minlength=len(first) + UNKNOWN)[UNKNOWN:].tolist()
    vocabulary = Vocabulary.of_counts(dict(zip(first, counts, strict=True)), n_words, tokeniser, max_length)
    final = np.array([0, END, *vocabulary.ids(first)[:-1]], dtype=np.int32)
    return TextDataset.of_ids(final[appeared], np.frombuffer(offsets, np.int64), vocabulary)
