from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fewhot.core.schedules import Linear
from fewhot_papers.data import smiley
from fewhot_papers.reproduction import Cell, Entry
from fewhot_papers.reproduction.measurements import Measurements, Row
from fewhot_papers.reproduction.uai2019 import fitting
from fewhot_papers.reproduction.uai2019.disentanglement import FIGURE_3, FIGURE_3_BINARY, by_size
from fewhot_papers.reproduction.uai2019.grid import AS_PUBLISHED, BLACK_AND_WHITE, Faces
from fewhot_papers.reproduction.verdicts import CHANGED, NOT_REPRODUCED, Progressed, decide


def published(s: dict[str, Any]) -> dict[str, float]:
    """The VSC keeps its contrast; baselines lose theirs as they grow, and are best with a beta of 8."""
    held_out = -abs((s["beta"] or 8.0) - 8.0)
    falling = {20: 0.4, 60: 0.2, 120: 0.1}[s["n_units"]] + held_out / 100
    return {"contrast": 0.6 if s["beta"] is None else falling, "contrast_held_out": held_out}


def rows(cells: list[Cell], numbers: Any) -> list[Row]:
    return [
        Row(c.settings, {k: v + 1e-3 * (c.settings["seed"] - 1) for k, v in numbers(dict(c.settings)).items()})
        for c in cells
    ]


ENTRIES = [(FIGURE_3, AS_PUBLISHED), (FIGURE_3_BINARY, BLACK_AND_WHITE)]
both_entries = pytest.mark.parametrize(("entry", "faces"), ENTRIES, ids=["unit-norm", "binary"])


def verdict(entry: Entry, numbers: Any) -> str:
    first = rows(list(entry.cells(False)), numbers)
    both = [*first, *rows(list(entry.follow_up(False, Measurements(first))), numbers)]
    return decide(entry, Measurements(both), Progressed(len(both), len(both)), quick=False).verdict


@both_entries
def test_the_sweep_and_what_it_asks_for_are_forty_two_fits_and_a_long_one(entry: Entry, faces: Faces):
    first = list(entry.cells(False))
    assert len(first) == 9 + 21 + (faces is AS_PUBLISHED)
    assert len(entry.follow_up(False, Measurements(rows(first, published)))) == 12
    assert {cell.settings["pictures"] for cell in first} == {faces.pictures}


@both_entries
def test_other_seeds_have_the_beta_that_is_best_on_held_out_rows(entry: Entry, faces: Faces):
    def numbers(s: dict[str, Any]) -> dict[str, float]:
        wanted = {"beta-vae": 4.0, "beta-tcvae": 16.0}.get(s["model"])
        return {"contrast": s["n_units"] * 1.0, "contrast_held_out": float(s["beta"] == wanted)}

    asked = entry.follow_up(False, Measurements(rows(list(entry.cells(False)), numbers)))
    assert {(c.settings["model"], c.settings["beta"]) for c in asked} == {("beta-vae", 4.0), ("beta-tcvae", 16.0)}
    assert {c.settings["seed"] for c in asked} == set(faces.seeds[1:])


@both_entries
def test_a_beta_of_one_is_fitted_once_for_both_baselines_and_compared_with_both(entry: Entry, faces: Faces):
    def plain(s: dict[str, Any]) -> dict[str, float]:
        return {"contrast": 0.3 if s["beta"] == 1 else 0.1, "contrast_held_out": float(s["beta"] == 1)}

    first = rows(list(entry.cells(False)), plain)
    asked = list(entry.follow_up(False, Measurements(first)))
    assert {(c.settings["model"], c.settings["beta"]) for c in asked} == {("beta-vae", 1.0)}
    assert len(asked) == 6
    everything = Measurements([*first, *rows(asked, plain)])
    for model in ("beta-vae", "beta-tcvae"):
        found = by_size(everything, "contrast", model, faces)
        assert {size: (value.n, round(value.mean, 1)) for size, value in found.items()} == dict.fromkeys(
            (20, 60, 120), (3, 0.3)
        )


def test_both_baselines_are_the_same_fit_with_a_beta_of_one():
    X = smiley(100).X
    same = {"steps": 20, "hidden": 5, "batch_size": 50, "beta": 1.0}
    found = [
        fitting.estimator({**cell.settings, **same}, X.shape[1]).fit(X).transform(X)
        for cell in FIGURE_3.cells(True)
        if cell.settings["beta"] == 4 and cell.settings["n_units"] == 20
    ]
    assert len(found) == 2
    np.testing.assert_array_equal(*found)


@both_entries
def test_the_published_claim_with_fewer_steps_is_a_stated_change(entry: Entry, faces: Faces):
    assert verdict(entry, published) == CHANGED


@both_entries
@pytest.mark.parametrize("lost", [{20: 0.6, 60: 0.6, 120: 0.5}, {20: 0.35, 60: 0.6, 120: 0.6}])
def test_contrast_must_stay_and_be_above_the_baselines(entry: Entry, faces: Faces, lost: dict[int, float]):
    def numbers(s: dict[str, Any]) -> dict[str, float]:
        return {**published(s), **({"contrast": lost[s["n_units"]]} if s["beta"] is None else {})}

    assert verdict(entry, numbers) == NOT_REPRODUCED


def test_the_long_fit_decides_nothing():
    assert (
        verdict(FIGURE_3, lambda s: {**published(s), **({"contrast": 0.0} if s["steps"] > 40_000 else {})}) == CHANGED
    )


@both_entries
def test_a_quick_run_is_one_seed_and_asks_for_no_more(entry: Entry, faces: Faces):
    cells = entry.cells(True)
    assert {cell.settings["seed"] for cell in cells} == {faces.seeds[0]}
    assert not entry.follow_up(True, Measurements(rows(list(cells), published)))


def one_of_each(entry: Entry, X: np.ndarray) -> dict[str, Any]:
    settings = {
        c.settings["model"]: {**c.settings, "steps": 20, "hidden": 5, "batch_size": 50} for c in entry.cells(True)
    }
    return {model: fitting.estimator(found, X.shape[1]).fit(X) for model, found in settings.items()}


def test_every_model_is_trained_for_smiley_as_published():
    fitted = one_of_each(FIGURE_3, smiley(100).X)
    vsc = fitted["vsc"]
    assert (vsc.recipe, vsc.alpha, vsc.learning_rate) == ("uai2019", 0.01, 5e-4)
    assert vsc.module_.schedules["slab_share"].to_config() == Linear(0.0, 1.0, 1, begin=5).to_config()
    for name in ("vsc", "beta-vae", "beta-tcvae"):
        assert fitted[name].module_.schedules["learning_rate"].boundaries == [6]
        assert type(fitted[name].module_.decoder.head).__name__ == "GaussianLikelihood"


@pytest.mark.filterwarnings("ignore:9 active units", "ignore:No unit was to serve")
def test_every_model_has_the_same_likelihood_on_black_and_white():
    fitted = one_of_each(FIGURE_3_BINARY, smiley(100, normalise=False).X)
    vsc = fitted["vsc-dense"]
    assert (vsc.l0, vsc.max_share, vsc.dense_start, vsc.decoder_sees_gates) == (9, 0.55, 0.5, True)
    assert {type(m.module_.decoder.head).__name__ for m in fitted.values()} == {"BernoulliLikelihood"}
    assert {m.learning_rate for m in fitted.values()} == {1e-3}


@both_entries
@pytest.mark.filterwarnings("ignore:9 active units", "ignore:No unit was to serve")
def test_a_quick_run_goes_from_cells_to_figures(entry: Entry, faces: Faces):
    measured = []
    for cell in entry.cells(True):
        made = fitting.fit_smiley({**cell.settings, "steps": 5, "hidden": 5, "n_train": 200, "n_test": 100}, None)
        measured.append(Row(cell.settings, made.numbers, made.arrays))
    assert measured[0].arrays["correlation"].shape == (18, 20)
    assert 0 <= measured[0].numbers["contrast"] <= 1
    figures = entry.draw(Measurements(measured))
    assert set(figures) == {"contrast", "correlation"}
    for figure in figures.values():
        assert all(axes.has_data() for axes in figure.axes)
