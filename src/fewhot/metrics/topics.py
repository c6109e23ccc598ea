"""Whether the top words of topics go together, and whether topics differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from fewhot.core.checks import one_of, real_number
from fewhot.core.errors import InvalidInputError, InvalidParameterError
from fewhot.metrics.estimates import Estimate, estimate
from fewhot.metrics.matrices import as_counts, column_names, in_order_of
from fewhot.metrics.words import TopWords, unnamed

_SMALL = 1e-12
"""Added to the probability of a pair, as Röder et al. (2015) do; without it a pair never seen has no logarithm."""


def topic_coherence(topics: Any, X: Any, measure: str = "npmi", *, vocabulary: Sequence[str] | None = None) -> Estimate:
    r"""Return how often the top words of topics are found in the same documents.

    With :math:`p_i` the share of documents that hold word i, :math:`p_{ij}` that hold both, :math:`D_i` and
    :math:`D_{ij}` the same as numbers of documents:

    - ``"npmi"``: mean over pairs of :math:`\mathrm{npmi}_{ij} = \log\frac{p_{ij} + \epsilon}{p_i p_j} \big/
      -\log(p_{ij} + \epsilon)`: 1 for words that only come together, 0 by chance, below it for words that never meet
      (-1 without :math:`\epsilon = 10^{-12}`, which is mild on rare words);
    - ``"umass"``: mean over pairs of :math:`\log\frac{D_{ij} + 1}{D_i}`, word i ranked before word j;
    - ``"cv"``: mean over words of the cosine of :math:`\mathrm{npmi}_{i\cdot}` with :math:`\sum_j
      \mathrm{npmi}_{j\cdot}`, over the topic's words.

    A document is one window, since counts have no order of words: numbers of sliding windows (10 words for NPMI and
    110 for C_V are usual) are others. Held-out or foreign documents judge more severely than those of the fit.

    Parameters
    ----------
    topics
        What `top_words` returns, of which every list is a topic, high and low ones, and units without words are left
        out; or a list of words, or of columns, a topic, the most important first.
    X
        Documents, (D, V): counts, dense or sparse. Only the columns of the topics are looked at; those of a frame are
        told by their names where the words of the topics are known.
    measure
        "npmi", "umass" or "cv".
    vocabulary
        The word of each column, where topics are lists of words; None takes the names of a frame's columns.

    Returns
    -------
    Estimate
        The mean over topics, its standard error, and the coherence of each. Pairs with a word that is in no document
        are left out, and so are topics without a pair left, which are counted in ``skipped``.

    References
    ----------
    Bouma (2009), Normalized (pointwise) mutual information in collocation extraction; Mimno et al. (2011), Optimizing
    semantic coherence in topic models; Röder, Both and Hinneburg (2015), Exploring the space of topic coherence
    measures.

    Examples
    --------
    >>> X = [[1, 1, 0, 0], [2, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 3]]
    >>> topic_coherence([[0, 1], [0, 2]], X).values.round(3).tolist()
    [1.0, -0.925]
    """
    one_of("measure", measure, ("npmi", "umass", "cv"))
    words = _words_of(topics, vocabulary)
    ordered = in_order_of(None if words == unnamed(len(words)) else words, X, "X", "the vocabulary")
    lists = _columns(topics, words or column_names(X))
    counts = as_counts(ordered, n_columns=len(words) or None)
    beyond = max((max(words) for words in lists), default=0)
    if beyond >= counts.shape[1]:
        raise InvalidInputError(
            f"The topics name column {beyond} and X has {counts.shape[1]} columns; give documents over the same words."
        )
    used = np.unique(np.concatenate(lists))
    seen = counts[:, used].tocsc()
    seen.data[:] = 1.0
    together = (seen.T @ seen).toarray()  # (W, W) of the topics' words only
    score = {"npmi": _npmi, "umass": _umass, "cv": _cv}[measure]
    values = [score(_among(together, np.searchsorted(used, words)), counts.shape[0]) for words in lists]
    defined = [value for value in values if np.isfinite(value)]
    return estimate(defined, skipped=len(values) - len(defined))


def topic_diversity(topics: Any) -> float:
    """Return the share of distinct words among the top words of all topics: 1 when none is named twice.

    Parameters
    ----------
    topics
        As in `topic_coherence`.

    References
    ----------
    Dieng, Ruiz and Blei (2020), Topic modeling in embedding spaces, with 25 words a topic.

    Examples
    --------
    >>> topic_diversity([["orbit", "moon"], ["moon", "goal"]])
    0.75
    """
    lists = _lists(topics)
    return len({word for words in lists for word in words}) / sum(len(words) for words in lists)


def inverted_rbo(topics: Any, weight: float = 0.9) -> float:
    r"""Return how differently topics rank their words: 1 when no two share one, 0 when all are the same list.

    .. math:: 1 - \frac{2}{K(K-1)} \sum_{a<b} \mathrm{RBO}(a, b), \qquad
        \mathrm{RBO} = A_n w^n + \frac{1-w}{w}\sum_{d=1}^n A_d w^d

    with :math:`A_d` the share of common words among the first d of two topics. Other than `topic_diversity`, it minds
    where in the lists the common words stand.

    Parameters
    ----------
    topics
        As in `topic_coherence`, all of one length; at least two.
    weight
        The weight w of a place against the one before it: the smaller, the more the first words matter.

    References
    ----------
    Webber, Moffat and Zobel (2010), A similarity measure for indefinite rankings; Bianchi, Terragni and Hovy (2021),
    Pre-training is a hot topic.

    Examples
    --------
    >>> inverted_rbo([["orbit", "moon"], ["goal", "ice"]])
    1.0
    """
    lists = _lists(topics)
    w = real_number("weight", weight, low=0, high=1, open_low=True)
    if len(lists) < 2 or len({len(words) for words in lists}) > 1:
        raise InvalidInputError(
            f"{len(lists)} topics of {sorted({len(words) for words in lists})} words were given; give at least two, of "
            f"the same length."
        )
    return 1.0 - float(np.mean([_rank_overlap(a, b, w) for a, b in combinations(lists, 2)]))


def _lists(topics: Any) -> list[list[Any]]:
    """Return the words or columns of each topic; refuse topics that are empty or name a word twice."""
    given: Any = topics.lists if isinstance(topics, TopWords) else topics
    if isinstance(topics, TopWords) and not given:
        raise InvalidInputError(
            "No unit has words, since none is on often enough or varies; fit a model that uses some."
        )
    parts: list[Any] = list(given) if hasattr(given, "__iter__") else [given]
    if any(isinstance(words, str) or not hasattr(words, "__iter__") for words in parts):
        raise InvalidInputError(
            f"topics is of type {type(topics).__name__} and no list of lists; give what top_words returns, or a list "
            f"of words or columns a topic."
        )
    lists = [list(words) for words in parts]
    for words in lists:
        if not words or len(set(words)) < len(words):
            raise InvalidInputError(f"The topic {words} is empty or names a word twice; give each a list of words.")
    if not lists:
        raise InvalidInputError("topics is empty; give a list of words a topic.")
    return lists


def _columns(topics: Any, vocabulary: Sequence[str] | None) -> list[np.ndarray]:
    """Return the columns of each topic's words."""
    lists = _lists(topics)
    if not any(isinstance(word, str) for words in lists for word in words):
        if any(isinstance(word, bool) or word != int(word) or word < 0 for words in lists for word in words):
            raise InvalidInputError(
                "The topics name columns that are no whole numbers from 0 up; give columns or words."
            )
        return [np.array(words, dtype=np.int64) for words in lists]
    if vocabulary is None:
        raise InvalidParameterError(
            "The topics are lists of words and vocabulary is None; give the word of each column."
        )
    place: Mapping[Any, int] = {word: column for column, word in enumerate(vocabulary)}
    unknown = next((word for words in lists for word in words if word not in place), None)
    if unknown is not None:
        raise InvalidInputError(f"The topics name {unknown!r}, which is not in the vocabulary; give words that are.")
    return [np.array([place[word] for word in words], dtype=np.int64) for words in lists]


def _words_of(topics: Any, vocabulary: Sequence[str] | None) -> list[str]:
    """Return the words of all columns, none where they are not known."""
    known = topics.vocabulary if isinstance(topics, TopWords) else ()
    return list(known if vocabulary is None else vocabulary)


def _among(together: np.ndarray, words: np.ndarray) -> np.ndarray:
    """Return the numbers of documents that hold two of these words, (n, n), without words that are nowhere."""
    some = words[np.diag(together)[words] > 0]
    return together[np.ix_(some, some)]


def _npmi_matrix(together: np.ndarray, n_documents: int) -> np.ndarray:
    share = np.diag(together) / n_documents
    pair = together / n_documents + _SMALL
    everywhere = together == n_documents
    value = np.log(pair / np.outer(share, share)) / -np.log(np.where(everywhere, 0.5, pair))
    return np.where(everywhere, 0.0, value)  # words of every document say nothing of each other


def _npmi(together: np.ndarray, n_documents: int) -> float:
    return _mean(_npmi_matrix(together, n_documents)[np.triu_indices(len(together), 1)])


def _umass(together: np.ndarray, n_documents: int) -> float:
    before, after = np.triu_indices(len(together), 1)
    return _mean(np.log((together[before, after] + 1) / np.diag(together)[before]))


def _cv(together: np.ndarray, n_documents: int) -> float:
    vectors = _npmi_matrix(together, n_documents)
    whole = vectors.sum(axis=0)
    lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(whole)
    return _mean(np.divide(vectors @ whole, lengths, out=np.zeros_like(lengths), where=lengths > 0)[: len(vectors)])


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else float("nan")


def _rank_overlap(one: list[Any], other: list[Any], w: float) -> float:
    n = len(one)
    agreement = np.array([len(set(one[:depth]) & set(other[:depth])) / depth for depth in range(1, n + 1)])
    return float(agreement[-1] * w**n + (1 - w) / w * (agreement * w ** np.arange(1, n + 1)).sum())
