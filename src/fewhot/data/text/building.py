"""Strings in, a data set of texts out, in one pass over the texts."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np
import scipy.sparse as sp

from fewhot.core.checks import whole_number
from fewhot.core.errors import InvalidInputError, InvalidParameterError, InvalidTypeError
from fewhot.core.records import END
from fewhot.core.warning import warn_caller
from fewhot.data.text.dataset import TextDataset
from fewhot.data.text.tokenising import as_text, tokeniser_called
from fewhot.data.text.vocabulary import N_WORDS, UNKNOWN, UNKNOWN_WORD, Vocabulary

LONGEST = 500
"""How many words of a text are read unless something else is said: recurrent networks go through them one by one."""
_LOOKED_AT = 100
"""How many entries that are there are looked at for a string; the others are checked when they are read."""
_ASCII_ONLY = ("plain", "spacy")
_TOLD_FROM = 0.01
"""The share of characters that are lost letters from which that is told."""


def text_dataset(
    texts: Iterable[str],
    vocabulary: Vocabulary | None = None,
    *,
    tokeniser: str | None = None,
    n_words: int | None = None,
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
        What ids stand for, and how texts are cut; None takes the most frequent words of these texts, as the next three
        arguments say, which are for that alone.
    tokeniser
        How words are cut, by a name that `tokenise` knows; None takes "plain".
    n_words
        How many words the vocabulary has at most; None takes 20,000.
    max_length
        How many words a text keeps at most, its end not counted; words behind them do not count for the vocabulary.
        None takes 500, and all of texts that are cut into "words". One warning says how many texts were cut.
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
    if vocabulary is not None:
        _check_alone(vocabulary, tokeniser=tokeniser, n_words=n_words, max_length=max_length)
        words = _words_of(texts, vocabulary.tokeniser, vocabulary.max_length, name, fitting=False)
        data = TextDataset.of(words, vocabulary)
        _warn_of_unknown(data)
        return data
    tokeniser = "plain" if tokeniser is None else tokeniser
    longest = None if tokeniser == "words" else LONGEST  # a bag is no longer for more words
    max_length = longest if max_length is None else whole_number("max_length", max_length)
    words = _words_of(texts, tokeniser, max_length, name, fitting=True)
    return _numbered(words, N_WORDS if n_words is None else n_words, tokeniser, max_length)


def as_read(texts: Iterable[str], vocabulary: Vocabulary, name: str = "X") -> Iterator[str]:
    """Go through strings as a reader of its own sees them: those with more words than are read end there."""
    cut, most = tokeniser_called(vocabulary.tokeniser), vocabulary.max_length
    for text in strings_of(texts, name):
        words = [] if most is None else cut(text)
        yield " ".join(words[:most]) if len(words) > (most or 0) else text


def is_text(X: Any) -> bool:
    """Say whether X is a list, a tuple, a column of a frame or an array whose first entries have a string or bytes.

    Entries that are missing are passed over.

    >>> is_text(["few", "hot"]), is_text(np.array([b"few"])), is_text([[1.0, 2.0]]), is_text("few")
    (True, True, False, False)
    """
    if not isinstance(X, list | tuple) and (getattr(X, "ndim", len(getattr(X, "shape", ()))) != 1 or sp.issparse(X)):
        return False
    if getattr(getattr(X, "dtype", None), "kind", "O") in "biufc":
        return False
    there = (entry for entry in X if not _is_missing(entry))
    return any(isinstance(entry, str | bytes) for entry in islice(there, _LOOKED_AT))


def _is_missing(entry: Any) -> bool:
    return entry is None or (isinstance(entry, float) and entry != entry) or type(entry).__name__ == "NAType"


def strings_of(texts: Iterable[Any], name: str = "X") -> Iterator[str]:
    """Go through the texts, and refuse what is no string in a sentence that says where it is."""
    if isinstance(texts, str | bytes):
        raise InvalidTypeError(f"{name} is one {type(texts).__name__}; give a list of strings, one a text.")
    if not isinstance(texts, Iterable):
        raise InvalidTypeError(f"{name} is of type {type(texts).__name__}; give a list of strings, one a text.")
    if getattr(texts, "ndim", 1) != 1:
        shape = tuple(getattr(texts, "shape", ()))
        raise InvalidInputError(f"{name} has shape {shape}; give one string a text, such as one column of it.")
    return (as_text(text, f"Text {row} of {name}") for row, text in enumerate(texts))


def _check_alone(vocabulary: Any, **arguments: Any) -> None:
    """Refuse what is no vocabulary, and arguments that it says already."""
    if not isinstance(vocabulary, Vocabulary):
        raise InvalidTypeError(
            f"vocabulary is of type {type(vocabulary).__name__}; give a Vocabulary, such as Vocabulary(words)."
        )
    given = next((name for name, value in arguments.items() if value is not None), None)
    if given is not None:
        raise InvalidParameterError(
            f"{given} was given beside a vocabulary, which says by itself how texts are read; leave it out, or make "
            f"the vocabulary with it."
        )


def _words_of(
    texts: Iterable[str], tokeniser: str, max_length: int | None, name: str, *, fitting: bool
) -> Iterator[list[str]]:
    """Go through the words of each text; say once how many were cut, and how many lost letters or all words."""
    cut = tokeniser_called(tokeniser)
    n_cut = n_lost = n_texts = n_lost_letters = n_characters = 0
    for text in strings_of(texts, name):
        words = cut(text)
        n_texts += 1
        n_cut += max_length is not None and len(words) > max_length
        n_characters += len(text)
        if tokeniser in _ASCII_ONLY and not text.isascii():
            n_lost += not words and not text.isspace()
            n_lost_letters += sum(letter.isalpha() and not letter.isascii() for letter in text)
        yield words[:max_length]
    if not n_texts:
        raise InvalidInputError(f"{name} has no texts; give at least one.")
    if n_cut:
        warn_caller(f"{n_cut} of {n_texts} texts have more than {max_length} words and were cut there.", UserWarning)
    if n_lost:
        warn_caller(
            f"{n_lost} of {n_texts} texts have no words left, for {tokeniser!r} leaves out what is not ASCII; "
            f"{_remedy(fitting)} to keep it.",
            UserWarning,
        )
    elif n_lost_letters > _TOLD_FROM * n_characters:
        warn_caller(
            f"{n_lost_letters / n_characters:.0%} of the characters are letters that are not ASCII, which words of "
            f"{tokeniser!r} are without; {_remedy(fitting)} to keep them.",
            UserWarning,
        )


def _remedy(fitting: bool) -> str:
    return "read texts with tokeniser='spaces'" if fitting else "fit on texts that are read with tokeniser='spaces'"


def _warn_of_unknown(data: TextDataset) -> None:
    """Say where most texts have words and the vocabulary none of them, as where a wrong column was read."""
    known = np.concatenate([[0], np.cumsum(data.ids.numpy() > UNKNOWN)])
    offsets = data.offsets.numpy()
    has_words = (data.lengths > 1) | (data.vocabulary.tokeniser == "words")  # which keeps no unknown ones
    n_strange = int(((np.diff(known[offsets]) == 0) & has_words).sum())
    if n_strange > data.n_rows / 2:
        warn_caller(f"All words of {n_strange} of {data.n_rows} texts are unknown to the vocabulary.", UserWarning)


def _numbered(texts: Iterable[list[str]], n_words: int, tokeniser: str, max_length: int | None) -> TextDataset:
    """Give words numbers as they appear, and others once it is known which are the most frequent.

    Of texts that are cut into "words", those of too few texts are left out, as are all unknown words.
    """
    whole_number("n_words", n_words)
    first = {UNKNOWN_WORD: UNKNOWN}
    ids, offsets = array("i"), array("q", [0])
    for words in texts:
        ids.extend(first.setdefault(word, len(first) + UNKNOWN) for word in words)
        ids.append(END)
        offsets.append(len(ids))
    appeared = np.frombuffer(ids, np.int32)
    starts, n_known = np.frombuffer(offsets, np.int64), len(first) + UNKNOWN
    counts = np.bincount(appeared, minlength=n_known)
    if tokeniser == "words":
        counts = np.where(_n_texts(appeared, starts, n_known) >= _least_texts(len(starts) - 1), counts, 0)
    known = {word: n for word, n in zip(first, counts[UNKNOWN:].tolist(), strict=True) if n or tokeniser != "words"}
    vocabulary = Vocabulary.of_counts(known, n_words, tokeniser, max_length)
    final = np.array([0, END, *(vocabulary.id_of(word) for word in first)], dtype=np.int32)[appeared]
    if tokeniser == "words":
        kept = final != UNKNOWN
        starts = np.concatenate([[0], np.cumsum(kept)])[starts]
        final = final[kept]
    return TextDataset.of_ids(final, starts, vocabulary)


def _n_texts(ids: np.ndarray, starts: np.ndarray, n_ids: int) -> np.ndarray:
    """Return in how many texts each id occurs, (n_ids,)."""
    rows = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    return np.bincount(np.unique(rows * n_ids + ids) % n_ids, minlength=n_ids)


def _least_texts(n_texts: int) -> int:
    """Return in how many texts a word must occur: once in a few hundred, in three of thousands.

    >>> [_least_texts(n) for n in (100, 1500, 100_000)]
    [1, 2, 3]
    """
    return min(1 + n_texts // 1000, 3)
