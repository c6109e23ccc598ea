"""Summaries: the same numbers as their metrics, each with a meaning and a verdict or a reason for none."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import fewhot as fh
from fewhot.core.errors import InvalidInputError
from fewhot.metrics import RULES, Number, Summary, activity, average_hoyer, code_matrix, linear_probe, summarise
from tests.metrics.conftest import PlantedRows


@pytest.fixture(scope="module")
def summary(vsc: fh.VSC, planted: PlantedRows) -> Summary:
    return summarise(vsc, planted.X[400:], planted.labels[400:], planted.X[:400], planted.labels[:400])


def test_the_numbers_are_those_of_their_metrics(summary: Summary, vsc: fh.VSC, planted: PlantedRows) -> None:
    X = planted.X[400:]
    use = activity(vsc.transform(X))
    assert summary.value("bound") == pytest.approx(vsc.score(X))
    assert summary.value("active") == pytest.approx(use.active)
    for name in ("used", "dead", "always_on", "effective", "empty_rows"):
        assert summary.value(name) == getattr(use, name)
    for kind in ("map", "mean", "sample"):
        assert summary.value(f"hoyer_{kind}") == pytest.approx(average_hoyer(code_matrix(vsc, X, kind)).mean)
    assert summary.value("training_objective") == _kept(vsc)["terms"]["bound"]
    assert summary.value("slack") > 0


def test_every_number_says_what_it_means(summary: Summary) -> None:
    names = [number.name for number in summary.numbers]
    assert len(set(names)) == len(names)
    for number in summary.numbers:
        assert number.meaning, number.name
        assert number.why, number.name
        assert number.verdict in ("good", "fair", "poor", ""), number.name


def test_probes_learn_from_the_training_rows(summary: Summary, vsc: fh.VSC, planted: PlantedRows) -> None:
    X, y = planted.X, planted.labels
    for kind in ("map", "mean", "sample"):
        expected = linear_probe(vsc, X[:400], y[:400], X[400:], y[400:], kind=kind)  # type: ignore[arg-type]
        assert summary.value(f"probe_{kind}") == expected.accuracy


def test_without_training_rows_probes_learn_from_half(vsc: fh.VSC, planted: PlantedRows) -> None:
    found = summarise(vsc, planted.X[:300], planted.labels[:300]).get("probe_map")
    assert found is not None
    assert "150 labels" in found.meaning
    assert found.value > 0.6


def test_without_labels_there_is_no_probe(vsc: fh.VSC, planted: PlantedRows) -> None:
    assert summarise(vsc, planted.X[:50]).get("probe_map") is None


def test_labels_that_cannot_be_learned_give_no_probe(vsc: fh.VSC, planted: PlantedRows) -> None:
    assert summarise(vsc, planted.X[:50], np.zeros(50, dtype=int)).get("probe_map") is None


def test_a_summary_survives_json(summary: Summary) -> None:
    text = json.dumps(summary.to_dict(), allow_nan=False)
    assert Summary.from_dict(json.loads(text)).to_dict() == summary.to_dict()


def test_a_number_that_is_not_defined_is_written_as_none() -> None:
    written = Summary(numbers=[Number(name="overlap", value=float("nan"), se=float("nan"))]).to_dict()
    assert (written["numbers"][0]["value"], written["numbers"][0]["se"]) == (None, None)
    assert np.isnan(Summary.from_dict(written).value("overlap"))


def _kept(vsc: fh.VSC) -> dict[str, Any]:
    """Return the line of the history that stands for the weights: the best held-out ELBO that can reach the target."""
    after = [record for record in vsc.history_ if record["admissible"]]
    return sorted(after, key=lambda record: record["evaluation"]["bound_at_target"])[-1]


def test_gaps_are_judged_by_what_the_code_carries(summary: Summary, vsc: fh.VSC) -> None:
    gap = summary.get("training_gap")
    assert gap is not None
    assert gap.value == pytest.approx(
        summary.value("training_objective") - _kept(vsc)["evaluation"]["bound"] - summary.value("relaxation_gap")
    )
    assert summary.value("information") > 1.5
    beyond_chance = max(0.0, gap.value - 2 * gap.se)
    assert gap.why == RULES["training_gap"].why(beyond_chance / summary.value("information"))


def test_codes_without_gates_are_not_judged_for_sparsity(vae: fh.VAE, planted: PlantedRows) -> None:
    found = summarise(vae, planted.X[:100])
    assert found.get("active") is None
    assert found.get("calibration") is None
    assert found.verdict("hoyer_map") == ""
    assert found.facts["gated"] is False


def test_the_number_asked_for_is_a_fact(summary: Summary, vae: fh.VAE, planted: PlantedRows) -> None:
    assert summary.facts["asked"] == 1.5
    assert summarise(vae, planted.X[:50]).facts["asked"] is None


def test_a_refined_model_is_summarised_by_its_map_codes(planted: PlantedRows) -> None:
    X, y = planted.X[:40], planted.labels[:40]
    model = fh.VSC(n_components=4, l0=2, hidden_layer_sizes=(8,), max_steps=20, refine_steps=3, random_state=0).fit(X)
    found = summarise(model, X, y)
    assert found.value("refinement") == pytest.approx(float(model.codes(X).gap.mean()), abs=1e-4)
    assert found.get("hoyer_map") is not None
    assert found.get("hoyer_sample") is None
    assert found.get("probe_mean") is None


def test_sparse_counts_are_summarised() -> None:
    X = sp.csr_array(np.random.default_rng(0).poisson(0.5, size=(60, 9)))
    found = summarise(fh.VSC(n_components=5, l0=2, max_steps=20, random_state=0).fit(X), X)
    assert np.isfinite(found.value("bound"))
    assert found.facts["grey_levels"] is False


def test_proportions_of_counts_have_a_perplexity() -> None:
    X = sp.csr_array(np.random.default_rng(0).poisson(0.5, size=(60, 9)))
    nfa = fh.NFA(n_components=5, max_steps=20, random_state=0).fit(X)
    assert summarise(nfa, X).value("perplexity") == pytest.approx(nfa.perplexity(X), rel=1e-4)
    rates = fh.NFA(n_components=5, max_steps=20, likelihood="poisson", random_state=0).fit(X)
    assert summarise(rates, X).get("perplexity") is None


def test_grey_levels_leave_calibration_unjudged() -> None:
    X = np.random.default_rng(0).random((60, 5))
    found = summarise(fh.VSC(n_components=4, l0=2, max_steps=20, random_state=0).fit(X), X)
    assert found.facts["grey_levels"] is True
    assert found.verdict("calibration") == ""


def test_the_importance_weighted_bound_is_of_some_rows(vsc: fh.VSC, planted: PlantedRows) -> None:
    X = np.vstack([planted.X, planted.X])
    found = summarise(vsc, X).get("iwae")
    assert found is not None
    assert "1000 rows" in found.meaning


def test_training_rows_without_labels_are_refused(vsc: fh.VSC, planted: PlantedRows) -> None:
    with pytest.raises(InvalidInputError, match="both or neither"):
        summarise(vsc, planted.X, planted.labels, X_train=planted.X)
    with pytest.raises(InvalidInputError, match="without y"):
        summarise(vsc, planted.X, X_train=planted.X, y_train=planted.labels)


def test_a_label_too_few_is_refused(vsc: fh.VSC, planted: PlantedRows) -> None:
    with pytest.raises(InvalidInputError, match="one label a row"):
        summarise(vsc, planted.X[:50], planted.labels[:49])


@pytest.mark.parametrize("name", sorted(RULES))
def test_thresholds_are_ordered_and_explained(name: str) -> None:
    rule = RULES[name]
    assert (rule.good > rule.fair) == rule.higher
    assert [rule(rule.good), rule(rule.fair)] == ["good", "fair"]
    beyond = rule.fair - 0.01 if rule.higher else rule.fair + 0.01
    assert rule(beyond) == "poor"
    assert rule(float("nan")) == ""
    assert rule.because in rule.why(0.5)


def test_a_gap_within_the_chance_of_few_held_out_rows_is_no_overfitting() -> None:
    rng = np.random.default_rng(0)
    X = sp.csr_array(rng.poisson(rng.lognormal(0, 2, (200, 1)) * rng.dirichlet(np.ones(30))))  # long and short rows
    nfa = fh.NFA(n_components=2, hidden_layer_sizes=(8,), max_steps=30, random_state=0).fit(X)
    gap = summarise(nfa, X).get("training_gap")
    assert abs(gap.value) < 2 * gap.se
    assert gap.verdict == "good"
