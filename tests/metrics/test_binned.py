"""Bins, and the information in them, against counting by hand."""

from __future__ import annotations

from collections import Counter
from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import mutual_info_score

from fewhot.metrics.binned import binned, entropies, mutual_information


def slow_information(a: list[int], b: list[int]) -> float:
    n = len(a)
    of_a, of_b, of_both = Counter(a), Counter(b), Counter(zip(a, b, strict=True))
    return sum(m / n * log(m * n / (of_a[x] * of_b[y])) for (x, y), m in of_both.items())


whole = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9)), min_size=1, max_size=60)


@settings(deadline=None)
@given(whole)
def test_information_is_that_of_the_counts(pairs: list[tuple[int, int]]) -> None:
    a, b = np.array(pairs).T
    found = mutual_information(a[:, None], b[:, None])[0, 0]
    assert found == pytest.approx(slow_information(a.tolist(), b.tolist()), abs=1e-12)
    assert found == pytest.approx(mutual_info_score(a, b), abs=1e-12)
    assert 0 <= found <= min(entropies(a[:, None])[0], entropies(b[:, None])[0]) + 1e-12


def test_information_of_every_pair_of_columns() -> None:
    rng = np.random.default_rng(0)
    one, other = rng.integers(0, 3, (200, 2)), rng.integers(0, 7, (200, 3))
    expected = [[mutual_info_score(a, b) for b in other.T] for a in one.T]
    np.testing.assert_allclose(mutual_information(one, other), expected, atol=1e-12)


def test_the_entropy_of_equal_shares_is_the_logarithm_of_their_number() -> None:
    assert entropies(np.arange(12)[:, None] % 4)[0] == pytest.approx(log(4))


def test_few_values_are_kept() -> None:
    column = np.array([0.5, -3.0, 0.5, 100.0])
    assert binned(column[:, None], 3).ravel().tolist() == [1, 0, 1, 2]


def test_many_values_fall_into_bins_of_equal_width() -> None:
    column = np.linspace(1, 5, 41)
    np.testing.assert_array_equal(binned(column[:, None], 4).ravel(), 1 + np.minimum((column - 1) // 1, 3))


def test_zero_is_a_bin_of_its_own() -> None:
    column = np.concatenate([np.zeros(10), np.linspace(-1, 1, 50)])
    bins = binned(column[:, None], 5).ravel()
    assert set(bins[:10]) == {0}
    assert set(bins[10:]) == {1, 2, 3, 4, 5}


def test_signs_and_scales_leave_the_bins_apart_as_they_were() -> None:
    column = np.random.default_rng(0).normal(size=(500, 1))
    for factor in (4.0, -0.5):
        assert mutual_information(binned(column), binned(factor * column))[0, 0] == pytest.approx(
            entropies(binned(column))[0]
        )
