"""How far refinement moves codes, and whether documents with rare words are the ones it moves."""

from __future__ import annotations

from typing import Any

import numpy as np

from fewhot.core.checks import real_number
from fewhot.core.errors import InvalidInputError
from fewhot.metrics.libraries import library
from fewhot.metrics.matrices import (
    as_counts,
    as_matrix,
    as_numbers,
    column_names,
    dense,
    in_order_of,
    is_sparse,
    same_shape,
)

RARE_SHARE = 0.05


def rare_words(X: Any, share: float = RARE_SHARE, *, training: Any = None) -> np.ndarray:
    """Return how many different rare words each document holds, (n,).

    Parameters
    ----------
    X
        Documents, (n, V): counts, dense or sparse.
    share
        A word is rare when it is in less than this share of the training documents.
    training
        The training documents, (D, V), that say which words are rare; None takes X. Columns of two frames are told by
        their names.

    References
    ----------
    Krishnan, Liang and Hoffman (2018), On the challenges of learning with inference networks on sparse,
    high-dimensional data.

    Examples
    --------
    >>> rare_words([[1, 0, 2], [1, 0, 0], [3, 1, 0]], share=0.5).tolist()
    [1, 0, 1]
    """
    below = real_number("share", share, low=0, high=1, open_low=True)
    counts = as_counts(X)
    if training is not None:
        training = in_order_of(column_names(X), training, "training", "X")
    known = counts if training is None else as_counts(training, "training", counts.shape[1])
    held_by = np.bincount(known.indices, minlength=known.shape[1])  # documents of each word
    rare = (held_by < below * known.shape[0]).astype(np.float64)
    counts.data[:] = 1.0  # of our copy
    return (counts @ rare).astype(np.int64)


def code_divergence(q: Any, p: Any) -> np.ndarray:
    r"""Return the divergence of two Gaussian codes of each row in nats, (n,).

    .. math:: \mathrm{KL}(q \,\|\, p) = \frac{1}{2} \sum_k \Big(\frac{v^q_k + (m^q_k - m^p_k)^2}{v^p_k} - 1
        - \log\frac{v^q_k}{v^p_k}\Big)

    Between what the encoder says, q, and what refinement makes of it, p, it is how far a row was moved.

    Parameters
    ----------
    q, p
        What ``codes(X)`` returns for a model without gates, or a pair of means and variances, (n, K) each.

    Examples
    --------
    >>> code_divergence(([[0.0]], [[1.0]]), ([[2.0]], [[1.0]])).tolist()
    [2.0]
    """
    (mean_q, variance_q), (mean_p, variance_p) = _moments(q, "q"), _moments(p, "p")
    same_shape(mean_q, mean_p, "q and p")
    ratio = variance_q / variance_p
    return 0.5 * (ratio + (mean_q - mean_p) ** 2 / variance_p - 1 - np.log(ratio)).sum(axis=1)


def rare_word_correlation(divergence: Any, rare: Any) -> float:
    """Return Spearman's correlation of how far each row was moved with its number of rare words.

    It is NaN where either is the same in all rows.

    Parameters
    ----------
    divergence
        What `code_divergence` returns, (n,).
    rare
        What `rare_words` returns for the same rows, (n,).

    Examples
    --------
    >>> rare_word_correlation([0.1, 0.4, 9.0], [0, 3, 5])
    1.0
    """
    moved, number = paired(divergence, rare)
    if np.ptp(moved) == 0 or np.ptp(number) == 0:
        return float("nan")
    return float(library("scipy.stats").spearmanr(moved, number).statistic)


def paired(divergence: Any, rare: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return divergences and numbers of rare words as float arrays, (n,) each; refuse what is not of the same rows."""
    moved, number = as_numbers(divergence, "divergence"), as_numbers(rare, "rare")
    if moved.ndim != 1 or moved.shape != number.shape or len(moved) < 2:
        raise InvalidInputError(
            f"divergence and rare have shapes {moved.shape} and {number.shape}; give one number of each a row, of at "
            f"least two rows."
        )
    if not (np.isfinite(moved).all() and np.isfinite(number).all()):
        raise InvalidInputError("divergence or rare contains NaN or infinity; leave those rows out.")
    return moved, number


def _moments(codes: Any, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return means and variances of Gaussian codes, (n, K) each."""
    pair: Any = (codes.values, codes.variance) if hasattr(codes, "variance") else codes
    if is_sparse(pair) or not hasattr(pair, "__len__") or len(pair) != 2:
        raise InvalidInputError(
            f"{name} is of type {type(codes).__name__}; give what codes(X) returns, or a pair of means and variances."
        )
    if any(is_sparse(part) for part in pair):
        raise InvalidInputError(
            f"{name} is a sparse code, whose units are not Gaussian; give the code of a dense model."
        )
    mean, variance = (dense(as_matrix(part, name)) for part in pair)
    same_shape(mean, variance, f"Means and variances of {name}")
    if not (variance > 0).all():
        raise InvalidInputError(
            f"{name} has variances that are not above 0 (minimum {variance.min():g}); give variances."
        )
    return mean, variance
