"""Recommenders evaluated and compared, user by user."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from fewhot.core.errors import InvalidInputError, InvalidParameterError, InvalidTypeError, UnknownNameError
from fewhot.metrics import evaluate_recommender, ndcg_at, recall_at, top_items


class Fixed:
    """A recommender that says the same of every user."""

    def __init__(self, scores: Any) -> None:
        self.scores = np.asarray(scores, dtype=float)

    def recommend(self, X: Any, n: int, exclude_seen: bool) -> tuple[np.ndarray, np.ndarray]:
        assert exclude_seen
        return top_items(np.tile(self.scores, (X.shape[0], 1)), n, X.toarray() > 0)


RNG = np.random.default_rng(0)
ROLE = RNG.integers(0, 3, size=(30, 8))
ROLE[4] = 0  # a user without held-out items
FOLD_IN, HELD_OUT = sp.csr_array((ROLE == 1).astype(float)), sp.csr_array((ROLE == 2).astype(float))
ONE, OTHER = Fixed(RNG.normal(size=8)), Fixed(RNG.normal(size=8))


def test_the_numbers_are_those_of_the_scores() -> None:
    found = evaluate_recommender(ONE, FOLD_IN, HELD_OUT, recall=(1, 3), ndcg=(5,))
    scores = np.tile(ONE.scores, (30, 1))
    assert list(found.estimates) == ["recall@1", "recall@3", "ndcg@5"]
    assert np.array_equal(found["recall@3"].values, recall_at(scores, HELD_OUT, 3, FOLD_IN).values)
    expected = ndcg_at(scores, HELD_OUT, 5, FOLD_IN)
    assert (found["ndcg@5"].mean, found["ndcg@5"].se) == (expected.mean, expected.se)


def test_users_without_held_out_items_are_left_out_and_counted() -> None:
    found = evaluate_recommender(ONE, FOLD_IN, HELD_OUT)
    without = np.flatnonzero(np.diff(HELD_OUT.indptr) == 0)
    assert 4 in without
    assert found.users.tolist() == [user for user in range(30) if user not in without]
    assert found["ndcg@100"].skipped == len(without)
    assert len(found["ndcg@100"].values) == len(found.users)


def test_differences_are_paired() -> None:
    one, other = (evaluate_recommender(model, FOLD_IN, HELD_OUT) for model in (ONE, OTHER))
    gap = one.minus(other)["ndcg@100"]
    differences = one["ndcg@100"].values - other["ndcg@100"].values
    assert gap.mean == pytest.approx(one["ndcg@100"].mean - other["ndcg@100"].mean)
    assert gap.se == pytest.approx(differences.std(ddof=1) / np.sqrt(len(differences)))
    assert gap.skipped == one["ndcg@100"].skipped
    assert one.minus(one)["recall@20"].mean == 0.0


def test_only_shared_metrics_are_compared() -> None:
    one = evaluate_recommender(ONE, FOLD_IN, HELD_OUT, recall=(1,), ndcg=(3,))
    other = evaluate_recommender(OTHER, FOLD_IN, HELD_OUT, recall=(2,), ndcg=(3,))
    assert list(one.minus(other)) == ["ndcg@3"]


def test_recommenders_without_a_shared_metric_are_not_compared() -> None:
    one = evaluate_recommender(ONE, FOLD_IN, HELD_OUT, recall=(1,), ndcg=())
    other = evaluate_recommender(OTHER, FOLD_IN, HELD_OUT, recall=(2,), ndcg=())
    with pytest.raises(InvalidInputError, match="by recall@1 and the other by recall@2; evaluate both"):
        one.minus(other)


def test_other_users_are_not_compared() -> None:
    one = evaluate_recommender(ONE, FOLD_IN, HELD_OUT)
    with pytest.raises(InvalidInputError, match="use the same for both"):
        one.minus(evaluate_recommender(ONE, FOLD_IN[:20], HELD_OUT[:20]))


def test_an_unknown_metric_is_answered_with_the_known() -> None:
    with pytest.raises(UnknownNameError, match=r"No metric is called 'map'; known are recall@20, recall@50, ndcg@100"):
        evaluate_recommender(ONE, FOLD_IN, HELD_OUT)["map"]


@pytest.mark.parametrize(("arguments", "sentence"), [({"recall": 20}, "recall is 20"), ({"ndcg": [0]}, "each of ndcg")])
def test_lengths_that_make_no_sense_are_refused(arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidParameterError, match=sentence):
        evaluate_recommender(ONE, FOLD_IN, HELD_OUT, **arguments)


def test_nothing_to_measure_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="both empty"):
        evaluate_recommender(ONE, FOLD_IN, HELD_OUT, recall=(), ndcg=())


def test_an_item_that_was_shown_cannot_be_found() -> None:
    with pytest.raises(InvalidInputError, match="both in fold_in and in held_out"):
        evaluate_recommender(ONE, HELD_OUT, HELD_OUT)


def test_other_shapes_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="fold_in and held_out have shapes"):
        evaluate_recommender(ONE, FOLD_IN[:3], HELD_OUT)


def test_a_model_that_recommends_nothing_is_refused() -> None:
    with pytest.raises(InvalidTypeError, match="recommends nothing"):
        evaluate_recommender(object(), np.eye(3), np.eye(3)[::-1])
