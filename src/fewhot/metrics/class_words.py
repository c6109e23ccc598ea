"""How differently classes use words, and whether their codes differ where their words do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fewhot.core.errors import InvalidInputError
from fewhot.data.text import UNKNOWN, Vocabulary
from fewhot.metrics.classes import class_places, gamma_class
from fewhot.metrics.libraries import library
from fewhot.metrics.matrices import as_counts
from fewhot.metrics.text_counts import as_texts, text_counts


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassDistances:
    """How far apart classes are in their words, and in the units that serve them.

    Attributes
    ----------
    classes
        The labels, sorted, (C,).
    words
        Mean of the divergences of two classes' words in both directions, in nats, (C, C).
    units
        Mean over units of how much `gamma_class` differs between two classes, (C, C): 0 when they use the same units
        equally often, 1 when each unit is on in all rows of one and in none of the other.
    correlation
        Spearman's, over pairs of classes; NaN where either distance is the same for all pairs.
    """

    classes: np.ndarray
    words: np.ndarray
    units: np.ndarray
    correlation: float


def class_divergences(X: Any, y: Any, *, vocabulary: Vocabulary | None = None) -> np.ndarray:
    r"""Return how differently two classes use words, in nats.

    .. math:: \mathrm{KL}(p_a \,\|\, p_b) = \sum_v p_a(v) \log\frac{p_a(v)}{p_b(v)}, \qquad
        p_c(v) = \frac{n_{cv} + 1}{\sum_w n_{cw} + V}

    with :math:`n_{cv}` how often the rows of class c have word v. The one that is added makes classes with few words
    look alike, so compare classes of similar size.

    Parameters
    ----------
    X
        Texts: strings, or a data set of `fewhot.data.text_dataset`, of which words that the vocabulary does not have
        count as one. Or counts of words, (n, V), dense or sparse.
    y
        A class a row, (n,).
    vocabulary
        The words of strings, such as an estimator's ``vocabulary_``; None takes the most frequent words of X.

    Returns
    -------
    ndarray
        (C, C), classes in sorted order: the divergence of the row's class from the column's.

    References
    ----------
    Prokhorov, Li, Shareghi and Collier (2021), Learning sparse sentence encoding without supervision.

    Examples
    --------
    >>> class_divergences([[3, 0], [0, 3], [3, 0]], ["a", "b", "a"]).round(3).tolist()
    [[0.0, 1.059], [1.19, 0.0]]
    """
    counts = _counts(X, vocabulary)
    classes, places = class_places(y, counts.shape[0])
    n_rows = len(places)
    member = library("scipy.sparse").csr_array((np.ones(n_rows), (places, np.arange(n_rows))), (len(classes), n_rows))
    smoothed = (member @ counts).toarray() + 1.0  # (C, V)
    p = smoothed / smoothed.sum(axis=1, keepdims=True)
    log_p = np.log(p)
    divergence = np.maximum((p * log_p).sum(axis=1)[:, None] - p @ log_p.T, 0.0)  # rounding may step below
    np.fill_diagonal(divergence, 0.0)
    return divergence


def class_distances(estimator: Any, X: Any, y: Any) -> ClassDistances:
    r"""Return whether classes with different words are served by different units.

    .. math:: \rho\Big(\tfrac12\big(\mathrm{KL}(p_a \| p_b) + \mathrm{KL}(p_b \| p_a)\big),\;
        \tfrac1K \sum_j |\gamma_{aj} - \gamma_{bj}|\Big) \text{ over pairs } a < b

    with :math:`\rho` Spearman's correlation, p as in `class_divergences` and :math:`\gamma` as in `gamma_class`.

    Parameters
    ----------
    estimator
        A fitted estimator with gates.
    X
        The texts or counts of words that it codes, (n, V).
    y
        A class a row, (n,), of at least three classes.

    Examples
    --------
    >>> import fewhot as fh
    >>> X = np.random.default_rng(0).poisson(1.0, size=(60, 4))
    >>> vsc = fh.VSC(n_components=3, alpha=0.5, likelihood="multinomial", max_steps=5, random_state=0).fit(X)
    >>> class_distances(vsc, X, np.arange(60) % 3).words.shape
    (3, 3)
    """
    texts = as_texts(X, getattr(estimator, "vocabulary_", None))
    rows = X if texts is None else texts
    divergence = class_divergences(rows, y)
    classes = np.unique(np.asarray(y))
    if len(classes) < 3:
        raise InvalidInputError(f"y has {len(classes)} classes; a correlation over pairs of them needs at least three.")
    gamma = gamma_class(estimator, X, y)
    words, units = (divergence + divergence.T) / 2, np.abs(gamma[:, None] - gamma).mean(axis=-1)
    return ClassDistances(classes=classes, words=words, units=units, correlation=_over_pairs(words, units))


def _counts(X: Any, vocabulary: Vocabulary | None) -> Any:
    """Return counts of words, (n, V), CSR, without the columns of padding and ends."""
    texts = as_texts(X, vocabulary)
    return as_counts(X) if texts is None else text_counts(texts)[:, UNKNOWN:]


def _over_pairs(one: np.ndarray, other: np.ndarray) -> float:
    pairs = np.triu_indices(len(one), 1)
    if np.ptp(one[pairs]) == 0 or np.ptp(other[pairs]) == 0:
        return float("nan")
    return float(library("scipy.stats").spearmanr(one[pairs], other[pairs]).statistic)
