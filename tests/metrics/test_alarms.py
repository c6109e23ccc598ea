"""Alarms: each on a model that has been broken so, and none on numbers that are good."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch

import fewhot as fh
from fewhot.metrics import Alarm, Number, Summary, alarms, summarise
from tests.metrics.conftest import PlantedRows

GOOD: dict[str, Any] = {"gated": True, "n_units": 20, "asked": 4.0, "grey_levels": False}


def names(found: Sequence[Alarm]) -> list[str]:
    return [alarm.name for alarm in found]


def with_logits(model: fh.VSC, bias: Sequence[float]) -> fh.VSC:
    """Return a copy whose gates do not look at the row."""
    broken = copy.deepcopy(model)
    with torch.no_grad():
        heads: Any = broken.module_.latent.heads
        heads.weight[:8] = 0.0
        heads.bias[:8] = torch.tensor(bias)
    return broken


def number(name: str, value: float, verdict: str = "") -> Number:
    return Number(name=name, value=value, verdict=verdict)


def by_hand(*numbers: Number, **facts: Any) -> list[str]:
    return names(alarms(Summary(numbers=list(numbers), facts=GOOD | facts)))


@pytest.fixture(scope="module")
def alarms_of(vsc: fh.VSC, planted: PlantedRows) -> Callable[[Sequence[float]], list[Alarm]]:
    return lambda bias: alarms(summarise(with_logits(vsc, bias), planted.X[:100]))


def test_all_gates_shut_is_a_collapse_and_nothing_else_about_units(alarms_of: Any) -> None:
    found = alarms_of([-9.0] * 8)
    assert found[0].name == "collapse"
    assert found[0].severity == "serious"
    assert "All gates are shut in 100% of the rows" in found[0].sentence
    assert not {"dead_units", "asked_number", "same_units"} & set(names(found))


def test_better_weights_that_missed_the_target_are_told() -> None:
    assert by_hand(below_history=1.9, history_active=2.5) == []
    found = alarms(Summary(numbers=[], facts=GOOD | {"below_history": 7.0, "history_active": 2.5}))
    assert names(found) == ["below_history"]
    assert "7 nats per row better earlier in training, with 2.5 active units per row" in found[0].sentence


def test_all_gates_open_is_a_dense_code(alarms_of: Any) -> None:
    found = alarms_of([9.0] * 8)
    assert found[0].name == "all_open"
    assert "8 of 8 units" in found[0].sentence
    assert "same_units" not in names(found)


def test_the_same_units_for_every_row_select_dimensions(alarms_of: Any) -> None:
    found = alarms_of([9.0, 9.0, 9.0] + [-9.0] * 5)
    assert found[0].name == "same_units"
    assert "selects dimensions instead of coding sparsely" in found[0].sentence
    assert {"few_units", "always_on_units", "asked_number"} <= set(names(found))


def test_a_miss_within_the_noise_of_the_rows_is_no_alarm() -> None:
    facts = {"gated": True, "n_units": 8, "asked": 4.0}

    def found(se: float) -> list[str]:
        active = Number(name="active", value=4.6, se=se, verdict="fair")
        return names(alarms(Summary(numbers=[active], facts=facts)))

    assert "asked_number" in found(0.1)
    assert "asked_number" not in found(0.4)


def test_the_number_asked_for_is_named_when_missed(alarms_of: Any) -> None:
    sentence = next(alarm.sentence for alarm in alarms_of([9.0] * 3 + [-9.0] * 5) if alarm.name == "asked_number")
    assert "1.5 active units a row were asked for and 3 are on" in sentence


def test_gates_that_are_each_a_little_open_are_doubtful(alarms_of: Any) -> None:
    assert "doubtful_gates" in names(alarms_of([9.0] + [-0.4] * 7))


def test_grey_levels_are_noted() -> None:
    X = np.random.default_rng(0).random((60, 5))
    model = fh.VAE(n_components=2, max_steps=20, random_state=0)
    found = alarms(summarise(model.fit(X), X))
    assert found[-1].name == "grey_levels"
    assert "not a proper likelihood" in found[-1].sentence
    assert "grey_levels" not in names(alarms(summarise(model.fit(np.round(X)), np.round(X))))


def test_a_dense_code_that_says_nothing_is_a_collapse(vae: fh.VAE, planted: PlantedRows) -> None:
    mute = copy.deepcopy(vae)
    with torch.no_grad():
        heads: Any = mute.module_.latent.heads
        heads.weight.zero_()
        heads.bias.zero_()
    assert names(alarms(summarise(mute, planted.X[:50])))[0] == "collapse"


@pytest.fixture(scope="module", params=[1, 3])
def one_code(request: pytest.FixtureRequest, planted: PlantedRows) -> Summary:
    """Return the summary of a model that gives all rows one code, far from its prior."""
    options = {"n_components": request.param, "hidden_layer_sizes": (8,), "max_steps": 20, "device": "cpu"}
    mute = fh.MATVAE(mmd_weight=0.0, random_state=0, **options).fit(planted.X)
    with torch.no_grad():
        heads: Any = mute.module_.latent.heads
        heads.weight.zero_()
        heads.bias.fill_(4.0)
    return summarise(mute, planted.X[:50])


def test_a_code_that_misses_the_prior_alike_for_all_rows_is_a_collapse(one_code: Summary) -> None:
    assert one_code.value("information") > 2
    first = alarms(one_code)[0]
    assert (first.name, first.severity) == ("collapse", "serious")
    assert "varies over rows" in first.sentence


def test_a_kl_is_not_called_good_where_no_unit_varies(one_code: Summary) -> None:
    found = one_code.get("information")
    assert found is not None
    assert found.verdict == ""
    assert "how far the codes are from the prior" in found.why


def test_gates_that_are_the_same_for_all_rows_are_told_whatever_they_cost(planted: PlantedRows) -> None:
    model = fh.VSC(4, alpha=0.5, hidden_layer_sizes=(8,), max_steps=20, device="cpu", random_state=0).fit(planted.X)
    with torch.no_grad():
        for name, value in model.module_.latent.named_parameters():
            value.fill_(2.0) if "bias" in name else value.zero_()
    summary = summarise(model, planted.X[:50])
    assert summary.value("information") > 2
    assert summary.value("mutual_information") == pytest.approx(0.0, abs=1e-3)
    assert "one_code" in [alarm.name for alarm in alarms(summary)]


def test_nothing_is_said_of_a_few_rows(planted: PlantedRows) -> None:
    model = fh.VSC(4, alpha=0.5, hidden_layer_sizes=(8,), max_steps=20, device="cpu", random_state=0).fit(planted.X)
    assert summarise(model, planted.X[:15]).verdict("mutual_information") == ""


def test_the_default_mat_vae_beats_a_constant_code(planted: PlantedRows) -> None:
    model = fh.MATVAE(
        n_components=8, hidden_layer_sizes=(32,), max_steps=2000, batch_size=64, device="cpu", random_state=0
    )
    train, test = planted.X[:500], planted.X[500:]
    loc, scale = train.mean(0), train.std(0)
    without = (-0.5 * ((test - loc) / scale) ** 2 - np.log(scale * np.sqrt(2 * np.pi))).sum(1).mean()
    found = summarise(model.fit(train), test)
    assert found.value("bound") > without
    assert found.value("active_units") >= 2
    assert "collapse" not in names(alarms(found))


def test_one_varying_unit_is_no_collapse() -> None:
    dense = {"gated": False}
    assert by_hand(number("information", 9.0, "good"), number("active_units", 1.0), **dense) == []
    assert by_hand(number("information", 9.0, "good"), number("active_units", 0.0), **dense) == ["collapse"]
    assert by_hand(number("information", 0.1, "poor"), number("active_units", 1.0), **dense) == ["collapse"]


def test_refined_dense_codes_are_counted_too(vae: fh.VAE, planted: PlantedRows) -> None:
    refined = copy.deepcopy(vae).set_params(refine_steps=2)
    assert summarise(refined, planted.X[:50]).get("active_units") is not None


def test_a_flattering_relaxation_is_told() -> None:
    assert by_hand(number("relaxation_gap", 18.0, "poor"), number("bound", -168.0)) == ["relaxed_objective"]
    assert by_hand(number("relaxation_gap", 1.0, "good")) == []


def test_a_model_of_its_training_rows_is_told() -> None:
    assert by_hand(number("training_gap", 12.0, "poor")) == ["training_rows"]


def test_empty_rows_are_told_before_they_are_all() -> None:
    assert by_hand(number("empty_rows", 0.3, "poor")) == ["empty_rows"]


def test_good_numbers_raise_no_alarm() -> None:
    good = [number(name, 4.0, "good") for name in ("active", "used", "effective", "expected_active", "information")]
    quiet = [number(name, 0.0, "good") for name in ("dead", "always_on", "empty_rows", "overlap", "relaxation_gap")]
    assert by_hand(*good, *quiet) == []


def test_gates_whose_codes_carry_nothing_are_a_collapse() -> None:
    poor = [number(name, 0.01, "poor") for name in ("information", "mutual_information")]
    assert by_hand(*poor, number("active", 4.0)) == ["collapse"]
    assert by_hand(poor[0], number("mutual_information", 2.0, "good"), number("active", 4.0)) == []


def test_coins_that_are_often_on_are_as_they_should_be() -> None:
    coins = [number("overlap", 0.9, "poor"), number("always_on", 9.0, "poor"), number("active", 9.0)]
    assert by_hand(*coins) == ["same_units", "always_on_units"]
    assert by_hand(*coins, binary=True) == []


def test_the_worst_comes_first() -> None:
    found = by_hand(
        number("relaxation_gap", 9.0, "poor"), number("overlap", 0.9, "poor"), number("active", 3.0), grey_levels=True
    )
    assert found == ["same_units", "relaxed_objective", "grey_levels"]


@pytest.mark.parametrize(("active", "advice"), [(1.0, "train longer"), (4.0, "ask for more units")])
def test_empty_rows_are_met_by_what_was_not_done_yet(active: float, advice: str) -> None:
    facts = {"gated": True, "n_units": 8, "asked": 4.0}
    numbers = [Number(name="active", value=active), number("empty_rows", 0.3, "poor")]
    found = alarms(Summary(numbers=numbers, facts=facts))
    assert [advice in alarm.sentence for alarm in found if alarm.name == "empty_rows"] == [True]


def test_what_lies_below_its_references_is_told() -> None:
    words = {"columns": "the mean and variance of each column", "factors": "factor analysis with 4 factors"}
    poor = [number("bound", -50.0, "poor"), number("reference_columns", -40.0), number("reference_factors", -30.0)]
    facts = {**GOOD, "references": words}
    found = alarms(Summary(numbers=poor, facts=facts))
    assert [(alarm.name, alarm.severity) for alarm in found] == [("below_columns", "serious")]
    assert "that of the mean and variance of each column alone (-40)" in found[0].sentence
    assert "train longer" in found[0].sentence
    poor[0] = number("bound", -35.0, "poor")
    overfitted = [*poor, number("training_gap", 9.0, "fair")]
    found = alarms(Summary(numbers=overfitted, facts=facts))
    assert [(alarm.name, alarm.severity) for alarm in found] == [("below_factors", "warning")]
    assert "below factor analysis with 4 factors (-30)" in found[0].sentence
    assert "give fewer units (n_components=)" in found[0].sentence
    assert by_hand(number("bound", -35.0, "fair"), number("reference_factors", -30.0)) == []


def test_reconstructions_worse_than_those_of_pca_are_told() -> None:
    numbers = [number("fvu", 0.6, "poor"), number("fvu_pca", 0.3)]
    found = alarms(Summary(numbers=numbers, facts={**GOOD, "references": {"axes": "PCA with 4 dimensions"}}))
    assert [alarm.name for alarm in found] == ["below_pca"]
    assert "leave 60% of the variance unexplained and PCA with 4 dimensions 30%" in found[0].sentence


def below_factors(*numbers: Number, **facts: Any) -> str:
    """Return what is said of an ELBO below linear factors."""
    judged = [number("bound", -9.0, "poor"), number("reference_columns", -9.5), number("reference_factors", -5.0)]
    words = {"references": {"factors": "factor analysis with 4 factors", "columns": "each column"}}
    found = alarms(Summary(numbers=[*judged, *numbers], facts=GOOD | words | facts))
    return next(alarm.sentence for alarm in found if alarm.name == "below_factors")


def test_the_advice_follows_how_training_went() -> None:
    assert "train longer (max_steps=), give more units" in below_factors()
    assert "fewer units" in below_factors(overfitted=True)
    assert "fewer units" in below_factors(number("training_gap", 9.0, "fair"))
    dead = below_factors(number("dead", 15.0))
    assert "train longer" in dead
    assert "more units (" not in dead


def test_codes_that_tell_classes_worse_than_columns_do_are_told() -> None:
    columns, majority = Number(name="probe_columns", value=0.7, se=0.02), number("probe_majority", 0.2)
    assert by_hand(number("probe_map", 0.25, "poor"), columns, majority) == ["probe_below_columns"]
    assert by_hand(number("probe_map", 0.25, "fair"), columns, majority) == []
    assert by_hand(number("probe_map", 0.25, "poor"), number("probe_columns", 0.2), majority) == []


def test_codes_are_not_blamed_for_labels_that_columns_do_not_tell_either() -> None:
    columns, majority = Number(name="probe_columns", value=0.7, se=0.02), number("probe_majority", 0.67)
    assert by_hand(number("probe_map", 0.68, "poor"), columns, majority) == []
    assert by_hand(number("probe_map", 0.5, "poor"), columns, majority) == []


def test_units_left_over_are_no_matter_but_hardly_more_than_are_active_are() -> None:
    assert by_hand(number("dead", 50.0), number("used", 14.0, "good"), number("active", 4.0)) == []
    few = [number("used", 4.0, "poor"), number("active", 4.0)]
    assert by_hand(*few) == ["few_units"]
    assert by_hand(*few, binary=True) == []
