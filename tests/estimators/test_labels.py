"""SDLGM's classifier and counter: labels as counts from slots."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import fewhot as fh
from fewhot import FewhotError, RunFolder, SDLGMClassifier, SDLGMCounter
from fewhot.core.errors import DivergedError
from fewhot.core.records import Knobs
from fewhot.distributions import SlotCounts
from fewhot.estimators.thresholds import best_threshold, expected_threshold
from fewhot.metrics import micro_f1, relaxation_gap, relaxed_bound
from fewhot.metrics.code_kinds import encoded
from fewhot.objectives.labels import count_likelihood, presence_likelihood, sample_likelihood
from tests.estimators.cases import assert_one_sentence, same_weights

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 8)).astype(np.float32)
W = RNG.normal(size=(8, 4))
Y = (X @ W + RNG.normal(size=(300, 4)) > 1.5).astype(int)
N = RNG.poisson(0.7, (300, 3))
NOISY = (N + RNG.normal(0, 0.2, N.shape)).astype(np.float32)
SMALL: dict[str, Any] = {"n_components": 3, "hidden_layer_sizes": (20,), "max_steps": 200, "random_state": 0}
QUICK = SMALL | {"max_steps": 10}
every_variant = pytest.mark.parametrize("variant", ["dis", "gen", "con"])


def law(n_units: int = 3, n_slots: int = 4) -> SlotCounts:
    return SlotCounts(torch.tensor([[0.4], [-0.3]]), torch.randn(2, 1, n_units, generator=torch.Generator()), n_slots)


def test_counts_of_all_units_have_the_law_of_the_code() -> None:
    q, y = law(), torch.tensor([[1.0, 0.0, 2.0], [0.0, 0.0, 1.0]])
    torch.testing.assert_close(count_likelihood(q, y, 3), q.log_prob(y))


def test_counts_of_some_units_are_summed_over_the_others() -> None:
    q, y = law(), torch.tensor([[1.0, 0.0], [0.0, 2.0]])
    total = torch.logsumexp(
        torch.stack([q.log_prob(torch.cat([y, torch.full((2, 1), float(n))], dim=1)) for n in range(5)]), dim=0
    )
    torch.testing.assert_close(count_likelihood(q, y, 2), total)


def test_presence_is_a_coin_a_unit() -> None:
    q, y = law(), torch.tensor([[1.0, 0.0, 1.0], [0.0, 0.0, 1.0]])
    coins = torch.distributions.Bernoulli(q.probs).log_prob(y).sum(-1)
    torch.testing.assert_close(presence_likelihood(q, y, 3), coins)


def test_one_slot_that_is_always_on_is_a_softmax_classifier() -> None:
    q = SlotCounts(torch.full((5, 1), 15.0), torch.randn(5, 1, 4), 1)
    y = torch.eye(4)[torch.tensor([0, 1, 2, 3, 0])]
    softmax = (q.log_features.squeeze(1) * y).sum(-1)
    torch.testing.assert_close(count_likelihood(q, y, 4), softmax, atol=1e-5, rtol=1e-5)


@every_variant
@pytest.mark.parametrize("label_loss", ["count", "presence"])
def test_it_learns_labels(variant: str, label_loss: str) -> None:
    model = SDLGMClassifier(**SMALL | {"max_steps": 500}, variant=variant, label_loss=label_loss, label_weight=5.0)
    model.fit(X, Y)
    told = micro_f1(Y, model.set_params().predict_proba(X) > 0.4)
    assert told > micro_f1(Y, np.ones_like(Y)) + 0.1
    assert model.score(X, Y) > 0.3


def test_independent_slots_for_every_label_begin_with_one_each() -> None:
    arguments = QUICK | {"max_steps": 1, "learning_rate": 1e-9}
    model = SDLGMClassifier(**arguments, label_loss="presence", slots="independent", n_slots=4).fit(X, Y)
    (_, psi), *_ = encoded(model, X)
    law = model.module_.latent.posterior(psi, Knobs(gates="exact"))
    assert (law.feature_logits.argmax(-1) == torch.arange(4)).float().mean() > 0.99
    absent = torch.prod(1 - law.slot_probs, dim=-2)
    np.testing.assert_allclose(model.predict_proba(X)[: len(absent)], 1 - absent.numpy(), atol=1e-5)


@pytest.mark.parametrize("variant", ["dis", "con"])
@pytest.mark.parametrize("n_slots", [2, 4])
def test_independent_slots_learn_labels(variant: str, n_slots: int, tmp_path: Path) -> None:
    arguments = SMALL | {"max_steps": 500, "label_weight": 5.0}
    model = SDLGMClassifier(
        **arguments, variant=variant, label_loss="presence", slots="independent", n_slots=n_slots
    ).fit(X, Y)
    p = model.predict_proba(X)
    assert all(roc_auc_score(Y[:, k], p[:, k]) > 0.75 for k in range(4))
    model.save(tmp_path / "run")
    np.testing.assert_array_equal(fh.load(tmp_path / "run", device="cpu").predict_proba(X), p)


@every_variant
def test_probabilities_decisions_and_labels_agree(variant: str, tmp_path: Path) -> None:
    model = SDLGMClassifier(**QUICK, variant=variant, threshold=0.3).fit(X, Y)
    p = model.predict_proba(X)
    assert p.shape == Y.shape
    assert ((p >= 0) & (p <= 1)).all()
    np.testing.assert_allclose(1 / (1 + np.exp(-model.decision_function(X))), p, atol=1e-5)
    np.testing.assert_array_equal(model.predict(X), p >= 0.3)
    assert model.n_slots_ == 4 * Y.sum(1).max()
    model.save(tmp_path / "run")
    again = fh.load(tmp_path / "run", device="cpu")
    np.testing.assert_array_equal(again.predict_proba(X), p)
    assert (again.threshold_, again.n_slots_, again.classes_.tolist()) == (0.3, model.n_slots_, [0, 1, 2, 3])


def test_a_sampled_loss_trains_and_is_watched_in_closed_form() -> None:
    model = SDLGMClassifier(**SMALL | {"max_steps": 600}, label_loss="sample", learning_rate=3e-3).fit(X, Y)
    p = model.predict_proba(X)
    assert all(roc_auc_score(Y[:, k], p[:, k]) > 0.75 for k in range(4))


def test_the_network_reads_columns_standardised_or_as_they_are() -> None:
    told = [
        SDLGMClassifier(**QUICK, features=features).fit(rows, Y).predict_proba(rows)
        for features in ("auto", "as-is")
        for rows in (X, 100 * X + 3)
    ]
    np.testing.assert_allclose(told[0], told[1], atol=1e-3)
    assert not np.allclose(told[2], told[3], atol=1e-2)


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_smoothed_labels_keep_probabilities_from_the_ends(smoothing: float) -> None:
    easy = np.repeat(np.eye(4, dtype=np.float32), 50, axis=0)
    arguments = SMALL | {"max_steps": 500, "n_iter_no_change": None, "learning_rate": 1e-2, "hidden_dropout": 0.0}
    model = SDLGMClassifier(**arguments, label_loss="presence", n_slots=3, label_smoothing=smoothing)
    p = model.fit(easy, easy).predict_proba(easy)
    np.testing.assert_allclose(p[easy == 0], smoothing, atol=0.05)
    np.testing.assert_allclose(p[easy == 1], 1 - smoothing, atol=0.05)


@pytest.mark.parametrize("variant", ["gen", "con"])
def test_the_bound_is_of_rows_without_labels(variant: str) -> None:
    bound = SDLGMClassifier(**QUICK, variant=variant).fit(X, Y).elbo(X)
    assert bound.shape == (300,)
    assert np.isfinite(bound).all()


def test_labels_given_rows_have_no_bound_and_make_no_rows() -> None:
    model = SDLGMClassifier(**QUICK).fit(X, Y)
    for verb in (lambda: model.elbo(X), lambda: model.sample(2), lambda: model.inverse_transform(Y)):
        with pytest.raises(FewhotError) as caught:
            verb()
        assert "variant=" in str(caught.value)


@pytest.mark.parametrize("cls", [SDLGMClassifier, SDLGMCounter])
def test_labels_given_rows_have_nothing_to_refine(cls: Any) -> None:
    model = cls(**QUICK).fit(X, Y)
    assert model.codes(X).gap is None
    model.set_params(refine_steps=3)
    for verb in (lambda: model.transform(X), lambda: model.codes(X), lambda: clone(model).fit(X, Y)):
        with pytest.raises(FewhotError, match=r"^refine_steps is 3, and .* has no bound on rows") as caught:
            verb()
        assert_one_sentence(caught.value)


def test_probabilities_are_those_of_the_encoder() -> None:
    model = SDLGMClassifier(**QUICK, variant="gen").fit(X, Y)
    before = model.predict_proba(X)
    np.testing.assert_array_equal(model.set_params(refine_steps=3).predict_proba(X), before)
    assert model.codes(X).gap is not None


@pytest.mark.parametrize("label_loss", ["count", "presence", "sample"])
def test_a_loss_that_is_not_finite_ends_the_fit_in_words(label_loss: str) -> None:
    with pytest.raises(DivergedError, match="lower learning_rate") as caught:
        SDLGMClassifier(**QUICK | {"max_steps": 20}, label_loss=label_loss, learning_rate=1e20).fit(X, Y)
    assert_one_sentence(caught.value)


def test_a_threshold_is_chosen_on_rows_not_seen() -> None:
    model = SDLGMClassifier(**SMALL, threshold="cv", n_folds=3).fit(X, Y)
    assert 0 < model.threshold_ < 1
    plain = clone(model).set_params(threshold=0.5).fit(X, Y)
    assert same_weights(model, plain)
    again = clone(model).fit(X, Y)
    assert again.threshold_ == model.threshold_


def test_a_number_that_is_set_after_the_fit_is_the_threshold() -> None:
    model = SDLGMClassifier(**QUICK).fit(X, Y)
    chosen, p = model.threshold_, model.predict_proba(X)
    assert (model.set_params(threshold=0.9).predict(X) == (p >= 0.9)).all()
    assert (model.set_params(threshold="auto").predict(X) == (p >= chosen)).all()


def test_a_run_that_is_taken_up_again_has_its_threshold(tmp_path: Path) -> None:
    arguments = QUICK | {"random_state": None, "label_loss": "presence", "threshold": "cv", "n_folds": 2}
    one, again = (SDLGMClassifier(**arguments, callbacks=[RunFolder(tmp_path / "run")]).fit(X, Y) for _ in range(2))
    assert one.seed_ == again.seed_
    assert one.threshold_ == again.threshold_


def test_a_threshold_is_chosen_by_the_seed_of_the_fit() -> None:
    model = SDLGMClassifier(**QUICK | {"random_state": None}, threshold="cv", n_folds=2).fit(X, Y)
    again = clone(model).set_params(random_state=model.seed_).fit(X, Y)
    assert model.threshold_ == again.threshold_


def test_a_generator_is_drawn_from_once() -> None:
    given, other = np.random.default_rng(5), np.random.default_rng(5)
    SDLGMClassifier(**QUICK | {"random_state": given}, threshold="cv", n_folds=2).fit(X, Y)
    other.integers(2**31)
    assert given.bit_generator.state == other.bit_generator.state


def test_a_threshold_is_found_however_small_probabilities_are() -> None:
    generator = np.random.default_rng(0)
    labels = (generator.random((200, 40)) < 0.1).astype(np.int64)
    shares = 0.02 * labels + 0.02 * generator.random(labels.shape) ** 2  # as those of a softmax over many labels
    threshold, found = best_threshold(labels, shares, "micro")
    assert 0.015 < threshold < 0.025
    every = [micro_f1(labels, shares >= candidate) for candidate in np.sort(shares[labels > 0])]
    assert found >= max(every) - 0.01
    assert found == micro_f1(labels, shares >= threshold)


def test_where_no_label_is_there_the_threshold_is_a_half() -> None:
    assert best_threshold(np.zeros((5, 2), dtype=np.int64), np.full((5, 2), 0.1), "macro") == (0.5, 0.0)


def test_codes_that_no_loss_reads_are_not_learned_from() -> None:
    in_closed_form = SDLGMClassifier(**QUICK, variant="dis", label_loss="presence").fit(X, Y)
    by_draws = SDLGMClassifier(**QUICK, variant="dis", label_loss="sample").fit(X, Y)
    kinds = [type(model.module_.latent.estimator).__name__ for model in (in_closed_form, by_draws)]
    assert kinds == ["WithoutGradient", "SeparateConcrete"]


def test_rows_without_labels_stay_unless_told() -> None:
    empty = np.flatnonzero(~Y.any(axis=1))
    assert len(empty)
    with pytest.warns(UserWarning, match=f"^{len(empty)} of 300 rows have no label and are left out.$"):
        dropped = SDLGMClassifier(**QUICK, drop_unlabelled=True).fit(X, Y)
    kept = Y.any(axis=1)
    assert same_weights(dropped, SDLGMClassifier(**QUICK).fit(X[kept], Y[kept]))


@pytest.mark.parametrize(
    "form",
    [
        sp.csr_array, sp.csc_matrix, pd.DataFrame, torch.tensor, np.asarray, lambda y: y.tolist(),
        lambda y: torch.tensor(y).to_sparse(), lambda y: torch.tensor(y).bfloat16(),
        lambda y: pd.DataFrame(y).astype("Int64"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("cls", [SDLGMClassifier, SDLGMCounter])
def test_labels_come_in_many_forms(cls: Any, form: Any) -> None:
    assert same_weights(cls(**QUICK).fit(X, form(Y)), cls(**QUICK).fit(X, Y))


def test_unlabelled_rows_of_a_sparse_tensor_are_left_out() -> None:
    with pytest.warns(UserWarning, match="have no label"):
        ours = SDLGMClassifier(**QUICK, drop_unlabelled=True).fit(X, torch.tensor(Y).to_sparse())
    with pytest.warns(UserWarning, match="have no label"):
        theirs = SDLGMClassifier(**QUICK, drop_unlabelled=True).fit(X, Y)
    assert same_weights(ours, theirs)


@pytest.mark.parametrize("kind", ["Int64", "boolean", "Float64"])
def test_missing_labels_are_called_missing(kind: str) -> None:
    with pytest.raises(FewhotError, match=r"^y has missing values") as caught:
        SDLGMClassifier(**QUICK).fit(X, pd.DataFrame(Y).astype(kind).mask(Y > 0))
    assert_one_sentence(caught.value)


def test_names_of_labels_are_kept(tmp_path: Path) -> None:
    model = SDLGMClassifier(**QUICK).fit(X, pd.DataFrame(Y, columns=list("abcd")))
    model.save(tmp_path / "run")
    assert fh.load(tmp_path / "run").classes_.tolist() == model.classes_.tolist() == list("abcd")


@pytest.mark.parametrize("labels", [np.zeros_like(Y), np.ones_like(Y), Y[:, :1], np.where(np.arange(4) == 1, 0, Y)])
def test_constant_single_and_unseen_labels_are_fitted(labels: np.ndarray) -> None:
    model = SDLGMClassifier(**QUICK).fit(X, labels)
    assert np.isfinite(model.predict_proba(X)).all()
    assert model.predict(X).shape == labels.shape


@pytest.mark.parametrize(
    "labels",
    [
        None, Y[:, 0], Y[:10], np.empty((300, 0)), 2 * Y, -Y, 0.5 * Y, np.full(Y.shape, np.nan),
        np.ma.masked_less(Y, 1), [["a"]] * 300, "abc",
    ],
)  # fmt: skip
def test_other_labels_are_refused(labels: Any) -> None:
    with pytest.raises(FewhotError) as caught:
        SDLGMClassifier(**QUICK).fit(X, labels)
    assert_one_sentence(caught.value)


@pytest.mark.parametrize(
    "arguments",
    [
        *({"n_slots": v} for v in (0, -1, 1.5)),
        *({"threshold": v} for v in (-0.1, 1.1, "best", None)),
        {"variant": "x"}, {"label_loss": "hinge"}, {"n_folds": 1}, {"threshold_average": "mean"},
        {"label_weight": 0}, {"dropout": 1.0}, {"weight_decay": -1}, {"drop_unlabelled": 1}, {"kl_weight": -1},
        {"hidden_dropout": 1.0}, {"features": "raw"}, {"slots": "own"}, {"slots": "independent", "label_loss": "count"},
        {"label_smoothing": 0.6, "label_loss": "presence"}, {"label_smoothing": 0.1, "label_loss": "count"},
        {"n_slots": 1, "label_loss": "count"}, {"threshold": "cv", "n_folds": 1000},
    ],
    ids=str,
)  # fmt: skip
def test_other_arguments_are_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(FewhotError) as caught:
        SDLGMClassifier(**QUICK | arguments).fit(X, Y)
    assert_one_sentence(caught.value)


def test_the_expected_threshold_has_the_best_score_to_be_expected() -> None:
    p = np.random.default_rng(0).beta(0.4, 1.0, (40, 3))
    expected = [2 * p[p >= t].sum() / ((p >= t).sum() + p.sum()) for t in p.ravel()]
    assert expected_threshold(p, "micro") == p.ravel()[np.argmax(expected)]
    alone = [expected_threshold(p[:, [k]], "micro") for k in range(3)]
    np.testing.assert_array_equal(expected_threshold(p, "macro"), alone)


@pytest.mark.parametrize("average", ["micro", "macro"])
def test_a_threshold_comes_with_the_fit_and_is_kept(average: str, tmp_path: Path) -> None:
    model = SDLGMClassifier(**QUICK, threshold_average=average, n_iter_no_change=None).fit(X, Y)
    np.testing.assert_array_equal(model.threshold_, expected_threshold(model.predict_proba(X), average))
    assert np.shape(model.threshold_) == (() if average == "micro" else (4,))
    model.save(tmp_path / "run")
    again = fh.load(tmp_path / "run", device="cpu")
    np.testing.assert_array_equal(again.threshold_, model.threshold_)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_partial_fits_take_the_threshold_of_their_rows() -> None:
    model = SDLGMClassifier(**QUICK).partial_fit(X, Y)
    assert model.threshold_ == expected_threshold(model.predict_proba(X), "micro")


@pytest.mark.parametrize("label_loss", ["presence", "count"])
def test_a_fresh_model_has_labels_as_often_as_training_rows(label_loss: str) -> None:
    tiny = SMALL | {"max_steps": 1, "learning_rate": 1e-9, "n_iter_no_change": None, "n_components": 3}
    p = SDLGMClassifier(**tiny, label_loss=label_loss).fit(X, Y).predict_proba(X).mean(axis=0)
    np.testing.assert_allclose(p, Y.mean(axis=0), atol=0.08)
    published = SDLGMClassifier(**tiny, label_loss=label_loss, recipe="xu").fit(X, Y).predict_proba(X).mean(axis=0)
    assert (published > Y.mean(axis=0) + 0.1).any()


def test_single_values_far_out_do_not_decide_a_row() -> None:
    far = np.concatenate([X, np.full((1, 8), 1e4, dtype=np.float32)])
    p = SDLGMClassifier(**QUICK).fit(X, Y).decision_function(far)
    assert np.abs(p[-1]).max() < 10 * np.abs(p[:-1]).max()


def test_too_few_slots_are_enough_where_only_presence_is_asked() -> None:
    assert SDLGMClassifier(**QUICK, n_slots=1, label_loss="presence").fit(X, Y).n_slots_ == 1


def test_further_training_keeps_the_labels() -> None:
    model = SDLGMClassifier(**QUICK).partial_fit(X, Y)
    steps = model.n_iter_
    assert model.partial_fit(X, Y).n_iter_ == 2 * steps
    with pytest.raises(FewhotError, match="4 labels"):
        model.partial_fit(X, Y[:, :2])
    with pytest.raises(FewhotError, match="give a number or"):
        clone(model).set_params(threshold="cv").partial_fit(X, Y)


def test_held_out_rows_bring_their_labels() -> None:
    model = SDLGMClassifier(**QUICK).fit(X[:200], Y[:200], X[200:], Y[200:])
    assert "objective" in model.history_[-1]["evaluation"]
    for labels in (None, Y[200:, :2]):
        with pytest.raises(FewhotError, match="y_val"):
            SDLGMClassifier(**QUICK).fit(X[:200], Y[:200], X[200:], labels)


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        (Y[:20], r"^X_val has 10 rows and y_val has 20"),
        (None, r"^y_val was not given; .* each row of X_val\.$"),
        (Y[:10, 0], r"^y_val has shape \(10,\); .* each row of X_val and"),
    ],
)
def test_labels_of_held_out_rows_are_compared_with_those_rows(labels: Any, sentence: str) -> None:
    with pytest.raises(FewhotError, match=sentence) as caught:
        SDLGMClassifier(**QUICK).fit(X, Y, X[:10], labels)
    assert_one_sentence(caught.value)


def test_later_rows_have_no_more_labels_than_there_are_slots() -> None:
    few = Y.sum(axis=1) <= 2
    model = SDLGMClassifier(**QUICK, label_loss="count").partial_fit(X[few], Y[few])
    with pytest.raises(FewhotError, match="fit it with n_slots=4"):
        model.partial_fit(X, Y)
    with pytest.raises(FewhotError, match="A row of y_val has 4 labels"):
        SDLGMClassifier(**QUICK, label_loss="count").fit(X[few], Y[few], X, Y)
    assert np.isfinite(model.predict_proba(X)).all()


def test_it_goes_through_scikit_learns_tools() -> None:
    pipeline = make_pipeline(StandardScaler(), SDLGMClassifier(**QUICK))
    assert cross_val_predict(pipeline, X, Y, cv=2).shape == Y.shape
    search = GridSearchCV(SDLGMClassifier(**QUICK), {"n_slots": [4, 5]}, cv=2, scoring="f1_micro").fit(X, Y)
    assert search.best_params_["n_slots"] in (4, 5)


def test_a_run_with_other_labels_is_not_resumed(tmp_path: Path) -> None:
    def fit(labels: np.ndarray) -> None:
        SDLGMClassifier(**QUICK, callbacks=[RunFolder(tmp_path / "run")]).fit(X, labels)

    fit(Y)
    with pytest.raises(FewhotError):
        fit(1 - Y)


def test_sparse_rows_with_many_labels_are_fitted_in_little_time() -> None:
    rows = sp.random_array((200, 300), density=0.02, format="csr", dtype=np.float32, rng=np.random.default_rng(0))
    labels = (np.random.default_rng(1).random((200, 2000)) < 0.005).astype(int)
    model = SDLGMClassifier(**QUICK).fit(rows, labels)
    assert model.predict_proba(rows).shape == (200, 2000)


@every_variant
def test_counts_are_learned(variant: str, tmp_path: Path) -> None:
    model = SDLGMCounter(**SMALL | {"max_steps": 600}, variant=variant, label_weight=5.0).fit(NOISY, N)
    assert model.score(NOISY, N) > 0.7
    expected, rounded = model.predict(NOISY), model.predict_counts(NOISY)
    np.testing.assert_array_equal(rounded, np.rint(expected))
    assert model.n_slots_ == N.sum(1).max()
    model.save(tmp_path / "run")
    np.testing.assert_array_equal(fh.load(tmp_path / "run", device="cpu").predict(NOISY), expected)


@pytest.mark.parametrize("counts", [N - 1, N + 0.5, N[:, 0], None])
def test_other_counts_are_refused(counts: Any) -> None:
    with pytest.raises(FewhotError) as caught:
        SDLGMCounter(**QUICK).fit(NOISY, counts)
    assert_one_sentence(caught.value)


def test_too_few_slots_for_the_counts_are_refused() -> None:
    with pytest.raises(FewhotError, match="give at least"):
        SDLGMCounter(**QUICK, n_slots=2).fit(NOISY, N)


def test_logistic_regression_is_not_far_above_on_labels_made_for_it() -> None:
    logistic = np.stack([LogisticRegression().fit(X, Y[:, k]).predict(X) for k in range(4)], axis=1)
    model = SDLGMClassifier(**SMALL | {"max_steps": 1500}, n_iter_no_change=None).fit(X, Y)
    assert micro_f1(Y, model.predict_proba(X) > 0.4) > micro_f1(Y, logistic) - 0.1


# --------------------------------------------------------------------------------------------------- rows and names


def test_labels_given_rows_take_rows_of_any_range() -> None:
    scaled = make_pipeline(MinMaxScaler(), SDLGMClassifier(**QUICK)).fit(X[:100], Y[:100])
    assert scaled.predict(5 * X[100:]).shape == (200, 4)
    counts = RNG.poisson(2, (300, 6)).astype(float)
    assert SDLGMClassifier(**QUICK).fit(counts, Y).predict(counts + 0.5).shape == (300, 4)
    assert SDLGMClassifier(**QUICK).fit(np.round(counts * 1e8), Y).likelihood_ == "gaussian"
    mixed = (X > 0).astype(float)
    mixed[0, 0] = 2.0
    assert 0 <= SDLGMClassifier(**QUICK, threshold="cv", n_folds=2).fit(mixed, Y).threshold_ <= 1


@pytest.mark.parametrize("asked", ["elbo", "score_samples", "log_likelihood", "relaxed_bound", "relaxation_gap"])
def test_labels_given_rows_have_no_bound_whatever_is_asked(asked: str) -> None:
    model = SDLGMClassifier(**QUICK).fit(X, Y).set_params(variant="gen")
    functions = {"relaxed_bound": relaxed_bound, "relaxation_gap": relaxation_gap}
    with pytest.raises(FewhotError, match=r"^variant='dis' models labels given rows") as caught:
        functions[asked](model, X) if asked in functions else getattr(model, asked)(X)
    assert_one_sentence(caught.value)
    assert np.isnan(model.codes(X[:5]).bound).all()


def test_nothing_is_predicted_before_a_fit() -> None:
    for ask in (SDLGMClassifier().predict, SDLGMCounter().predict, lambda rows: relaxed_bound(fh.SDLGM(), rows)):
        with pytest.raises(NotFittedError):
            ask(X)


@pytest.mark.parametrize("cls", [SDLGMClassifier, SDLGMCounter])
def test_numbers_of_numpy_are_saved(cls: Any, tmp_path: Path) -> None:
    cls(**QUICK, n_slots=np.int64(9)).fit(X, Y).save(tmp_path / "run")
    assert fh.load(tmp_path / "run").n_slots_ == 9


def test_a_fit_that_cannot_be_saved_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise FewhotError("The disk is full.")

    monkeypatch.setattr("fewhot.estimators.storage.write_run", fail)
    model = SDLGMClassifier(**QUICK, threshold=0.3, callbacks=[RunFolder(tmp_path / "run")])
    with pytest.raises(FewhotError, match="disk"):
        model.fit(X, Y)
    assert model.threshold_ == 0.3
    assert model.predict(X).shape == Y.shape


def test_labels_by_name_keep_their_order() -> None:
    named, turned = (pd.DataFrame(Y, columns=list(order)) for order in ("abcd", "dcba"))
    model = SDLGMClassifier(**QUICK).partial_fit(X, named)
    before = model.predict_proba(X)
    for attempt in (
        lambda: model.partial_fit(X, turned),
        lambda: model.score(X, turned),
        lambda: SDLGMClassifier(**QUICK).fit(X, named, X, turned),
    ):
        with pytest.raises(
            FewhotError, match=r"not those of the fit in their order; give 'a', 'b', 'c' and so on"
        ) as c:
            attempt()
        assert_one_sentence(c.value)
    np.testing.assert_array_equal(model.predict_proba(X), before)
    assert model.partial_fit(X, Y).score(X, named) >= 0
    numbered = SDLGMClassifier(**QUICK).fit(X, pd.DataFrame(Y, columns=[10, 20, 30, 40]))
    assert numbered.classes_.tolist() == [10, 20, 30, 40]


@pytest.mark.parametrize("form", [sp.coo_matrix, sp.bsr_matrix, sp.csr_array])
def test_options_take_sparse_matrices_of_every_form(form: Any) -> None:
    options = {"threshold": "cv", "n_folds": 2, "drop_unlabelled": True}
    with pytest.warns(UserWarning, match="have no label"):
        ours = SDLGMClassifier(**QUICK, **options).fit(form(X), form(Y))
    with pytest.warns(UserWarning, match="have no label"):
        theirs = SDLGMClassifier(**QUICK, **options).fit(sp.csr_matrix(X), Y)
    assert ours.threshold_ == theirs.threshold_


@pytest.mark.parametrize("options", [{"threshold": "cv", "n_folds": 2}, {"drop_unlabelled": True}])
@pytest.mark.parametrize("rows", [None, 3.0, np.float32(1), {"a": 1}], ids=str)
def test_what_is_no_rows_is_refused_with_any_option(rows: Any, options: dict[str, Any]) -> None:
    with pytest.raises(FewhotError) as caught:
        SDLGMClassifier(**QUICK, **options).fit(rows, Y)
    assert_one_sentence(caught.value)


@pytest.mark.parametrize("threshold", ["CV", np.full(4, 0.1), None, True], ids=str)
def test_other_thresholds_are_refused(threshold: Any) -> None:
    with pytest.raises(FewhotError, match=r"^threshold") as caught:
        SDLGMClassifier(**QUICK, threshold=threshold).fit(X, Y)
    assert_one_sentence(caught.value)


@pytest.mark.parametrize("n_draws", [0, -1, 1.5])
def test_draws_are_counted(n_draws: Any) -> None:
    model = SDLGMClassifier(**QUICK, variant="gen").fit(X, Y)
    with pytest.raises(FewhotError, match=r"^n_draws"):
        relaxed_bound(model, X, n_draws)


@pytest.mark.parametrize("kind", ["complex", "U1", "M8[D]"])
def test_labels_that_are_no_numbers_are_refused(kind: str) -> None:
    with pytest.raises(FewhotError, match=r"^y does not hold numbers"):
        SDLGMClassifier(**QUICK).fit(X, Y.astype(kind))


def test_scores_take_what_fits_take() -> None:
    counter, classifier = SDLGMCounter(**QUICK).fit(NOISY, N), SDLGMClassifier(**QUICK).fit(X, Y)
    assert counter.score(NOISY, sp.csr_array(N)) == counter.score(NOISY, N)
    for model, rows, labels in ((counter, NOISY, N), (classifier, X, Y)):
        with pytest.raises(FewhotError, match=r"^y has 1 columns and the model was fitted on"):
            model.score(rows, labels[:, :1])
        with pytest.raises(FewhotError, match=r"^y was not given"):
            model.score(rows)


def test_a_threshold_may_change_while_training_goes_on() -> None:
    model = SDLGMClassifier(**QUICK, threshold=0.4).partial_fit(X, Y).set_params(threshold=0.3)
    assert model.partial_fit(X, Y).threshold_ == 0.3


def test_labels_without_their_rows_are_refused() -> None:
    with pytest.raises(FewhotError, match=r"^y_val was given without X_val"):
        SDLGMClassifier(**QUICK).fit(X, Y, y_val=Y)


def test_a_counter_speaks_of_its_own_arguments() -> None:
    with pytest.raises(FewhotError) as few:
        SDLGMCounter(**QUICK, n_slots=1).fit(NOISY, N)
    assert "label_loss" not in str(few.value)
    with pytest.raises(FewhotError, match=r"^A row of y counts") as many:
        SDLGMCounter(**QUICK).fit(NOISY, N * 1e20)
    assert "n_slots" not in str(many.value)


def test_soft_counts_above_one_are_brought_down() -> None:
    z = torch.tensor([[2.5, 0.5]], requires_grad=True)
    sample_likelihood(z, torch.tensor([[0.0, 1.0]]), 2).sum().backward()
    assert z.grad is not None
    assert z.grad[0, 0] < 0 < z.grad[0, 1]
    rows = np.random.default_rng(0).normal(size=(400, 4))
    labels = (rows[:, :2] > 1).astype(int)
    model = SDLGMClassifier(**SMALL | {"max_steps": 400}, label_loss="sample", n_slots=40, learning_rate=3e-3)
    assert model.fit(rows, labels).predict_proba(rows).max(axis=0).min() < 0.9


def test_counts_that_need_too_many_slots_are_refused() -> None:
    for n_slots, counts in ((None, N * 10**7), (10**7, N)):
        with pytest.raises(FewhotError, match="at most 1,000,000") as problem:
            SDLGMCounter(**QUICK, n_slots=n_slots).fit(NOISY, counts)
        assert_one_sentence(problem.value)


def test_counts_are_told_by_the_names_of_their_columns(tmp_path: Path) -> None:
    named = pd.DataFrame(N, columns=["a", "b", "c"])
    counter = SDLGMCounter(**QUICK).fit(NOISY, named)
    counter.save(tmp_path)
    for model in (counter, fh.load(tmp_path)):
        assert model.classes_.tolist() == ["a", "b", "c"]
        assert model.score(NOISY, named) == model.score(NOISY, N)
        with pytest.raises(FewhotError, match="not those of the fit in their order"):
            model.score(NOISY, named[["c", "b", "a"]])


def page_of(model: Any) -> str:
    return re.sub(r"(?:<[^>]+>|\s)+", " ", model._repr_html_().partition("The fit")[2])


def test_the_page_of_a_classifier_is_about_labels() -> None:
    page = page_of(SDLGMClassifier(**QUICK).fit(X, Y))
    assert "summarise(estimator, X_new, Y_new)" in page
    assert "labels with a probability of at least 0." in page
    assert "the best micro F1 to be expected" in page
    assert "on 30 held-out rows" in page
    assert "by a logistic regression for each label" in page
    for word in ("unit", "ELBO", "Likelihood", "gaussian"):
        assert word not in page


def test_the_page_of_a_model_of_rows_has_its_bound_too() -> None:
    page = page_of(SDLGMClassifier(**QUICK, variant="con", threshold_average="macro").fit(X, Y))
    assert "one for each label" in page
    assert "ELBO" in page
    assert "Likelihood of rows gaussian" in page


def test_the_page_of_a_counter_is_about_counts() -> None:
    page = page_of(SDLGMCounter(**QUICK).fit(NOISY, N))
    assert "Mean squared error" in page
    assert "by a ridge regression for each count" in page
    assert "threshold" not in page


@pytest.mark.parametrize("n_iter_no_change", [None, 10])
def test_a_page_without_held_out_scores_is_drawn(n_iter_no_change: int | None) -> None:
    model = SDLGMClassifier(**QUICK, n_iter_no_change=n_iter_no_change)
    page = page_of(model.fit(X, Y) if n_iter_no_change is None else model.partial_fit(X, Y))
    assert "held-out" not in page
    assert "Micro F1" not in page


def test_labels_in_one_axis_are_told_the_way_out() -> None:
    with pytest.raises(FewhotError, match=r"y\.reshape\(-1, 1\) for one label") as error:
        SDLGMClassifier(**QUICK).fit(X, Y[:, 0])
    assert_one_sentence(error.value)
    assert SDLGMClassifier(**QUICK).fit(X, Y[:, 0].reshape(-1, 1)).predict(X).shape == (300, 1)


@pytest.mark.parametrize("cls", [SDLGMClassifier, SDLGMCounter])
def test_names_of_labels_are_found_from_predict(cls: Any) -> None:
    assert "classes_" in (cls.predict.__doc__ or "")
