"""Whether two fits find the same units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fewhot.core.errors import InvalidInputError
from fewhot.core.seeding import derive_seed, resolve_seed
from fewhot.metrics.activity import USED_SHARE
from fewhot.metrics.libraries import library
from fewhot.metrics.matrices import as_matrix, column_moments, dense, is_sparse, row_sums, stored
from fewhot.metrics.sparsity import ACTIVE_VARIANCE


@dataclass(frozen=True, slots=True, kw_only=True)
class Matching:
    """Units of two codes, paired one to one.

    Attributes
    ----------
    score
        Sum of the pairs' absolute correlations over the larger number of used units: a used unit without a partner
        counts as 0, and two codes that agree up to order, sign and scale score 1.
    chance
        The score after the rows of one code have been shuffled: what pairing the best finds in nothing.
    pairs
        Paired units (of the first code, of the second), best first, (m, 2).
    correlation
        Their correlations, with sign, (m,).
    used
        Number of used units of each code.
    """

    score: float
    chance: float
    pairs: np.ndarray
    correlation: np.ndarray
    used: tuple[int, int]


def unit_matching(Z_a: Any, Z_b: Any, random_state: Any = 0) -> Matching:
    r"""Pair the units of two codes of the same rows so that they agree best.

    .. math:: \max_\pi \sum_j \big|\mathrm{corr}(z^a_j, z^b_{\pi(j)})\big|

    over one-to-one pairings of used units, by the Hungarian algorithm. A unit is used when it is active in at least
    0.5 % of the rows; in a code without any zero, when its variance exceeds 0.01.

    Parameters
    ----------
    Z_a, Z_b
        Codes of the same rows in the same order, (n, K_a) and (n, K_b): arrays or sparse matrices.
    random_state
        Seed of the shuffle behind ``chance``.

    Examples
    --------
    >>> Z = np.random.default_rng(0).normal(size=(100, 3))
    >>> match = unit_matching(Z, -2 * Z[:, [2, 0, 1]])
    >>> round(match.score, 6), sorted(match.pairs.tolist())
    (1.0, [[0, 1], [1, 2], [2, 0]])
    """
    one, other = as_matrix(Z_a, "Z_a"), as_matrix(Z_b, "Z_b")
    if one.shape[0] != other.shape[0]:
        raise InvalidInputError(
            f"Z_a has {one.shape[0]} rows and Z_b has {other.shape[0]}; give codes of the same rows."
        )
    used_one, used_other = used_units(one), used_units(other)
    larger = max(len(used_one), len(used_other))
    one, other = one[:, used_one], other[:, used_other]
    correlation = correlations(one, other)
    rows, columns = _best(correlation)
    shuffled = np.random.default_rng(derive_seed(resolve_seed(random_state), "chance")).permutation(one.shape[0])
    by_chance = correlations(one, other[shuffled])
    order = np.argsort(-np.abs(correlation[rows, columns]), kind="stable")
    rows, columns = rows[order], columns[order]
    return Matching(
        score=float(np.abs(correlation[rows, columns]).sum() / larger) if larger else 0.0,
        chance=float(np.abs(by_chance[_best(by_chance)]).sum() / larger) if larger else 0.0,
        pairs=np.stack([used_one[rows], used_other[columns]], axis=1),
        correlation=correlation[rows, columns],
        used=(len(used_one), len(used_other)),
    )


def used_units(codes: Any) -> np.ndarray:
    """Return the numbers of the used units; see `unit_matching`."""
    matrix = as_matrix(codes, "codes")
    if not is_sparse(matrix) and (stored(matrix) != 0).all():
        return np.flatnonzero(column_moments(matrix)[1] ** 2 > ACTIVE_VARIANCE)
    return np.flatnonzero(row_sums((matrix != 0).T) / matrix.shape[0] >= USED_SHARE)


def correlations(one: Any, other: Any) -> np.ndarray:
    """Return the correlation of every column of ``one`` with every column of ``other``; 0 where one is constant."""
    (mean_a, std_a), (mean_b, std_b) = column_moments(one), column_moments(other)
    product = dense(one.T @ other)
    covariance = product / one.shape[0] - np.outer(mean_a, mean_b)
    scale = np.outer(std_a, std_b)
    return np.clip(np.divide(covariance, scale, out=np.zeros_like(scale), where=scale > 0), -1.0, 1.0)


def _best(correlation: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return library("scipy.optimize").linear_sum_assignment(np.abs(correlation), maximize=True)
