"""The verbs of recommenders on the smallest estimator that can have them."""

from __future__ import annotations

import tracemalloc
from typing import Any, Self

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from fewhot.core.errors import InvalidParameterError
from fewhot.estimators.recommending import RecommenderMixin, SimilarItemsMixin
from fewhot.estimators.validation import Histories, interactions_of
from fewhot.metrics import evaluate_recommender


class Neighbour(SimilarItemsMixin, RecommenderMixin, BaseEstimator):
    """Scores an item by whether the user has the one before it."""

    def fit(self, X: Any, y: Any = None) -> Self:
        self.width_ = interactions_of(self, X, fitting=True).shape[1]
        return self

    def _score_rows(self, rows: Histories) -> np.ndarray:
        return np.roll(rows.toarray(), 1, axis=1)


class Mute(RecommenderMixin, BaseEstimator):
    def fit(self, X: Any, y: Any = None) -> Self:
        self.width_ = interactions_of(self, X, fitting=True).shape[1]
        return self


def test_one_method_is_enough() -> None:
    X = np.array([[0, 1, 0, 0], [1, 0, 0, 1]])
    model = Neighbour().fit(X)
    ids, scores = model.recommend(X, n=2)
    assert ids.tolist() == [[2, 0], [1, 2]]
    assert scores.tolist() == [[1.0, 0.0], [1.0, 0.0]]
    found = evaluate_recommender(model, X, np.array([[0, 0, 1, 0], [0, 1, 0, 0]]), recall=(1,))
    assert found["recall@1"].mean == 1.0


def test_without_the_method_the_class_is_named() -> None:
    with pytest.raises(TypeError, match="Mute does not say its scores; define _score_rows"):
        Mute().fit(np.eye(3)).recommend(np.eye(3))
    with pytest.raises(TypeError, match="define _similarity"):
        Neighbour().fit(np.eye(3)).similar_items(0)


@pytest.mark.parametrize("value", [1, "yes", None])
def test_exclude_seen_is_yes_or_no(value: Any) -> None:
    with pytest.raises(InvalidParameterError, match="exclude_seen is"):
        Neighbour().fit(np.eye(3)).recommend(np.eye(3), exclude_seen=value)


def test_users_and_items_are_never_dense_at_once() -> None:
    n_users, n_items = 40_000, 2_000
    columns = np.random.default_rng(0).integers(n_items, size=n_users)
    X = sp.csr_array((np.ones(n_users, dtype=np.float32), columns, np.arange(n_users + 1)), shape=(n_users, n_items))
    model = Neighbour().fit(X)
    tracemalloc.start()
    ids, _ = model.recommend(X, n=1)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (ids[:, 0] == (columns + 1) % n_items).all()
    assert peak < 4 * n_users * n_items / 2
