"""Which words of a text a unit answers to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from fewhot.core.checks import one_of, whole_number
from fewhot.core.errors import InvalidParameterError
from fewhot.metrics.code_kinds import activity_probabilities
from fewhot.metrics.examples import has_gates, map_codes
from fewhot.metrics.matrices import as_counts, dense, is_sparse
from fewhot.metrics.text_counts import as_texts, spelling, text_counts
from fewhot.metrics.traversal import chosen_units
from fewhot.metrics.words import TopWords, largest, words_of_columns

MIN_TEXTS = 10
_UNITS_AT_ONCE = 64
_MEASURES = ("p_active", "size")


def unit_words(
    estimator: Any,
    texts: Any,
    n: int = 10,
    *,
    measure: Literal["p_active", "size"] | None = None,
    min_texts: int = MIN_TEXTS,
    units: Sequence[int] | None = None,
    vocabulary: Sequence[str] | None = None,
) -> TopWords:
    r"""Return the words in whose presence a unit is most active.

    .. math:: s_{jv} = \operatorname{mean}_{i:\,v \in x_i} a_{ij} - \operatorname{mean}_{i:\,v \notin x_i} a_{ij}

    with :math:`a_{ij}` the probability that unit j is on in text i, or the absolute value of its map code. `top_words`
    asks the decoder of counts which words a unit makes probable; this asks the encoder, of whatever it reads, and says
    what goes together and not what causes what.

    Parameters
    ----------
    estimator
        A fitted estimator.
    texts
        Strings, a data set of texts, or counts of words, (n, V): what the estimator codes.
    n
        How many words.
    measure
        "p_active" or "size", the absolute value of the map code; None takes the first for units with gates.
    min_texts
        Words are left out that fewer texts hold, or fewer lack: so few say nothing of the unit.
    units
        Which units; None takes all.
    vocabulary
        The word of each column of counts, as in `top_words`; texts bring their words.

    Returns
    -------
    TopWords
        Words up and their scores, and no words down. A unit that is the same in all texts has scores of 0, and its
        words mean nothing.

    Examples
    --------
    >>> import fewhot as fh
    >>> texts = ["the sea is blue", "the sun is hot"] * 20
    >>> vsc = fh.VSC(4, l0=2, hidden_layer_sizes=(8,), max_steps=5, random_state=0).fit(texts)
    >>> sorted(unit_words(vsc, texts, 2).up[0]) in (["blue", "sea"], ["hot", "sun"])
    True
    """
    one_of("measure", measure, (None, *_MEASURES))
    gated = has_gates(estimator)
    read = as_texts(texts, getattr(estimator, "vocabulary_", None), "texts")
    counts = as_counts(texts, "texts") if read is None else text_counts(read)
    names = words_of_columns(estimator, vocabulary if read is None else spelling(read.vocabulary), counts.shape[1])
    usual = usual_words(counts, whole_number("min_texts", min_texts))
    if whole_number("n", n) > len(usual):
        raise InvalidParameterError(
            f"n is {n} and {len(usual)} words are in at least {min_texts} texts and absent from as many; ask for "
            f"fewer, or lower min_texts."
        )
    by_gate = (gated and measure is None) or measure == "p_active"
    activity = activity_probabilities(estimator, texts) if by_gate else abs(map_codes(estimator, texts))
    chosen = chosen_units(units, activity.shape[1])
    columns, scores = _best_words(counts[:, usual], activity, chosen, n)
    return TopWords(
        units=chosen,
        columns_up=usual[columns],
        scores_up=scores,
        columns_down=columns[:, :0],
        scores_down=scores[:, :0],
        vocabulary=names,
    )


def usual_words(counts: Any, least: int) -> np.ndarray:
    """Return the columns of words that at least so many texts hold, and as many lack."""
    held_by = np.bincount(counts.indices, minlength=counts.shape[1])
    return np.flatnonzero((held_by >= least) & (counts.shape[0] - held_by >= least))


def _best_words(counts: Any, activity: Any, units: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return columns and scores of the best words, (U, n) each, some units at a time."""
    present = counts.T.tocsr()  # (V, n)
    present.data[:] = 1.0
    n_with = np.diff(present.indptr)[:, None]
    n_without = present.shape[1] - n_with
    activity = activity.tocsc() if is_sparse(activity) else activity.astype(np.float64)
    parts: list[tuple[np.ndarray, np.ndarray]] = []
    for start in range(0, len(units), _UNITS_AT_ONCE):
        a = activity[:, units[start : start + _UNITS_AT_ONCE]]  # (n, some units)
        within = dense(present @ a)  # (V, some units): sums over the texts that hold a word
        total = np.asarray(a.sum(axis=0)).ravel()
        parts.append(largest((within / n_with - (total - within) / n_without).T, n))
    columns, scores = (np.concatenate(both) for both in zip(*parts, strict=True))
    return columns, scores
