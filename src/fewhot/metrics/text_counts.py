"""Texts at the edge of a metric: one data set, and how often each text has each word."""

from __future__ import annotations

from typing import Any

import numpy as np

from fewhot.core.errors import InvalidInputError, InvalidTypeError
from fewhot.core.records import END
from fewhot.data.text import UNKNOWN_WORD, TextDataset, Vocabulary, is_text, text_dataset
from fewhot.metrics.libraries import library


def as_texts(X: Any, vocabulary: Vocabulary | None = None, name: str = "X") -> TextDataset | None:
    """Return strings as a data set and a data set as it is; None for what is no text.

    ``vocabulary`` says what ids stand for, and that X has to be texts; None takes that of the texts.
    """
    if vocabulary is not None and not isinstance(vocabulary, Vocabulary):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidTypeError(
            f"vocabulary is of type {type(vocabulary).__name__}; give that of an estimator, vocabulary_, or None."
        )
    if isinstance(X, TextDataset):
        if vocabulary is not None and X.vocabulary != vocabulary:
            raise InvalidInputError(f"{name} was prepared with another vocabulary; give strings, or leave one out.")
        return X
    if is_text(X):
        return text_dataset(X, vocabulary, name=name)
    if vocabulary is not None:
        raise InvalidTypeError(
            f"{name} is of type {type(X).__name__} without strings, and a vocabulary reads texts; give a list of "
            f"strings, or what text_dataset returns."
        )
    return None


def text_counts(texts: TextDataset) -> Any:
    """Return how often each text has each word of the vocabulary, (n, V), CSR; padding and ends do not count.

    >>> text_counts(text_dataset(["few, so few", ""])).toarray().tolist()
    [[0.0, 0.0, 0.0, 2.0, 1.0], [0.0, 0.0, 0.0, 0.0, 0.0]]
    """
    ids = texts.ids.cpu().numpy()
    rows = np.repeat(np.arange(texts.n_rows), texts.lengths)
    counted = ids > END
    shape = (texts.n_rows, len(texts.vocabulary))
    return library("scipy.sparse").csr_array((np.ones(counted.sum()), (rows[counted], ids[counted])), shape=shape)


def spelling(vocabulary: Vocabulary) -> tuple[str, ...]:
    """Return the word of every id; padding and end have no spelling."""
    return ("", "", UNKNOWN_WORD, *vocabulary.known)
