"""Who has what: lists of items and frames of pairs become a matrix; matrices stay what they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from fewhot.core.errors import FewhotError
from fewhot.data.interactions import as_interactions, find_items, of_pairs
from tests.estimators.cases import assert_one_sentence

BOTH = pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
PAIRS: dict[str, list[Any]] = {
    "user": ["eve", "bob", "eve", "eve"],
    "item": [7, 7, 3, 7],
    "weight": [1.0, 2.0, 0.5, 3.0],
}


@BOTH
def test_a_frame_of_pairs(library: Any) -> None:
    found = as_interactions(library.DataFrame(PAIRS))
    assert found is not None
    assert (found.users, found.items) == (["eve", "bob"], [3, 7])  # users as met, items sorted
    assert found.X.toarray().tolist() == [[0.5, 4.0], [0.0, 2.0]]  # pairs given twice are added up


@BOTH
@pytest.mark.parametrize(
    ("columns", "weighted"),
    [
        (["userId", "movieId", "rating", "timestamp"], True),
        (["timestamp", "Item ID", "user_id"], False),
        (["customer", "product"], False),
        (["user", "item", "hours"], True),
        (["user", "item", "when", "hours"], False),  # which of two is the weight is not guessed
        (["user", "item", "date"], False),
    ],
)
def test_columns_are_found_by_their_names(library: Any, columns: list[str], weighted: bool) -> None:
    frame = library.DataFrame({name: [1, 2, 3] for name in columns})
    found = as_interactions(frame)
    assert found is not None
    assert found.X.sum() == (6 if weighted else 3)


@BOTH
def test_columns_are_found_by_what_they_hold(library: Any) -> None:
    found = as_interactions(library.DataFrame({"who": ["a", "b"], "what": ["x", "y"], "how": [2, 3]}))
    assert found is not None
    assert found.X.toarray().tolist() == [[2, 0], [0, 3]]


@BOTH
@pytest.mark.parametrize(
    "frame",
    [
        {"a": [1, 0], "b": [0, 1]},
        {"a": [1, 0], "b": [0, 1], "c": [2.5, 0]},
        {**{f"w{i}": [0, 1] for i in range(10)}, "user": [1, 0], "item": [0, 2]},  # words of documents
    ],
)
def test_frames_of_counts_stay_matrices(library: Any, frame: Any) -> None:
    assert as_interactions(library.DataFrame(frame)) is None


def test_frames_that_could_be_both_are_refused() -> None:
    ids = np.arange(30)
    with pytest.raises(FewhotError, match="look like ids; call them user, item") as caught:
        as_interactions(pd.DataFrame({"a": ids, "b": ids[::-1]}))
    assert_one_sentence(caught.value)


@pytest.mark.parametrize(
    ("lists", "items"),
    [
        ([["b", "a"], ["b"]], ["a", "b"]),
        ([[10, 20], [30]], [10, 20, 30]),
        ([[1, 2], [1, 9]], [1, 2, 9]),  # as long as each other, and beyond the columns that a matrix would have
        (([np.int64(4)], [np.int64(5), np.int64(6)]), [4, 5, 6]),
        ([{"b", "a"}, []], ["a", "b"]),
        (pd.Series([["b"], ["a"]]), ["a", "b"]),
        (pl.Series([["b"], ["a"]]), ["a", "b"]),
        ([np.array(["b"]), np.array(["a", "c"])], ["a", "b", "c"]),
        ([["a", 3], [12]], [3, 12, "a"]),
        ([[]], []),
    ],
)
def test_lists_of_items(lists: Any, items: list[Any]) -> None:
    found = as_interactions(lists)
    assert found is not None
    assert (found.items, found.users) == (items, list(range(len(lists))))


@pytest.mark.parametrize(
    "X",
    [
        [[1, 0, 0], [0, 1, 1]],
        [[0.5, 7.0], [9.0, 8.0]],
        [[5, 5, 7], [7, 7, 9]],
        [[True, False], [False, True]],
        [np.array([1.0, 2.0]), np.array([3.0, 4.0])],
        np.eye(3),
        sp.eye_array(3),
        ["a text", "another"],
        [],
        None,
    ],
    ids=str,
)
def test_what_is_no_list_of_items_is_left_alone(X: Any) -> None:
    assert as_interactions(X) is None


def test_known_items_keep_their_places_and_others_are_counted() -> None:
    found = as_interactions([["a", "z"], ["y", "z", "c"]], known=["c", "a"])
    assert found is not None
    assert found.X.toarray().tolist() == [[0, 1], [1, 0]]
    assert (found.n_unknown, found.unknown) == (2, "z")
    assert as_interactions([[1, 2, 3]], known=[5, 6, 7]) is None  # as long as a row of the matrix
    assert as_interactions([[1, 2]], known=[1, 2, 3]).X.toarray().tolist() == [[1, 1, 0]]  # pyright: ignore


def test_items_are_found_by_what_their_names_look_like() -> None:
    assert find_items([50, "50", "x"], ["50", "7"]) == {50: 0, "50": 0, "x": None}
    assert find_items(["50"], [50]) == {"50": 0}
    assert find_items([1], ["1", 1]) == {1: 1}


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        ((["a", None], ["x", "y"]), "a user of X is missing"),
        ((["a", "b"], ["x", float("nan")]), "an item of X is missing"),
        ((["a", "b"], ["x", 1.5]), "is 1.5; give words or whole numbers"),
        ((["a", "b"], ["x", True]), "is True"),
        ((["a", "b"], ["x", "y"], [1, -1]), "Negative values"),
        ((["a", "b"], ["x", "y"], [1, float("nan")]), "missing or infinite"),
        ((["a", "b"], ["x", "y"], ["1", "much"]), "are not numbers"),
    ],
)
def test_pairs_that_mean_nothing_are_refused(pairs: Any, said: str) -> None:
    with pytest.raises(FewhotError, match=said) as caught:
        of_pairs(*pairs)
    assert_one_sentence(caught.value)


def test_an_empty_frame_is_refused() -> None:
    with pytest.raises(FewhotError, match="has no pairs of a user and an item"):
        as_interactions(pd.DataFrame({"user": [], "item": []}))


def test_whole_numbers_beside_missing_ones_are_whole() -> None:
    found = as_interactions(pd.DataFrame({"user": ["a", "b"], "item": [3.0, 4.0]}))
    assert found is not None
    assert found.items == [3, 4]
