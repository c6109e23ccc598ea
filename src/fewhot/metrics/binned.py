"""Entropy and mutual information of columns of numbers, after they have been sorted into bins."""

from __future__ import annotations

import numpy as np

N_BINS = 20


def binned(matrix: np.ndarray, n_bins: int = N_BINS) -> np.ndarray:
    """Return the bin of every entry, column by column, as whole numbers from 0, (n, K).

    A column of at most ``n_bins`` values keeps them. In any other, zero is a bin of its own, for a unit that is off is
    more than a small number, and the rest falls into ``n_bins`` bins of equal width.
    """
    return np.column_stack([_bins(column, n_bins) for column in matrix.T])


def is_class(column: np.ndarray, n_bins: int = N_BINS) -> bool:
    """Say whether a column has so few values that they are kept."""
    return len(np.unique(column)) <= n_bins


def entropies(bins: np.ndarray) -> np.ndarray:
    """Return the entropy of every column in nats, (K,)."""
    return np.array([_entropy(np.bincount(column)) for column in bins.T])


def mutual_information(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    r"""Return the mutual information of every column of ``one`` with every column of ``other`` in nats, (K, J).

    .. math:: I(a; b) = H(a) + H(b) - H(a, b)
    """
    width = int(other.max()) + 1
    joint = np.array([[_entropy(np.bincount(a * width + b)) for b in other.T] for a in one.T])
    return np.maximum(entropies(one)[:, None] + entropies(other) - joint, 0.0)  # rounding may step below


def _bins(column: np.ndarray, n_bins: int) -> np.ndarray:
    if is_class(column, n_bins):
        return np.unique(column, return_inverse=True)[1]
    on = column != 0
    low, high = column[on].min(), column[on].max()
    place = np.floor((column - low) / (high - low) * n_bins)
    return np.where(on, 1 + np.clip(place, 0, n_bins - 1), 0).astype(np.int64)


def _entropy(counts: np.ndarray) -> float:
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log(shares)).sum())
