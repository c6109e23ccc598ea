"""Models of labels and of counts, measured beside shares, means and linear models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import f1_score, log_loss, mean_squared_error, r2_score
from sklearn.preprocessing import StandardScaler

import fewhot as fh
from fewhot.core.errors import InvalidInputError
from fewhot.metrics import Number, Summary, alarms, fit_linear_labels, summarise
from fewhot.metrics.label_references import LabelReferences
from fewhot.metrics.labels import f1_estimate
from fewhot.metrics.linear_labels import PENALTIES

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 6)).astype(np.float32)
Y = (X @ RNG.normal(size=(6, 4)) + RNG.normal(size=(400, 4)) > 1).astype(int)
N = RNG.poisson(np.exp(0.4 * X[:, :3]))
QUICK: dict[str, Any] = {"n_components": 3, "hidden_layer_sizes": (20,), "max_steps": 60, "random_state": 0}


@pytest.fixture(scope="module")
def classifier() -> fh.SDLGMClassifier:
    return fh.SDLGMClassifier(**QUICK | {"max_steps": 300}).fit(X[:300], Y[:300])


@pytest.fixture(scope="module")
def counter() -> fh.SDLGMCounter:
    return fh.SDLGMCounter(**QUICK).fit(X[:300], N[:300])


@pytest.mark.parametrize("variant", ["dis", "gen", "con"])
def test_every_variant_is_measured_by_labels(variant: str) -> None:
    model = fh.SDLGMClassifier(**QUICK, variant=variant).fit(X[:300], Y[:300])
    summary = summarise(model, X[300:], Y[300:])
    predicted, p = model.predict(X[300:]), model.predict_proba(X[300:])
    assert summary.value("micro_f1") == pytest.approx(f1_score(Y[300:], predicted, average="micro"))
    assert summary.value("macro_f1") == pytest.approx(f1_score(Y[300:], predicted, average="macro", zero_division=0))
    per_row = -sum(log_loss(Y[300:, k], p[:, k], labels=[0, 1]) for k in range(4))
    assert summary.value("label_likelihood") == pytest.approx(per_row, rel=1e-4)
    assert (summary.get("bound") is None) == (variant == "dis")
    for number in summary.numbers:
        assert number.meaning, number.name
        assert number.why, number.name


def test_labels_of_shares_look_at_no_row(classifier: fh.SDLGMClassifier) -> None:
    references, summary = classifier.label_references_, summarise(classifier, X[300:], Y[300:])
    assert references is not None
    assert references.n_rows == 270  # a tenth is held out
    shares = references.means
    np.testing.assert_allclose(shares, Y[:300].mean(0), atol=0.03)
    likelihood = (Y[300:] * np.log(shares) + (1 - Y[300:]) * np.log(1 - shares)).sum(1).mean()
    assert summary.value("label_likelihood_shares") == pytest.approx(likelihood)
    constant = np.broadcast_to(shares >= references.thresholds["shares"], (100, 4))
    assert summary.value("micro_f1_shares") == pytest.approx(f1_score(Y[300:], constant, average="micro"))


def test_the_model_is_judged_by_the_better_reference(classifier: fh.SDLGMClassifier) -> None:
    number = summarise(classifier, X[300:], Y[300:]).get("label_likelihood")
    assert number is not None
    assert "against label_likelihood_linear" in number.why
    assert number.verdict in ("good", "fair", "poor")
    assert number.se is not None
    assert number.se > 0


@pytest.mark.parametrize("sparse", [False, True])
def test_linear_models_are_those_of_scikit_learn(sparse: bool) -> None:
    scaler = StandardScaler().fit(X[:300])
    Z = scaler.transform(X)
    given = sp.csr_array(X) if sparse else X
    for target, labels in (("labels", Y), ("counts", N)):
        found = fit_linear_labels(given[:300], labels[:300], given[300:], labels[300:], target)  # type: ignore[arg-type]
        scores = found(given[300:])
        if target == "labels":
            closest = [LogisticRegression(C=C).fit(Z[:300], Y[:300, 0]).decision_function(Z[300:]) for C in PENALTIES]
        else:
            closest = [Ridge(1 / C).fit(Z[:300], N[:300, 0]).predict(Z[300:]) for C in PENALTIES]
        assert min(np.abs(scores[:, 0] - other).max() for other in closest) < 0.1


def test_labels_that_all_rows_or_none_have_keep_finite_scores() -> None:
    labels = np.column_stack([np.ones(400), np.zeros(400), Y[:, 0]])
    scores = fit_linear_labels(X[:300], labels[:300], X[300:], labels[300:], "labels")(X[300:])
    assert np.isfinite(scores).all()
    assert (scores[:, 0] > 3).all()
    assert (scores[:, 1] < -3).all()


@pytest.mark.parametrize("average", ["micro", "macro"])
def test_the_error_of_an_f1_score_is_that_of_other_rows(average: str) -> None:
    rng = np.random.default_rng(1)
    told = np.where(rng.random(Y.shape) < 0.2, 1 - Y, Y)
    found = f1_estimate(Y, told, average)
    assert found.mean == pytest.approx(f1_score(Y, told, average=average))
    drawn = [rng.integers(0, 400, 400) for _ in range(300)]
    spread = np.std([f1_score(Y[rows], told[rows], average=average) for rows in drawn])
    assert found.se == pytest.approx(spread, rel=0.2)


def test_counts_are_measured_beside_means_and_ridges(counter: fh.SDLGMCounter) -> None:
    summary, expected = summarise(counter, X[300:], N[300:]), counter.predict(X[300:])
    assert summary.value("squared_error") == pytest.approx(mean_squared_error(N[300:], expected), rel=1e-5)
    assert summary.value("r2") == pytest.approx(r2_score(N[300:], expected), rel=1e-5)
    assert counter.label_references_ is not None
    means = np.broadcast_to(counter.label_references_.means, (100, 3))
    assert summary.value("squared_error_means") == pytest.approx(mean_squared_error(N[300:], means))
    assert summary.value("squared_error_linear") < summary.value("squared_error_means")
    assert summary.verdict("squared_error") in ("good", "fair", "poor")


def test_few_rows_without_held_out_ones_have_references() -> None:
    model = fh.SDLGMClassifier(**QUICK, n_iter_no_change=None).fit(X[:30], Y[:30])
    assert model.label_references_ is not None
    assert model.label_references_.linear is not None
    assert model.label_references_.linear.n_rows == 24
    assert model._held_out_scores is None


def test_a_linear_model_that_takes_long_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fewhot.estimators.label_references.MAX_WORK", 1000)
    model = fh.SDLGMClassifier(**QUICK).fit(X, Y)
    summary = summarise(model, X, Y)
    assert summary.get("micro_f1_linear") is None
    assert "against micro_f1_shares" in (summary.get("micro_f1") or Number(name="", value=0)).why


def test_many_rows_are_drawn_for_a_linear_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fewhot.estimators.label_references.MIN_ROWS", 50)
    monkeypatch.setattr("fewhot.estimators.label_references.MAX_WORK", 100 * 4 * 66)
    summary = summarise(fh.SDLGMClassifier(**QUICK).fit(X, Y), X, Y)
    assert "from 100 training rows" in (summary.get("micro_f1_linear") or Number(name="", value=0)).meaning


def test_references_of_labels_are_saved(
    classifier: fh.SDLGMClassifier, counter: fh.SDLGMCounter, tmp_path: Path
) -> None:
    for model, labels in ((classifier, Y), (counter, N)):
        model.save(tmp_path / type(model).__name__)
        again = fh.load(tmp_path / type(model).__name__, device="cpu")
        assert summarise(again, X, labels).to_dict() == summarise(model, X, labels).to_dict()
        assert again._held_out_scores == model._held_out_scores
        assert isinstance(again.label_references_, LabelReferences)


def test_a_model_that_is_fitted_again_has_references_of_the_new_rows() -> None:
    model = fh.SDLGMClassifier(**QUICK).fit(X[:200], Y[:200]).fit(X, 1 - Y)
    assert model.label_references_ is not None
    np.testing.assert_allclose(model.label_references_.means, 1 - Y.mean(0), atol=0.03)


def test_models_without_references_stand_alone() -> None:
    model = fh.SDLGMClassifier(**QUICK).partial_fit(X, Y)
    summary = summarise(model, X, Y)
    assert [number.name for number in summary.numbers] == ["label_likelihood", "micro_f1", "macro_f1"]
    assert summary.verdict("micro_f1") == ""


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ((), "give those of X, too: summarise(estimator, X, Y)"),
        ((Y[:, :2],), "y has 2 columns and the model was fitted on 4 labels"),
        ((Y[:, 0],), r"y.reshape(-1, 1)"),
        ((Y, X, Y), "predicts labels itself"),
    ],
)
def test_what_is_no_measure_of_labels_is_refused(
    classifier: fh.SDLGMClassifier, given: tuple[Any, ...], sentence: str
) -> None:
    with pytest.raises(InvalidInputError) as error:
        summarise(classifier, X, *given)
    assert sentence in str(error.value)


def test_models_of_rows_and_labels_need_no_labels() -> None:
    model = fh.SDLGMClassifier(**QUICK, variant="gen").fit(X, Y)
    summary = summarise(model, X)
    assert summary.get("micro_f1") is None
    assert summary.value("bound") == pytest.approx(model.elbo(X).mean())


def poor(name: str, value: float, reference: str, other: float) -> list[Number]:
    return [Number(name=name, value=value, verdict="poor"), Number(name=f"{name}_{reference}", value=other)]


def test_what_predicts_labels_better_is_told() -> None:
    below = Summary(numbers=poor("label_likelihood", -4.0, "shares", -3.0), facts={"variant": "gen"})
    (alarm,) = alarms(below)
    assert (alarm.name, alarm.severity) == ("below_shares", "serious")
    assert "better by the share of each label than by the model: log likelihood -3 against -4" in alarm.sentence
    assert "variant='dis'" in alarm.sentence
    linear = Summary(numbers=poor("macro_f1", 0.3, "linear", 0.4), facts={"variant": "dis"})
    (alarm,) = alarms(linear)
    assert (alarm.name, alarm.severity) == ("below_linear", "warning")
    assert "threshold_average='macro'" in alarm.sentence
    counts = Summary(numbers=poor("squared_error", 0.4, "means", 0.3), facts={"variant": "dis"})
    (alarm,) = alarms(counts)
    assert alarm.name == "below_means"
    assert "counts are predicted better by the mean of each count" in alarm.sentence
    assert alarms(Summary(numbers=[Number(name="micro_f1", value=0.3, verdict="fair")])) == []


def test_a_summary_of_labels_has_a_page(classifier: fh.SDLGMClassifier) -> None:
    page = summarise(classifier, X[300:], Y[300:])._repr_html_()
    assert page.index("micro f1 linear") < page.index("All 9 numbers")
