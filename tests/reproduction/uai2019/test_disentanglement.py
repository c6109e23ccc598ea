from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from fewhot.core.schedules import Linear
from fewhot.data import smiley
from fewhot.reproduction import Cell
from fewhot.reproduction.measurements import Measurements, Row
from fewhot.reproduction.uai2019 import fitting
from fewhot.reproduction.uai2019.disentanglement import FIGURE_3, chosen_betas, first_cells
from fewhot.reproduction.verdicts import CHANGED, NOT_REPRODUCED, Progressed, decide


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


def verdict(numbers: Any) -> str:
    first = rows(list(first_cells(False)), numbers)
    both = [*first, *rows(list(chosen_betas(False, Measurements(first))), numbers)]
    return decide(FIGURE_3, Measurements(both), Progressed(len(both), len(both)), quick=False).verdict


def test_the_sweep_and_what_it_asks_for_are_fifty_five_fits():
    first = list(first_cells(False))
    assert len(first) == 18 + 24 + 1
    assert len(chosen_betas(False, Measurements(rows(first, published)))) == 12


def test_other_seeds_have_the_beta_that_is_best_on_held_out_rows():
    def numbers(s: dict[str, Any]) -> dict[str, float]:
        wanted = {"beta-vae": 4.0, "beta-tcvae": 16.0}.get(s["model"])
        return {"contrast": s["n_units"] * 1.0, "contrast_held_out": float(s["beta"] == wanted)}

    asked = chosen_betas(False, Measurements(rows(list(first_cells(False)), numbers)))
    assert {(c.settings["model"], c.settings["beta"]) for c in asked} == {("beta-vae", 4.0), ("beta-tcvae", 16.0)}
    assert {c.settings["seed"] for c in asked} == {1, 2}


def test_the_published_claim_with_fewer_steps_is_a_stated_change():
    assert verdict(published) == CHANGED


def test_the_library_alone_is_a_stated_change_too():
    assert verdict(lambda s: {**published(s), **({"contrast": 0.0} if s["model"] == "vsc" else {})}) == CHANGED


@pytest.mark.parametrize("lost", [{20: 0.6, 60: 0.6, 120: 0.5}, {20: 0.35, 60: 0.6, 120: 0.6}])
def test_contrast_must_stay_and_be_above_the_baselines(lost: dict[int, float]):
    def numbers(s: dict[str, Any]) -> dict[str, float]:
        return {**published(s), **({"contrast": lost[s["n_units"]]} if s["beta"] is None else {})}

    assert verdict(numbers) == NOT_REPRODUCED


def test_the_long_fit_decides_nothing():
    assert verdict(lambda s: {**published(s), **({"contrast": 0.0} if s["steps"] > 40_000 else {})}) == CHANGED


def test_a_quick_run_is_one_seed_and_asks_for_no_more():
    cells = first_cells(True)
    assert {cell.settings["seed"] for cell in cells} == {0}
    assert not chosen_betas(True, Measurements(rows(list(cells), published)))


def test_every_model_is_trained_for_smiley_as_published():
    X = smiley(100).X
    fitted = {}
    for cell in first_cells(True):
        settings = {**cell.settings, "steps": 20, "hidden": 5, "batch_size": 50}
        if settings["model"] not in fitted:
            fitted[settings["model"]] = fitting.estimator(settings, X.shape[1]).fit(X)
    vsc, dial = fitted["vsc"], fitted["vsc-dial"]
    assert (vsc.recipe, vsc.alpha, vsc.learning_rate) == ("uai2019", 0.01, 5e-4)
    assert vsc.module_.schedules["slab_share"].to_config() == Linear(0.0, 1.0, 1, begin=5).to_config()
    for name in ("vsc", "beta-vae", "beta-tcvae"):
        assert fitted[name].module_.schedules["learning_rate"].boundaries == [6]
    assert (dial.l0, dial.recipe, dial.learning_rate) == (9, None, 1e-3)


def test_a_quick_run_goes_from_cells_to_figures(monkeypatch: pytest.MonkeyPatch):
    train = SimpleNamespace(X=smiley(200).X)
    monkeypatch.setattr(fitting, "dataset", lambda name, split, data_dir: train)
    measured = []
    for cell in first_cells(True):
        made = fitting.fit_smiley({**cell.settings, "steps": 5, "hidden": 5, "n_test": 100}, None)
        measured.append(Row(cell.settings, made.numbers, made.arrays))
    assert measured[0].arrays["correlation"].shape == (18, 20)
    assert 0 <= measured[0].numbers["contrast"] <= 1
    figures = FIGURE_3.draw(Measurements(measured))
    assert set(figures) == {"contrast", "correlation"}
    for figure in figures.values():
        assert all(axes.has_data() for axes in figure.axes)
