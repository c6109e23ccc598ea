"""Matching units of two codes, against all pairings."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
import scipy.sparse as sp

from fewhot.core.errors import InvalidInputError
from fewhot.metrics import unit_matching


def sparse_codes(seed: int, n: int = 400, k: int = 4) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(1.0, 1.0, size=(n, k)) * (rng.random((n, k)) < 0.3)


def slow_score(one: np.ndarray, other: np.ndarray) -> float:
    k = one.shape[1]
    corr = np.abs(np.corrcoef(one.T, other.T)[:k, k:])
    return max(sum(corr[j, p[j]] for j in range(k)) for p in permutations(range(k))) / k


def test_the_pairing_is_the_best_of_all() -> None:
    one = sparse_codes(0)
    other = one @ np.random.default_rng(1).normal(size=(4, 4)) + 0.5 * sparse_codes(2)
    assert unit_matching(one, other).score == pytest.approx(slow_score(one, other))


def test_codes_that_agree_up_to_order_sign_and_scale_score_1() -> None:
    codes = sparse_codes(0)
    found = unit_matching(codes, codes[:, [2, 0, 3, 1]] * [-1.0, 5.0, 0.1, -2.0])
    assert found.score == pytest.approx(1.0)
    assert sorted(found.pairs.tolist()) == [[0, 1], [1, 3], [2, 0], [3, 2]]
    signs = {tuple(pair): sign for pair, sign in zip(found.pairs.tolist(), np.sign(found.correlation), strict=True)}
    assert signs == {(0, 1): 1, (1, 3): -1, (2, 0): -1, (3, 2): 1}


def test_unrelated_codes_score_what_chance_does() -> None:
    found = unit_matching(sparse_codes(0), sparse_codes(9))
    assert found.score < 0.2
    assert found.chance == pytest.approx(found.score, abs=0.1)
    assert unit_matching(sparse_codes(0), sparse_codes(0)).chance < 0.2


def test_a_used_unit_without_a_partner_counts_as_0() -> None:
    codes = sparse_codes(0)
    found = unit_matching(codes, codes[:, :2])
    assert found.score == pytest.approx(0.5)
    assert found.used == (4, 2)
    assert found.pairs.shape == (2, 2)


def test_unused_units_are_left_out() -> None:
    codes = sparse_codes(0)
    rare = np.zeros((400, 2))
    rare[0, 0] = 7.0  # 0.25 % of the rows
    found = unit_matching(np.hstack([rare, codes]), codes)
    assert found.score == pytest.approx(1.0)
    assert found.used == (4, 4)
    assert found.pairs[:, 0].min() == 2


def test_in_dense_codes_units_that_do_not_vary_are_left_out() -> None:
    codes = np.random.default_rng(0).normal(size=(200, 3)) * [1.0, 1.0, 0.01]
    assert unit_matching(codes, codes).used == (2, 2)


def test_sparse_and_dense_codes_match_alike() -> None:
    one, other = sparse_codes(0), sparse_codes(1) + sparse_codes(0)
    dense, sparse = unit_matching(one, other), unit_matching(sp.csr_array(one), sp.csr_array(other))
    assert dense.score == pytest.approx(sparse.score)
    assert dense.pairs.tolist() == sparse.pairs.tolist()


def test_codes_without_used_units_score_0() -> None:
    found = unit_matching(np.zeros((10, 3)), sparse_codes(0, n=10))
    assert (found.score, found.chance, found.pairs.shape) == (0.0, 0.0, (0, 2))


def test_codes_of_different_rows_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="same rows"):
        unit_matching(np.eye(3), np.eye(4))
