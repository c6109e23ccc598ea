"""The best of many scores, without sorting them or asking where a partition would put a thousand equal ones."""

from __future__ import annotations

import numpy as np

_WIDTH = 256


def best_rows(scores: np.ndarray, n: int) -> np.ndarray:
    """Return the rows of the ``n`` largest scores, best first; equal scores by the smaller row.

    The n-th largest of the maxima of at least n blocks is no larger than the n-th best score, and fewer than n blocks
    exceed it: only their rows are sorted.

    Examples
    --------
    >>> best_rows(np.array([1.0, 3.0, 0.0, 3.0, 2.0]), 3).tolist()
    [1, 3, 4]
    """
    width = min(_WIDTH, len(scores) // n)
    if width < 2:
        return np.argsort(-scores, kind="stable")[:n]
    n_blocks = len(scores) // width
    maxima = scores[: n_blocks * width].reshape(n_blocks, width).max(axis=1)
    least = np.partition(maxima, n_blocks - n)[n_blocks - n]
    above = np.flatnonzero(scores > least)
    ranked = above[np.argsort(-scores[above], kind="stable")[:n]]
    if len(ranked) == n:
        return ranked
    return np.concatenate([ranked, np.flatnonzero(scores == least)[: n - len(ranked)]])


def best_counts(counts: np.ndarray, scores: np.ndarray, n: int) -> np.ndarray:
    """Return the rows of the ``n`` largest counts, best first; equal counts by the larger score, then the smaller row.

    Examples
    --------
    >>> best_counts(np.array([1, 2, 1, 1]), np.array([0.5, 0.1, 0.7, 0.5]), 3).tolist()
    [1, 2, 0]
    """
    n = min(n, len(counts))
    at_least = np.bincount(counts)[::-1].cumsum()[::-1]  # rows with so many or more
    least = int(np.flatnonzero(at_least >= n)[-1])
    above, tied = np.flatnonzero(counts > least), np.flatnonzero(counts == least)
    ranked = above[np.lexsort((-scores[above], -counts[above]))]
    return np.concatenate([ranked, tied[best_rows(scores[tied], n - len(ranked))]])
