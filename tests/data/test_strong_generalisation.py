"""Strong generalisation: who is held out, what of them, and that no order matters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from fewhot.core.errors import InvalidInputError, InvalidParameterError, InvalidTypeError
from fewhot.data import (
    HeldOutUsers,
    StrongGeneralisation,
    hashed_positions,
    open_rows,
    row_keys,
    strong_generalisation,
    write_rows,
)
from fewhot.data.splits import mixed


def matrix(n_users: int = 60, n_items: int = 25, density: float = 0.3, seed: int = 0) -> sp.csr_array:
    rng = np.random.default_rng(seed)
    liked = rng.random((n_users, n_items)) < density
    liked[-1, 0] = True  # someone likes something
    return sp.csr_array(liked.astype(np.float32))


def obvious(X: sp.csr_array, n_validation: int, n_test: int, share: float, seed: int) -> dict[str, Any]:
    """Split user by user and item by item, with sets."""
    keys = row_keys(X)

    def position(key: np.ndarray, name: str) -> float:
        return float(hashed_positions(np.array([key], dtype=np.uint64), f"{seed}/{name}")[0])

    everyone = list(range(X.shape[0]))
    test = sorted(everyone, key=lambda user: position(keys[user], "test users"))[:n_test]
    others = [user for user in everyone if user not in test]
    validation = sorted(others, key=lambda user: position(keys[user], "validation users"))[:n_validation]
    train = [user for user in others if user not in validation]
    liked = [set(np.flatnonzero(X[[user]].toarray()[0]).tolist()) for user in everyone]
    kept = set().union(*(liked[user] for user in train))
    out = {}
    for user in [*validation, *test]:
        items = liked[user] & kept
        start = mixed(keys[[user]])
        ranked = sorted(items, key=lambda item: position((start + np.uint64(item))[0], "items"))
        n_out = max(1, int(share * len(items) + 1e-9)) if len(items) > 1 else 0
        out[user] = (items - set(ranked[:n_out]), set(ranked[:n_out]))
    return {"train": train, "validation": sorted(validation), "test": sorted(test), "items": sorted(kept), "out": out}


@given(
    st.integers(0, 1000),
    st.integers(0, 12),
    st.integers(0, 12),
    st.sampled_from([0.2, 0.5]),
    st.sampled_from([0.03, 0.2, 0.6]),
)
def test_the_split_is_that_of_the_obvious_way(
    seed: int, n_valid: int, n_test: int, share: float, density: float
) -> None:
    X = matrix(30, 12, density, seed)
    expected = obvious(X, n_valid, n_test, share, seed)
    split = strong_generalisation(X, n_validation=n_valid, n_test=n_test, held_out=share, random_state=seed)
    assert split.train_users.tolist() == expected["train"]
    assert split.items.tolist() == expected["items"]
    np.testing.assert_array_equal(split.train.toarray(), X.toarray()[np.ix_(expected["train"], expected["items"])])
    for name in ("validation", "test"):
        part: HeldOutUsers = getattr(split, name)
        assert part.users.tolist() == expected[name]
        for row, user in enumerate(part.users.tolist()):
            assert (_items(split, part.fold_in, row), _items(split, part.held_out, row)) == expected["out"][user]


def _items(split: StrongGeneralisation, rows: Any, row: int) -> set[int]:
    return set(split.items[rows[[row]].indices].tolist())


def _by_user(split: StrongGeneralisation, part: HeldOutUsers, names: np.ndarray) -> dict[int, Any]:
    return {
        int(names[user]): (_items(split, part.fold_in, row), _items(split, part.held_out, row))
        for row, user in enumerate(part.users)
    }


@pytest.mark.parametrize("given_users", [False, True], ids=["by content", "by name"])
def test_the_order_of_users_does_not_matter(given_users: bool) -> None:
    X = matrix()
    names = np.arange(60) + 1000
    order = np.random.default_rng(1).permutation(60)
    split = strong_generalisation(X, n_validation=9, n_test=11, users=names if given_users else None)
    turned = strong_generalisation(X[order], n_validation=9, n_test=11, users=names[order] if given_users else None)
    for part in ("validation", "test"):
        one, other = (_by_user(s, getattr(s, part), n) for s, n in ((split, names), (turned, names[order])))
        assert one == other
    np.testing.assert_array_equal(split.items, turned.items)


def test_every_user_and_every_kept_item_is_in_one_place() -> None:
    X = matrix()
    split = strong_generalisation(X, n_validation=9, n_test=11)
    together = np.concatenate([split.train_users, split.validation.users, split.test.users])
    assert sorted(together.tolist()) == list(range(60))
    for part in (split.validation, split.test):
        np.testing.assert_array_equal(
            part.fold_in.toarray() + part.held_out.toarray(), X[part.users][:, split.items].toarray()
        )


def test_a_fifth_is_held_out() -> None:
    split = strong_generalisation(np.ones((10, 20)), n_validation=2, n_test=3)
    assert split.test.held_out.sum(axis=1).tolist() == [4] * 3
    assert split.validation.fold_in.sum(axis=1).tolist() == [16] * 2


def test_a_single_item_is_folded_in_and_its_user_stays() -> None:
    split = strong_generalisation(np.ones((10, 1)), n_validation=2, n_test=3)
    assert (split.test.fold_in.nnz, split.test.held_out.nnz, split.test.held_out.shape) == (3, 0, (3, 1))


def test_items_without_a_training_user_are_left_out() -> None:
    X = np.eye(10)
    split = strong_generalisation(X, n_validation=2, n_test=3)
    assert split.items.tolist() == split.train_users.tolist()
    assert (split.test.fold_in.nnz, split.test.fold_in.shape) == (0, (3, 5))


def test_rows_on_disk_and_half_precision_are_split_alike(tmp_path: Path) -> None:
    X = matrix()
    write_rows(tmp_path / "rows", X)
    expected = strong_generalisation(X, n_validation=5, n_test=9)
    for same in (open_rows(tmp_path / "rows"), X.toarray().astype(np.float16)):
        split = strong_generalisation(same, n_validation=5, n_test=9)
        np.testing.assert_array_equal(split.train.toarray(), expected.train.toarray())
        np.testing.assert_array_equal(split.test.held_out.toarray(), expected.test.held_out.toarray())


def test_users_may_be_named_in_mixed_ways() -> None:
    names = np.array([*range(30), *(f"user {i}" for i in range(30))], dtype=object)
    split = strong_generalisation(matrix(), n_validation=5, n_test=9, users=names)
    assert len(split.train_users) == 46


def test_other_seeds_hold_out_others() -> None:
    X = matrix(400, 30)
    splits = [strong_generalisation(X, n_validation=50, n_test=100, random_state=seed) for seed in (0, 1)]
    both = len(set(splits[0].test.users.tolist()) & set(splits[1].test.users.tolist()))
    assert abs(both - 25) < 4 * np.sqrt(400 * (1 / 16) * (15 / 16))
    assert [split.seed for split in splits] == [0, 1]


def test_every_item_is_held_out_as_often_as_others() -> None:
    split = strong_generalisation(np.ones((5000, 10)), n_validation=0, n_test=4000, users=np.arange(5000))
    counts = split.test.held_out.sum(axis=0)
    assert counts.sum() == 8000
    assert np.abs(counts - 800).max() < 4.5 * np.sqrt(4000 * 0.2 * 0.8)


def test_values_are_kept_and_the_callers_matrix_too() -> None:
    X = matrix() * 3
    X.data[0] = 0
    before = X.copy()
    split = strong_generalisation(X, n_validation=5, n_test=5)
    assert set(split.train.data.tolist()) == {3.0}
    assert X.nnz == before.nnz


@pytest.mark.parametrize(
    ("wrong", "error", "words"),
    [
        ({"n_test": 61}, InvalidParameterError, "n_test is 61, and there are 60 rows to take them from; ask for fewer"),
        ({"n_validation": 60}, InvalidParameterError, "n_validation is 60, and there are 50 rows"),
        ({"n_validation": 50}, InvalidParameterError, "which leaves none of 60 users to train on; ask for fewer"),
        ({"n_test": -1}, InvalidParameterError, "n_test is -1; it must be a whole number of at least 0"),
        ({"held_out": 0}, InvalidParameterError, "held_out is 0; it must be a number above 0 and at most 1"),
        ({"users": [1, 2]}, InvalidParameterError, r"users has shape \(2,\) for 60 rows; give one a row"),
        ({"users": [1] * 60}, InvalidParameterError, "users has the same user twice"),
        ({"users": [None, *range(59)]}, InvalidParameterError, "users has missing values"),
        ({"users": [np.nan, *range(59)]}, InvalidParameterError, "users has missing values"),
        ({"X": pd.DataFrame({"a": ["x", "y"]})}, InvalidTypeError, "columns that are not plain numbers: 'a' "),
        ({"X": np.ones((60, 2)) * 1j}, InvalidInputError, "X holds complex numbers"),
        ({"X": np.ones(60)}, InvalidInputError, r"X has shape \(60,\); give a matrix"),
        (
            {"X": "ratings.csv"},
            InvalidTypeError,
            "X is of type str, which is not recognised; accepted are numpy arrays",
        ),
        ({"X": np.zeros((3, 3))}, InvalidInputError, "nothing but zeros; give users with items"),
    ],
)
def test_what_cannot_be_split_is_refused(wrong: dict[str, Any], error: type[Exception], words: str) -> None:
    given: dict[str, Any] = {"X": matrix(), "n_validation": 5, "n_test": 10, **wrong}
    with pytest.raises(error, match=words):
        strong_generalisation(given.pop("X"), **given)


@pytest.mark.parametrize("value", [np.nan, np.inf, -1.0])
def test_what_says_nothing_of_a_user_is_refused(value: float) -> None:
    X = np.ones((10, 4))
    X[3, 2] = value
    with pytest.raises(InvalidInputError, match="negative"):
        strong_generalisation(X, n_validation=2, n_test=2)
