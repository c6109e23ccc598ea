"""Logistic, softmax and sparsemax heads against slow versions, and what they promise as classifiers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score

import fewhot as fh
from fewhot.baselines import LabelHead
from fewhot.baselines.label_head import HEADS
from fewhot.core.errors import DivergedError, FewhotError, InvalidParameterError
from fewhot.metrics import micro_f1
from tests.estimators.cases import assert_one_sentence

every = pytest.mark.parametrize("head", list(HEADS))


def rows(n: int = 300, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(seed).normal(size=(n, 8)) * np.arange(1, 9) + 3.0
    return X, (X[:, :4] > np.array([3.5, 4.0, 4.5, 5.0])).astype(int)


def small(head: str, **changes: Any) -> LabelHead:
    return LabelHead(head, **({"max_steps": 300, "learning_rate": 1e-2, "random_state": 0} | changes))


def projected(scores: np.ndarray) -> np.ndarray:
    """Return the point of the simplex nearest to the scores, by a search."""
    start = np.full(len(scores), 1 / len(scores))
    found = minimize(
        lambda p: ((p - scores) ** 2).sum(),
        start,
        bounds=[(0, 1)] * len(scores),
        constraints={"type": "eq", "fun": lambda p: p.sum() - 1},
        options={"ftol": 1e-14},
    )
    return found.x


def test_sparsemax_is_the_nearest_point_of_the_simplex_and_its_loss_as_published() -> None:
    scores = np.random.default_rng(0).normal(size=(6, 5))
    y = (np.random.default_rng(1).random((6, 5)) < 0.5).astype(float)
    y[:, 0] = 1
    t, p = y / y.sum(axis=1, keepdims=True), np.stack([projected(row) for row in scores])
    tensors = torch.from_numpy(scores).requires_grad_(), torch.from_numpy(y)
    np.testing.assert_allclose(HEADS["sparsemax"].probabilities(tensors[0]).detach(), p, atol=1e-5)
    loss = HEADS["sparsemax"].loss(*tensors, 0.0)
    expected = ((t - scores) ** 2).sum(axis=1) / 2 - ((p - scores) ** 2).sum(axis=1) / 2
    np.testing.assert_allclose(loss.detach(), expected, atol=1e-5)
    loss.sum().backward()
    np.testing.assert_allclose(tensors[0].grad, p - t, atol=1e-5)


@pytest.mark.parametrize("head", ["softmax", "sparsemax"])
def test_a_row_without_labels_teaches_shares_nothing(head: str) -> None:
    scores = torch.randn(3, 4, generator=torch.Generator().manual_seed(0)).requires_grad_()
    HEADS[head].loss(scores, torch.zeros(3, 4), 0.1).sum().backward()
    assert scores.grad is not None
    assert not scores.grad.any()


def test_without_hidden_layers_it_is_logistic_regression() -> None:
    X, Y = rows()
    head = small("logistic", hidden_layer_sizes=(), max_steps=4000, batch_size=300).fit(X, Y)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    noisy = np.random.default_rng(2).random(len(X)) < expit(Z[:, 0])
    head.fit(X, noisy[:, None].astype(int))
    plain = LogisticRegression(C=np.inf, max_iter=1000).fit(Z, noisy)
    np.testing.assert_allclose(head.predict_proba(X)[:, 0], plain.predict_proba(Z)[:, 1], atol=0.01)


def test_smoothed_labels_keep_probabilities_from_the_ends() -> None:
    easy = np.repeat(np.eye(4, dtype=np.float32), 50, axis=0)
    for head, least, most in (("logistic", 0.1, 0.9), ("softmax", 0.025, 0.925), ("sparsemax", 0.025, 0.925)):
        p = small(head, max_steps=1000, learning_rate=1e-2, label_smoothing=0.1).fit(easy, easy).predict_proba(easy)
        np.testing.assert_allclose(p[easy == 0], least, atol=0.02)
        np.testing.assert_allclose(p[easy == 1], most, atol=0.02)


@every
def test_it_learns_labels(head: str) -> None:
    X, Y = rows(600)
    X, Y = X[Y.any(axis=1)], Y[Y.any(axis=1)]
    model = small(head, threshold="cv", n_folds=2).fit(X[:300], Y[:300])
    assert micro_f1(Y[300:], model.predict(X[300:])) > 0.85
    assert model.predict_proba(X).shape == model.decision_function(X).shape == Y.shape
    if head != "logistic":
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1, rtol=1e-5)


@every
def test_it_is_saved_cloned_and_the_same_again(head: str, tmp_path: Path) -> None:
    X, Y = rows()
    model = small(head, max_steps=30, dropout=0.2, hidden_dropout=0.2, label_smoothing=0.1, weight_decay=0.1).fit(X, Y)
    model.save(tmp_path / "run")
    for again in (fh.load(tmp_path / "run"), clone(model).fit(X, Y)):
        assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
        assert again.threshold_ == model.threshold_
    assert not np.array_equal(small(head, max_steps=30, random_state=1).fit(X, Y).weights_, model.weights_)


def test_sparse_rows_are_not_centred_and_dense_ones_are() -> None:
    X, Y = rows()
    X[np.random.default_rng(0).random(X.shape) < 0.5] = 0
    model = small("logistic", max_steps=20).fit(sp.csr_array(X), Y)
    assert not model.mean_.any()
    np.testing.assert_allclose(model.predict_proba(sp.csr_matrix(X)), model.predict_proba(X), rtol=1e-5)
    assert small("logistic", max_steps=2).fit(X, Y).mean_.any()
    taken = small("logistic", max_steps=2, features="as-is").fit(X, Y)
    assert not taken.mean_.any()
    assert (taken.scale_ == 1).all()


@every
def test_it_goes_through_scikit_learns_tools(head: str) -> None:
    X, Y = rows(90)
    scores = cross_val_score(small(head, max_steps=20, threshold=0.3), X, Y, cv=3, scoring="f1_micro")
    assert np.isfinite(scores).all()


BAD: list[dict[str, Any]] = [
    {"head": "sigmoid"},
    {"hidden_layer_sizes": "100"},
    {"hidden_layer_sizes": (0,)},
    {"dropout": 1.0},
    {"weight_decay": -1},
    {"max_steps": 0},
    {"batch_size": 2.5},
    {"learning_rate": 0},
    {"learning_rate": 1e38},
    {"learning_rate": 1e30, "weight_decay": 1e10},
    {"threshold": 2},
    {"threshold": "best"},
    {"threshold_average": "samples"},
    {"n_folds": 1},
]


@pytest.mark.parametrize("argument", BAD)
def test_arguments_out_of_range_are_refused(argument: dict[str, Any]) -> None:
    X, Y = rows(20)
    with pytest.raises(InvalidParameterError) as caught:
        LabelHead(**argument).fit(X, Y)
    assert_one_sentence(caught.value)


@pytest.mark.parametrize("labels", [None, np.ones(20), np.full((20, 2), 2), np.full((20, 2), 0.5), np.ones((19, 2))])
def test_other_labels_are_refused(labels: Any) -> None:
    with pytest.raises(FewhotError) as caught:
        LabelHead().fit(rows(20)[0], labels)
    assert_one_sentence(caught.value)


def test_a_fit_that_fails_leaves_the_model_as_it_was() -> None:
    X, Y = rows(40)
    model = small("logistic", max_steps=5).fit(X, Y)
    before = model.predict_proba(X)
    with pytest.raises(DivergedError):
        model.set_params(learning_rate=1e30, max_steps=50).fit(X, Y)
    assert np.array_equal(model.predict_proba(X), before)


def test_nothing_is_predicted_before_a_fit() -> None:
    with pytest.raises(NotFittedError):
        LabelHead().predict(rows(5)[0])


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "entmax", None)
    with pytest.raises(FewhotError, match=r"needs the package entmax: pip install 'fewhot\[labels\]'") as caught:
        LabelHead("sparsemax").fit(*rows(20))
    assert_one_sentence(caught.value)


def test_a_fitted_head_stays_what_it_is() -> None:
    X, Y = rows()
    model = LabelHead(max_steps=20, random_state=0).fit(X, Y)
    before = model.predict_proba(X)
    model.set_params(head="softmax", hidden_layer_sizes=(5,))
    np.testing.assert_array_equal(model.predict_proba(X), before)


@pytest.mark.parametrize("form", [lambda y: y.to_sparse(), lambda y: y.bfloat16()])
def test_labels_may_be_tensors_of_every_kind(form: Any) -> None:
    X, Y = rows(40)
    ours, theirs = (small("logistic", max_steps=3).fit(X, y) for y in (form(torch.tensor(Y)), Y))
    np.testing.assert_array_equal(ours.weights_, theirs.weights_)
