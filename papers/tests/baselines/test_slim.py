"""SLIM against scikit-learn's elastic net, column by column."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import ElasticNet

from fewhot_papers.baselines import SLIM, slim
from tests.baselines.cases import histories


def exact(l1: float, l2: float) -> SLIM:
    return SLIM(l1, l2, max_iter=5000, tol=1e-6)


def slow_weights(X: np.ndarray, l1: float, l2: float) -> np.ndarray:
    n_rows, n_items = X.shape
    W = np.zeros((n_items, n_items))
    for j in range(n_items):
        others = np.delete(X, j, axis=1)
        net = ElasticNet(
            alpha=(l1 + l2) / n_rows,
            l1_ratio=l1 / (l1 + l2),
            positive=True,
            fit_intercept=False,
            tol=1e-10,
            max_iter=100_000,
        )
        W[np.arange(n_items) != j, j] = net.fit(others, X[:, j]).coef_
    return W


@pytest.mark.parametrize(("l1", "l2"), [(0.5, 0.5), (2.0, 1.0), (0.1, 20.0)])
@pytest.mark.parametrize("block", [1, 4, 64])
def test_it_is_the_elastic_net_of_every_column(
    l1: float, l2: float, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slim, "_BLOCK", block)
    X = histories(n_users=60, n_items=11)
    found = exact(l1, l2).fit(X)
    expected = slow_weights(X.toarray().astype(np.float64), l1, l2)
    assert found.item_weights_.toarray() == pytest.approx(expected, abs=2e-5)
    assert found.score_items(X) == pytest.approx(X @ expected, abs=1e-3)


def test_weights_are_sparse_not_negative_and_never_of_an_item_on_itself() -> None:
    weights = exact(3.0, 1.0).fit(histories(n_users=200, n_items=20)).item_weights_
    assert weights.nnz < 20 * 19
    assert (weights.data > 0).all()
    assert not weights.diagonal().any()


def test_a_large_penalty_leaves_no_weight() -> None:
    X = histories()
    model = exact(1e4, 1.0).fit(X)
    assert model.item_weights_.nnz == 0
    assert not model.score_items(X).any()
    assert model.n_iter_ == 1


def test_the_optimality_conditions_hold() -> None:
    X = histories(n_users=200, n_items=20)
    W = exact(3.0, 5.0).fit(X).item_weights_.toarray().astype(np.float64)
    G = (X.T @ X).toarray().astype(np.float64)
    gradient = G @ W - G + 5.0 * W + 3.0
    off = ~np.eye(20, dtype=bool)
    assert np.abs(gradient[off & (W > 0)]).max() < 1e-2
    assert gradient[off & (W == 0)].min() > -1e-2


def test_items_without_a_penalty_that_nobody_has_get_no_weight() -> None:
    X = histories().toarray()
    X[:, 2] = 0
    weights = SLIM(0.1, 0.0, max_iter=5000).fit(X).item_weights_.toarray()
    assert not weights[2].any()
    assert not weights[:, 2].any()


def test_too_few_sweeps_are_told() -> None:
    with pytest.warns(ConvergenceWarning, match="made 1 sweeps and the weights of 9 items still move; raise max_iter"):
        SLIM(0.1, 0.1, max_iter=1).fit(histories())
