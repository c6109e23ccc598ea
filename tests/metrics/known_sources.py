"""Codes of known sources: the sources themselves, in another dress, mixed, and nothing to do with them."""

from __future__ import annotations

import numpy as np

K = 4
ORDER = [2, 0, 3, 1]
SCALES = np.array([-4.0, 0.5, 8.0, -1.0])  # powers of two: bins stay what they are


def classes(n: int = 3000, seed: int = 0) -> np.ndarray:
    """Draw sources of five values each, independent of each other."""
    return np.random.default_rng(seed).integers(1, 6, size=(n, K)).astype(float)


def continuous(n: int = 3000, seed: int = 0) -> np.ndarray:
    """Draw normal sources, independent of each other."""
    return np.random.default_rng(seed).normal(size=(n, K))


def sparse(n: int = 3000, seed: int = 0) -> np.ndarray:
    """Draw sources that are zero in seven rows of ten."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, K)) * (rng.random((n, K)) < 0.3)


def in_another_dress(sources: np.ndarray) -> np.ndarray:
    """Return the sources in another order, with other signs and scales."""
    return sources[:, ORDER] * SCALES


def rotated(sources: np.ndarray) -> np.ndarray:
    """Return the sources after a rotation that mixes all of them: a Hadamard matrix."""
    two = np.array([[1.0, 1.0], [1.0, -1.0]])
    return sources @ np.kron(two, two) / 2


def with_dead_units(codes: np.ndarray) -> np.ndarray:
    """Return the code with three units that never change."""
    return np.column_stack([np.zeros((len(codes), 2)), codes, np.full(len(codes), 7.0)])


def unrelated(n: int = 3000) -> np.ndarray:
    """Draw a code that has nothing to do with anything."""
    return continuous(n, seed=99)


ALL_SOURCES = [classes, continuous, sparse]
EVERYWHERE_REFUSED = [
    (np.eye(30)[:, :2], np.ones((29, 2)), "sources has 30 rows and codes has 29; give both of the same rows"),
    (np.array([[1.0, 2.0], [0.0, 2.0]] * 15), np.eye(30), "Column 1 of sources is the same in every row; give sources"),
    (np.ones((30, 0)), np.eye(30), "sources has no column; give sources that change"),
    (np.eye(30), np.ones((30, 0)), "codes has no column; give at least one unit"),
    (np.arange(30), np.eye(30), "sources is int64 of shape"),
    (np.eye(30), np.full((30, 2), np.nan), "codes contains NaN or infinity"),
    (np.eye(30), np.ma.masked_less(np.eye(30), 1), "codes has 870 masked of 900 entries; impute or drop"),
]
