"""Ranking against slow, obvious versions."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from fewhot.core.errors import InvalidInputError, InvalidParameterError
from fewhot.metrics import ndcg_at, ndcg_of, ranking, recall_at, recall_of, top_items


def slow_ranking(scores: list[float], seen: list[int], n: int) -> list[int]:
    items = [item for item in range(len(scores)) if item not in seen]
    return sorted(items, key=lambda item: (-scores[item], item))[:n]


def slow_recall(scores: list[float], wanted: list[int], seen: list[int], n: int) -> float:
    return len(set(slow_ranking(scores, seen, n)) & set(wanted)) / min(n, len(wanted))


def slow_ndcg(scores: list[float], wanted: list[int], seen: list[int], n: int) -> float:
    ranking = slow_ranking(scores, seen, n)
    gain = sum(1 / math.log2(rank + 2) for rank, item in enumerate(ranking) if item in wanted)
    return gain / sum(1 / math.log2(rank + 2) for rank in range(min(n, len(wanted))))


def test_ndcg_of_hits_at_ranks_1_and_3() -> None:
    assert ndcg_at([[4.0, 3.0, 2.0, 1.0]], [[1, 0, 1, 0]], n=3).mean == pytest.approx(0.919720789, abs=1e-9)


@settings(deadline=None)
@given(seed=st.integers(0, 10_000), n=st.integers(1, 12), tied=st.booleans())
def test_ranking_agrees_with_slow_versions(seed: int, n: int, tied: bool) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 3, size=(5, 9)).astype(float) if tied else rng.normal(size=(5, 9))
    role = rng.integers(0, 3, size=(5, 9))
    role[:, 0] = 1  # every user has something to find
    wanted, seen = role == 1, role == 2
    for fast, slow in ((recall_at, slow_recall), (ndcg_at, slow_ndcg)):
        expected = [
            slow(list(scores[u]), list(np.flatnonzero(wanted[u])), list(np.flatnonzero(seen[u])), n) for u in range(5)
        ]
        assert fast(scores, wanted, n, fold_in=seen).values == pytest.approx(expected)
        assert fast(scores, sp.csr_array(wanted), n, fold_in=sp.csr_array(seen)).values == pytest.approx(expected)


def test_fold_in_items_are_never_ranked() -> None:
    scores, wanted, seen = [[9.0, 5.0, 1.0]], [[0, 1, 0]], [[1, 0, 0]]
    assert recall_at(scores, wanted, n=1).mean == 0.0
    assert recall_at(scores, wanted, n=1, fold_in=seen).mean == 1.0


def test_users_without_held_out_items_are_skipped() -> None:
    scores, wanted = np.ones((3, 4)), np.array([[1, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1]])
    for metric in (recall_at, ndcg_at):
        found = metric(scores, wanted, n=4)
        assert found.skipped == 1
        assert len(found.values) == 2
        assert np.isfinite(found.mean)


def test_a_user_with_fewer_held_out_items_than_places_can_reach_1() -> None:
    assert recall_at([[3.0, 2.0, 1.0]], [[1, 0, 0]], n=3).mean == 1.0
    assert ndcg_at([[3.0, 2.0, 1.0]], [[1, 0, 0]], n=3).mean == 1.0


def test_a_longer_list_than_there_are_items() -> None:
    assert recall_at([[1.0, 2.0]], [[1, 1]], n=50).mean == 1.0


def test_a_stored_zero_is_no_item() -> None:
    wanted = sp.csr_array(np.array([[1.0, 1.0, 0.0]]))
    wanted.data[0] = 0.0
    assert recall_at([[3.0, 2.0, 1.0]], wanted, n=1).mean == 0.0


def test_an_item_both_shown_and_held_out_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="User 0 has an item both"):
        recall_at([[1.0, 2.0]], [[1, 0]], n=1, fold_in=[[1, 0]])


def test_scores_without_a_rank_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="NaN"):
        recall_at([[np.nan, 2.0]], [[1, 0]], n=1)


def test_a_list_of_no_length_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="n is 0"):
        ndcg_at([[1.0]], [[1]], n=0)


@settings(deadline=None)
@given(seed=st.integers(0, 10_000), n=st.integers(1, 12), tied=st.booleans())
def test_lists_that_are_already_made_give_the_same_numbers(seed: int, n: int, tied: bool) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 3, size=(5, 9)).astype(float) if tied else rng.normal(size=(5, 9))
    role = rng.integers(0, 3, size=(5, 9))
    wanted, seen = role == 1, role == 2
    ids, values = top_items(scores, n, excluded=seen)
    for user in range(5):
        ranking = slow_ranking(list(scores[user]), list(np.flatnonzero(seen[user])), n)
        assert ids[user].tolist() == (ranking + [-1] * n)[:n]
        assert values[user].tolist() == ([scores[user, item] for item in ranking] + [-np.inf] * n)[:n]
    for of_scores, of_lists in ((recall_at, recall_of), (ndcg_at, ndcg_of)):
        expected = of_scores(scores, wanted, n, fold_in=seen)
        for held_out in (wanted, sp.csr_array(wanted)):
            found = of_lists(ids, held_out, n)
            assert np.array_equal(found.values, expected.values)
            assert found.skipped == expected.skipped


@settings(deadline=None)
@given(seed=st.integers(0, 10_000), n=st.integers(1, 9))
def test_metrics_are_between_0_and_1_and_blind_to_a_rising_function(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    scores, wanted = rng.normal(size=(4, 9)), rng.random((4, 9)) < 0.4
    for metric in (recall_at, ndcg_at):
        values = metric(scores, wanted, n).values
        assert ((values >= 0) & (values <= 1 + 1e-12)).all()
        assert np.array_equal(values, metric(np.exp(scores), wanted, n).values)
        assert metric(wanted.astype(float), wanted, n).values == pytest.approx(1.0)


def test_a_score_of_minus_infinity_is_still_before_what_is_excluded() -> None:
    ids, scores = top_items([[-np.inf, 5.0, -np.inf]], n=3, excluded=np.array([[False, True, False]]))
    assert ids.tolist() == [[0, 2, -1]]
    assert np.isneginf(scores).all()


def test_chunks_leave_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    scores, wanted = rng.normal(size=(20, 9)), rng.random((20, 9)) < 0.3
    whole = ndcg_at(scores, wanted, n=4).values
    monkeypatch.setattr(ranking, "_CHUNK_ELEMENTS", 20)
    assert np.array_equal(whole, ndcg_at(scores, wanted, n=4).values)


def test_a_later_user_whose_item_was_shown_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranking, "_CHUNK_ELEMENTS", 4)
    marks = np.zeros((9, 2))
    seen = marks.copy()
    marks[7, 1] = seen[7, 1] = 1
    with pytest.raises(InvalidInputError, match="User 7 has an item both"):
        recall_at(np.ones((9, 2)), marks, n=1, fold_in=seen)


@pytest.mark.parametrize(
    ("ids", "sentence"),
    [
        ([[0, 3]], "ids run from 0 to 3; give columns of held_out, 0 to 2"),
        ([[-2, 0]], "ids run from -2"),
        ([[1, 1]], "lists an item twice"),
        ([[0]], "whole numbers of shape .* for 1 users and n=2"),
        ([[0, 1], [0, 1]], "for 1 users"),
        ([[0.0, 1.0]], "ids is float64"),
        ([0, 1], "of shape"),
    ],
)
def test_lists_that_make_no_sense_are_refused(ids: list, sentence: str) -> None:
    with pytest.raises(InvalidInputError, match=sentence):
        recall_of(ids, [[1, 0, 1]], n=2)


def test_a_list_may_end_early() -> None:
    assert recall_of([[0, -1, -1]], [[1, 0, 1]], n=3).mean == 0.5
