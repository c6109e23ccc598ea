"""WMF against least squares over all pairs, written plainly."""

from __future__ import annotations

import numpy as np
import pytest

from fewhot.baselines import WMF
from fewhot.core.errors import DivergedError
from tests.baselines.cases import histories
from tests.estimators.cases import assert_one_sentence


def slow_factors(R: np.ndarray, others: np.ndarray, a: float, regularisation: float) -> np.ndarray:
    """Return each row's factor as a weighted ridge regression of 0s and 1s on all columns."""
    factors = []
    for row in R:
        root = np.sqrt(1 + a * row)
        left = np.vstack([root[:, None] * others, np.sqrt(regularisation) * np.eye(others.shape[1])])
        right = np.concatenate([root * (row > 0), np.zeros(others.shape[1])])
        factors.append(np.linalg.lstsq(left, right, rcond=None)[0])
    return np.array(factors)


def slow_loss(R: np.ndarray, users: np.ndarray, items: np.ndarray, a: float, regularisation: float) -> float:
    loss = regularisation * ((users**2).sum() + (items**2).sum())
    for u in range(R.shape[0]):
        for i in range(R.shape[1]):
            loss += (1 + a * R[u, i]) * (float(R[u, i] > 0) - users[u] @ items[i]) ** 2
    return float(loss)


@pytest.fixture
def counts() -> np.ndarray:
    """Return histories with values other than 1, and one user without items."""
    R = histories().toarray().astype(np.float64) * np.random.default_rng(1).integers(1, 4, size=(40, 9))
    R[5] = 0
    return R


def test_new_users_are_folded_in_by_least_squares(counts: np.ndarray) -> None:
    model = WMF(4, positive_weight=2.0, regularisation=0.7, random_state=0).fit(counts[:30])
    items = model.item_factors_.astype(np.float64)
    expected = slow_factors(counts[30:], items, 2.0, 0.7) @ items.T
    assert model.score_items(counts[30:]) == pytest.approx(expected, abs=1e-4)


def test_a_sweep_solves_users_and_then_items(counts: np.ndarray) -> None:
    one, two = (WMF(4, positive_weight=2.0, regularisation=0.7, max_iter=n, random_state=0).fit(counts) for n in (3, 4))
    users = slow_factors(counts, one.item_factors_.astype(np.float64), 2.0, 0.7)
    items = slow_factors(counts.T, users, 2.0, 0.7)
    assert two.item_factors_ == pytest.approx(items, abs=1e-4)
    assert two.losses_[-1] == pytest.approx(slow_loss(counts, users, items, 2.0, 0.7), rel=1e-5)


def test_the_objective_falls_in_every_sweep(counts: np.ndarray) -> None:
    losses = WMF(4, regularisation=0.5, max_iter=30, random_state=0).fit(counts).losses_
    assert len(losses) == 30
    assert (np.diff(losses) <= 1e-6 * np.array(losses[1:])).all()
    assert losses[-1] < 0.9 * losses[0]


def test_it_stops_when_the_objective_hardly_falls(counts: np.ndarray) -> None:
    model = WMF(4, regularisation=0.5, max_iter=500, tol=1e-3, random_state=0).fit(counts)
    assert 2 <= model.n_iter_ == len(model.losses_) < 500
    assert model.losses_[-2] - model.losses_[-1] < 1e-3 * model.losses_[-2]


def test_a_user_without_items_scores_nothing(counts: np.ndarray) -> None:
    assert not WMF(4, random_state=0).fit(counts).score_items(counts)[5].any()


def test_more_components_than_items_are_no_obstacle(counts: np.ndarray) -> None:
    assert np.isfinite(WMF(50, random_state=0).fit(counts).score_items(counts)).all()


@pytest.mark.parametrize("scale", [1e8, 1e12, 1e17])
def test_values_too_large_to_solve_for_are_refused(scale: float) -> None:
    X = np.random.default_rng(0).poisson(0.5, (120, 30))
    with pytest.raises(DivergedError) as caught:
        WMF(4, random_state=0).fit(scale * X)
    assert_one_sentence(caught.value)


def test_new_users_with_values_too_large_to_solve_for_are_refused(counts: np.ndarray) -> None:
    model = WMF(4, regularisation=0.1, random_state=0).fit(counts)
    with pytest.raises(DivergedError, match="float32; rescale X"):
        model.recommend(1e17 * counts)


def test_a_loss_that_is_no_longer_finite_is_refused(counts: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WMF, "_loss", lambda *_: float("inf"))
    with pytest.raises(DivergedError, match="no longer finite"):
        WMF(4, random_state=0).fit(counts)
