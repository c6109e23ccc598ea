"""Splits decided by a hash."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
import scipy.sparse as sp

from fewhot.core.errors import InvalidParameterError
from fewhot.data import SPLITS, hashed_positions, row_keys, split_rows

N = 20_000
MASK = (1 << 64) - 1


def mix(word: int) -> int:
    """SplitMix64 in Python's own integers, as published."""
    word = (word + 0x9E3779B97F4A7C15) & MASK
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & MASK
    return word ^ (word >> 31)


@pytest.mark.parametrize("name", ["test", "validation", "größe"])
def test_the_hash_is_the_documented_one(name: str) -> None:
    salt = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little")
    expected = [(mix((mix(i) + salt) & MASK) >> 11) / 2**53 for i in range(100)]
    assert hashed_positions(100, name).tolist() == expected


def test_the_first_output_of_splitmix_is_the_published_one() -> None:
    assert mix(0) == 0xE220A8397B1DCDAF


def test_membership_never_changes() -> None:
    assert split_rows(30, "test").tolist() == [3, 6, 8, 9, 12, 13, 15, 25]
    assert split_rows(30, "validation").tolist() == [7, 11, 19]


def test_rows_at_the_end_move_none_of_the_earlier_ones() -> None:
    for split in SPLITS:
        longer = split_rows(N, split)
        np.testing.assert_array_equal(longer[longer < 500], split_rows(500, split))


def test_the_names_relate_as_documented() -> None:
    rows = {split: set(split_rows(N, split).tolist()) for split in SPLITS}
    assert rows["all"] == set(range(N))
    assert rows["train"] | rows["test"] == rows["all"]
    assert not rows["train"] & rows["test"]
    assert rows["validation"] < rows["train"]
    assert rows["fit"] == rows["train"] - rows["validation"]


def test_the_shares_are_as_documented() -> None:
    for split, share in {"test": 0.2, "validation": 0.08, "train": 0.8}.items():
        standard_error = np.sqrt(share * (1 - share) / N)
        assert abs(len(split_rows(N, split)) / N - share) < 4 * standard_error


def test_positions_are_uniform_and_names_independent() -> None:
    test, validation = hashed_positions(N, "test"), hashed_positions(N, "validation")
    assert abs(np.corrcoef(test, validation)[0, 1]) < 4 / np.sqrt(N)
    assert np.histogram(test, bins=10, range=(0, 1))[0].std() < 3 * np.sqrt(N * 0.1 * 0.9)


def test_equal_rows_fall_together_wherever_they_stand() -> None:
    X = np.random.default_rng(0).integers(0, 2, (500, 4)).astype(np.float32)
    test = set(split_rows(row_keys(X), "test").tolist())
    sides = {tuple(row): i in test for i, row in enumerate(X.tolist())}
    assert all(sides[tuple(row)] == (i in test) for i, row in enumerate(X.tolist()))
    assert set(sides.values()) == {True, False}


def test_keys_follow_the_rows_of_any_order_and_type() -> None:
    X = np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32)
    keys = row_keys(X)
    assert len(set(keys.tolist())) == 20
    np.testing.assert_array_equal(row_keys(X[::-1]), keys[::-1])
    np.testing.assert_array_equal(row_keys(X.astype(np.float64)), keys)


def test_keys_of_sparse_rows_see_values_and_not_their_storage() -> None:
    plain = sp.csr_array(np.array([[0.0, 1.0], [2.0, 0.0], [0.0, 1.0]]))
    stored = sp.csr_array(([0.0, 1.0, 2.0, 1.0], ([0, 0, 1, 2], [0, 1, 0, 1])), shape=(3, 2))
    keys = row_keys(plain)
    np.testing.assert_array_equal(row_keys(stored), keys)
    assert keys[0] == keys[2] != keys[1]


def test_a_split_of_so_many_rows_has_those_with_the_smallest_hashes() -> None:
    test = split_rows(N, "test", n_test=100)
    np.testing.assert_array_equal(test, np.sort(np.argsort(hashed_positions(N, "test"))[:100]))
    rows = {split: set(split_rows(N, split, n_test=100, n_validation=30).tolist()) for split in SPLITS}
    assert {split: len(found) for split, found in rows.items()} == {
        **{"train": N - 100, "validation": 30, "fit": N - 130},
        **{"test": 100, "all": N},
    }
    assert rows["fit"] | rows["validation"] == rows["train"] == rows["all"] - rows["test"]


def test_more_rows_than_there_are_is_refused() -> None:
    with pytest.raises(
        InvalidParameterError, match="n_test is 11, and there are 10 rows to take them from; ask for fewer"
    ):
        split_rows(10, "train", n_test=11)
    with pytest.raises(InvalidParameterError, match="n_validation is 5, and there are 4 rows to take them from"):
        split_rows(10, "train", n_test=6, n_validation=5)


def test_an_unknown_split_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="split is 'dev'"):
        split_rows(10, "dev")
