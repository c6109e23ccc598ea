"""CDAE against a forward pass in numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import papers.tests.baselines.cases  # noqa: F401  (adds the arguments of CDAE)
from fewhot.core.errors import DivergedError
from fewhot.core.seeding import derive_seed, stream
from fewhot_papers.baselines import CDAE
from tests.baselines.cases import histories, recommender

NUMPY_OF = {
    "tanh": np.tanh,
    "sigmoid": lambda h: 1 / (1 + np.exp(-h)),
    "relu": lambda h: np.maximum(h, 0),
    "identity": lambda h: h,
}


def slow_scores(model: CDAE, X: np.ndarray, v: np.ndarray | float = 0.0) -> np.ndarray:
    hidden = NUMPY_OF[model.activation]((X > 0) @ model.encoder_weights_ + model.encoder_bias_ + v)
    return hidden @ model.item_vectors_.T + model.item_bias_


def slow_objective(model: CDAE, X: np.ndarray, v: np.ndarray) -> np.ndarray:
    x, s = (X > 0).astype(float), slow_scores(model, X, v).astype(float)
    loss = np.logaddexp(0, s) - x * s if model.loss == "logistic" else (x - s) ** 2
    weight = np.where(x > 0, model.positive_weight, 1)
    return (weight * loss).sum(axis=1) + model.regularisation / 2 * (v**2).sum(axis=1)


@pytest.mark.parametrize("activation", NUMPY_OF)
@pytest.mark.parametrize("loss", ["logistic", "square"])
def test_scores_are_the_forward_pass(activation: str, loss: str) -> None:
    X = histories()
    model = recommender("CDAE", activation=activation, loss=loss, learning_rate=0.01).fit(X)
    assert model.score_items(X) == pytest.approx(slow_scores(model, X.toarray()), abs=1e-5)


@pytest.mark.parametrize("loss", ["logistic", "square"])
@pytest.mark.parametrize("weight", [1.0, 4.0])
def test_the_loss_falls(loss: str, weight: float) -> None:
    model = recommender("CDAE", loss=loss, positive_weight=weight, learning_rate=0.01, dropout=0.2).fit(histories())
    assert len(model.losses_) == 30
    assert np.mean(model.losses_[-5:]) < 0.95 * np.mean(model.losses_[:5])


@pytest.mark.parametrize("loss", ["logistic", "square"])
def test_the_loss_is_the_objective(loss: str) -> None:
    X = histories()
    slow = recommender("CDAE", loss=loss, positive_weight=3.0, dropout=0.0, max_epochs=1, learning_rate=1e-9).fit(X)
    squares = (slow.encoder_weights_**2).sum() + (slow.item_vectors_**2).sum()
    expected = slow_objective(slow, X.toarray(), slow.user_vectors_).mean() + 0.1 / 2 * squares / 40
    assert slow.losses_[0] == pytest.approx(expected, rel=1e-5)


def test_what_is_not_hidden_is_scaled_up() -> None:
    X = histories().toarray()
    model = recommender("CDAE", dropout=0.4, regularisation=0.0, max_epochs=1, learning_rate=1e-9).fit(X)
    x = X[np.random.default_rng(derive_seed(0, "order")).permutation(40)]
    shown = x * (torch.rand(x.shape, generator=stream(0, "dropout")).numpy() >= 0.4) / 0.6
    scores = np.tanh(shown @ model.encoder_weights_ + model.encoder_bias_) @ model.item_vectors_.T + model.item_bias_
    expected = (np.logaddexp(0, scores) - x * scores).sum(axis=1).mean()
    assert model.losses_[0] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("loss", ["logistic", "square"])
def test_training_begins_from_the_best_scores_for_everyone(loss: str) -> None:
    X = histories()
    model = recommender("CDAE", loss=loss, max_epochs=1, learning_rate=1e-9, positive_weight=2.0).fit(X)
    share = (X.toarray().sum(axis=0) + 0.5) / 41
    scores = 1 / (1 + np.exp(-model.item_bias_)) if loss == "logistic" else model.item_bias_
    assert scores == pytest.approx(2 * share / (1 + share), abs=1e-5)


def test_values_above_0_count_as_1() -> None:
    X = histories()
    model = recommender("CDAE").fit(X)
    many = recommender("CDAE").fit(3 * X)
    assert np.array_equal(many.score_items(X), model.score_items(5 * X))


def test_a_fitted_user_vector_explains_the_history_better() -> None:
    X = histories()
    model = recommender("CDAE", regularisation=0.5).fit(X)
    zero = model.score_items(X)
    fitted = model.set_params(new_users="fit").score_items(X)
    x = X.toarray()

    def losses(s: np.ndarray) -> np.ndarray:
        return (np.logaddexp(0, s) - x * s).sum(axis=1)

    assert (losses(fitted) < losses(zero)).all()


def test_a_fitted_user_vector_is_the_best_there_is() -> None:
    X = histories().toarray()[:3]
    model = recommender("CDAE", regularisation=2.0, activation="identity", loss="square").fit(histories())
    W, base = model.item_vectors_.astype(float), slow_scores(model, X)
    left = 2 * W.T @ W + 2.0 * np.eye(4)
    v = np.linalg.solve(left, 2 * W.T @ (X - base).T).T
    expected = slow_scores(model, X, v)
    assert model.set_params(new_users="fit").score_items(X) == pytest.approx(expected, abs=2e-2)


def test_users_are_fitted_apart() -> None:
    X = histories()
    model = recommender("CDAE", new_users="fit").fit(X)
    assert model.score_items(X)[:3] == pytest.approx(model.score_items(X[:3]), abs=1e-4)


def test_the_callers_random_numbers_are_left_alone() -> None:
    torch.manual_seed(0)
    before = torch.get_rng_state()
    X = histories()
    recommender("CDAE").fit(X).recommend(X)
    assert torch.equal(before, torch.get_rng_state())


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_it_trains_where_gradients_are_switched_off(mode: Any) -> None:
    X = histories()
    with mode():
        model = recommender("CDAE", new_users="fit").fit(X)
        assert np.isfinite(model.score_items(X)).all()


def test_a_loss_that_is_not_finite_ends_the_fit() -> None:
    with pytest.raises(DivergedError, match="lower learning_rate"):
        recommender("CDAE", activation="identity", loss="square", learning_rate=1e30).fit(histories())
