from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from fewhot.models.sequence_decoder import SequenceDecoder
from fewhot.nn import WordGRU
from fewhot_papers.reproduction.cells import function_of
from fewhot_papers.reproduction.measurements import Measurements, Row
from fewhot_papers.reproduction.prokhorov2021 import ENTRIES, corpora, fitting
from fewhot_papers.reproduction.prokhorov2021.accuracy import FIGURE_2, PRETRAINED_ENCODERS, sparsity_and_accuracy
from fewhot_papers.reproduction.prokhorov2021.corpora import FIGURE_5, TABLE, TABLE_2, describe
from fewhot_papers.reproduction.prokhorov2021.grid import (
    CORPORA,
    DENSE,
    HIERARCHICAL,
    MATCHED,
    MATCHING_WEIGHTS,
    PENALISED,
    PRETRAINED_WEIGHTS,
    PRIORS,
    accuracy_cells,
    pretrained_cells,
    sparsity_cells,
)
from fewhot_papers.reproduction.prokhorov2021.sparsity import FIGURE_3, FIGURE_4

SPARSE_MODELS = (HIERARCHICAL, "B-HSVAE")
DENSE_WEIGHTS = {"VAE": MATCHING_WEIGHTS, "B-VAE": PRETRAINED_WEIGHTS}
HOYER = {p: h for priors in PRIORS.values() for p, h in zip(priors, (0.25, 0.4, 0.55, 0.72, 0.85), strict=True)}


def made_up(name: str, split: str, data_dir: Any) -> SimpleNamespace:
    rng = np.random.default_rng(len(name) + len(split))
    words = [f"w{i}" for i in range(30)]
    y = rng.integers(0, 3, 400)
    texts = [" ".join(words[label * 8 + i] for i in rng.integers(0, 12, rng.integers(2, 9))) for label in y]
    counts = np.array([[text.split().count(word) for word in words] for text in texts], dtype=np.float32)
    return SimpleNamespace(texts=texts, y=y, feature_names=words, X=counts)


def rows(cells: Any = accuracy_cells, **changes: float) -> list[Row]:
    """Return what fits measure where everything holds, some numbers of sparse HSVAE or all MAT-VAE changed.

    The more the divergence weighs, the worse a dense VAE says texts, and the worse its codes are told apart.
    """
    found = []
    for cell in cells(False):
        if cell.kind == "prokhorov-classifiers":
            found.append(Row(cell.settings, {"accuracy": 0.85}))
            continue
        model, dial, weight = (cell.settings[name] for name in ("model", "dial", "weight"))
        hoyer = HOYER[tuple(dial)] if model == HIERARCHICAL and isinstance(dial, list) else 0.75
        hoyer = hoyer if model in SPARSE_MODELS else 0.3
        numbers = {"held_out_nll": 40.0, "accuracy_sample": 0.8, "kl": 9.0, "used": 20.0, "empty_sample": 0.0}
        if model in DENSE_WEIGHTS:
            share = weight / DENSE_WEIGHTS[model][cell.settings["data"]][0]
            numbers |= {"held_out_nll": 36.0 + 4 * share, "accuracy_sample": 0.83 - 0.03 * share}
        numbers["hoyer_sample"] = hoyer + 0.001 * cell.settings["seed"]
        if model in SPARSE_MODELS and hoyer > 0.7:
            numbers |= {name: value for name, value in changes.items() if name != "matched"}
        if model == MATCHED and "matched" in changes:
            numbers["kl"] = changes["matched"]
        found.append(Row(cell.settings, numbers))
    return found


def holds(entry: Any, measured: list[Row]) -> bool:
    (reading,) = entry.judge(Measurements(measured))
    return reading.holds


def test_ids_are_the_papers() -> None:
    names = ("fig2", "fig2-pretrained", "fig3", "fig4", "fig5", "table2")
    assert [entry.id for entry in ENTRIES] == [f"prokhorov2021-{name}" for name in names]


@pytest.mark.parametrize(
    ("changes", "accuracy", "sparsity"),
    [
        ({}, True, True),
        ({"accuracy_sample": 0.771}, True, True),
        ({"accuracy_sample": 0.769}, False, True),
        ({"held_out_nll": 40.5}, False, True),
        ({"kl": 1.9}, False, True),
        ({"used": 4.0}, False, True),
        ({"matched": 0.1}, False, True),
        ({"empty_sample": 0.021}, True, False),
    ],
)
def test_each_number_decides(changes: dict[str, float], accuracy: bool, sparsity: bool) -> None:
    assert holds(FIGURE_2, rows(**changes)) is accuracy
    assert holds(FIGURE_3, rows(**changes)) is sparsity


@pytest.mark.parametrize(
    ("changes", "found"),
    [({}, True), ({"accuracy_sample": 0.791}, True), ({"accuracy_sample": 0.789}, False), ({"used": 4.0}, False)],
)
def test_a_point_decides_with_a_pretrained_encoder(changes: dict[str, float], found: bool) -> None:
    assert holds(PRETRAINED_ENCODERS, rows(pretrained_cells, **changes)) is found


@pytest.mark.parametrize(
    "hoyers", [(0.31, 0.4, 0.55, 0.72, 0.85), (0.25, 0.4, 0.55, 0.72, 0.79), (0.25, 0.56, 0.55, 0.72, 0.85)]
)
def test_sparsity_must_rise_over_a_wide_range(hoyers: tuple[float, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    for prior, hoyer in zip(PRIORS["hsvae_yahoo", 768], hoyers, strict=True):
        monkeypatch.setitem(HOYER, prior, hoyer)
    assert not holds(FIGURE_3, rows())


@pytest.mark.parametrize("dial", [[12.0, 1.0], [80.0, 1.0], 150.0])
def test_every_sparse_setting_is_compared(dial: Any) -> None:
    measured = [
        Row(row.settings, {**row.numbers, "accuracy_sample": 0.2}) if row.settings.get("dial") == dial else row
        for row in rows()
    ]
    assert not holds(FIGURE_2, measured)


def test_many_units_under_a_prior_begin_open() -> None:
    started = {
        (cell.settings["n_units"], isinstance(cell.settings["dial"], list))
        for cell in accuracy_cells(False)
        if cell.kind == "prokhorov-texts" and getattr(fitting.estimator(cell.settings), "dense_start", 0.0)
    }
    assert started == {(768, True), (768, False)}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_every_model_says_texts_word_by_word() -> None:
    cells = [cell.settings for cell in accuracy_cells(False) if cell.kind == "prokhorov-texts"]
    kinds = {(settings["model"], type(settings["dial"])): settings for settings in cells}
    assert {model for model, _ in kinds} == {DENSE, *PENALISED, HIERARCHICAL, MATCHED}
    small = {"hidden_layer_sizes": (8,), "max_steps": 1, "compile": False, "device": "cpu"}
    for settings in kinds.values():
        model = fitting.estimator(settings).set_params(**small).fit(["the sea is blue", "hot dry air"] * 10)
        assert isinstance(model.module_.encoder.body, WordGRU)
        assert isinstance(model.module_.decoder, SequenceDecoder)


def test_how_sparsity_and_accuracy_go_together_is_told() -> None:
    measured = [
        Row(row.settings, {**row.numbers, "accuracy_sample": 0.9 - row.numbers["hoyer_sample"] / 2})
        if row.settings["model"] == HIERARCHICAL
        else row
        for row in rows()
    ]
    drawn = FIGURE_2.draw(Measurements(measured))["accuracy"]
    assert [panel.get_title() for panel in drawn.axes] == [
        f"{corpus}, {n_units} units: HSVAE's priors, Spearman -1"
        for corpus in ("Yahoo", "DBpedia")
        for n_units in (32, 768)
    ]
    assert sparsity_and_accuracy(Measurements(measured[:3])) is None


def test_runs_that_differ_are_told() -> None:
    measured = rows(sparsity_cells)
    far = [
        Row(row.settings, {**row.numbers, "hoyer_sample": row.numbers["hoyer_sample"] + 0.04 * row.settings["seed"]})
        for row in measured
    ]
    assert not holds(FIGURE_3, far)


@pytest.fixture(scope="module")
def quick() -> list[Row]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitting, "dataset", made_up)
        found = []
        for cell in FIGURE_2.cells(True):
            made = function_of(cell.kind).work(cell.settings, None)
            found.append(Row(cell.settings, made.numbers, made.arrays))
    return found


def test_a_quick_run_measures_every_model(quick: list[Row]) -> None:
    *coded, classifier = quick
    assert {row.settings["model"] for row in coded} == {"VAE", "VAE-L1", "VAE-L2", HIERARCHICAL, MATCHED}
    assert 0 < classifier.numbers["accuracy"] < 1
    for row in coded:
        assert {"nll", "kl", "mutual_information", "used", "hoyer_sample", "hoyer_mean", "empty_sample"} <= set(
            row.numbers
        )
        assert all(np.isfinite(value) for value in row.numbers.values())
        assert row.numbers["mutual_information"] <= row.numbers["kl"] + 0.5
        np.testing.assert_array_equal(row.arrays["curve_epoch"], [1, 2])
        assert row.arrays["curve_nll"][1] < row.arrays["curve_nll"][0]


def test_a_quick_run_is_drawn(quick: list[Row]) -> None:
    assert FIGURE_2.draw(Measurements(quick))["accuracy"].axes
    assert set(FIGURE_3.draw(Measurements(quick))) == {"hoyer-32", "hoyer-768"}
    assert any(row.arrays.get("gamma") is not None for row in quick)
    assert FIGURE_4.draw(Measurements(quick))["classes"].axes


def test_held_out_texts_are_in_neither_other_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "dataset", made_up)
    corpus = fitting.texts_of("hsvae_yahoo", None, None)
    assert (corpus.train.texts.n_rows, corpus.held_out.texts.n_rows, corpus.test.texts.n_rows) == (360, 40, 400)
    again = fitting.texts_of("hsvae_yahoo", None, None)
    np.testing.assert_array_equal(corpus.held_out.y, again.held_out.y)
    assert sorted([*corpus.train.y, *corpus.held_out.y]) == sorted(made_up("hsvae_yahoo", "validation", None).y)


def test_the_table_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpora, "dataset", made_up)
    measured = [
        Row(cell.settings, (made := describe(cell.settings, None)).numbers, made.arrays)
        for cell in TABLE_2.cells(False)
    ]
    assert len(measured) == 2 * len(CORPORA)
    assert not holds(TABLE_2, measured)
    as_published = [Row(row.settings, {**row.numbers, **TABLE[row.settings["data"]]}) for row in measured]
    assert holds(TABLE_2, as_published)
    assert FIGURE_5.draw(Measurements(measured))["divergences"].axes
    far = [Row(row.settings, {"divergence": float(row.settings["data"] == "hsvae_dbpedia")}) for row in measured]
    assert holds(FIGURE_5, far)
