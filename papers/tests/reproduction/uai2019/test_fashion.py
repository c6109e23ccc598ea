from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits

from fewhot_papers.reproduction import Entry
from fewhot_papers.reproduction.measurements import Measurements, Row
from fewhot_papers.reproduction.running import ordered
from fewhot_papers.reproduction.uai2019 import ELBO, ELBO_HAR, ENTRIES, FACES, FIGURE_6, FIGURE_7, classes, fitting
from fewhot_papers.reproduction.uai2019.grid import fashion_fit
from fewhot_papers.reproduction.verdicts import CHANGED, NOT_REPRODUCED, NOT_RUNNABLE, Progressed, decide


@pytest.fixture
def digits(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Embedded digits in the place of the real files."""
    X, y = load_digits(return_X_y=True)
    loaded = SimpleNamespace(X=(X / 16).astype(np.float32)[:400], y=y[:400])
    monkeypatch.setattr(fitting, "dataset", lambda name, split, data_dir: loaded)
    return loaded


def small(cell: Any) -> dict[str, Any]:
    return {**cell.settings, "steps": 5, "hidden": 10, "n_train": 200, "n_test": 100}


def test_the_elbo_takes_thirty_nine_fits_that_figures_six_and_seven_share():
    assert len(ordered([ELBO], quick=False)) == 39
    assert len(ordered([ELBO, FIGURE_6, FIGURE_7], quick=False)) == 39


def test_a_sparse_fit_measures_all_three_bounds_and_what_figures_ask(digits):
    measured = fitting.fit_fashion(small(fashion_fit("vsc", 60, 0, alpha=0.01, quick=True)), None)
    numbers = measured.numbers
    assert set(numbers) >= {
        *("bound", "bound_corrected", "bound_paper", "bound_relaxed", "reconstruction_r2", "always_on"),
        *("units_of_some", "units_specific", "pairs_apart", "agreement", "agreement_chance"),
        *("walk_ends_agree", "walks_that_switch", "walk_distance_discrete", "walk_distance_continuous"),
    }
    assert numbers["bound_corrected"] <= numbers["bound"] + 1e-3
    assert numbers["bound_corrected"] <= numbers["bound_paper"]
    assert measured.arrays["p_active"].shape == (10, 60)


def test_a_dense_fit_measures_one_bound(digits):
    numbers = fitting.fit_fashion(small(fashion_fit("beta-vae", 10, 0, quick=True)), None).numbers
    assert "bound" in numbers
    assert not {"bound_paper", "agreement"} & set(numbers)


@pytest.mark.parametrize("entry", [ELBO, FIGURE_6, FIGURE_7], ids=lambda entry: entry.id)
def test_a_quick_run_goes_from_cells_to_figures(entry: Entry, digits):
    rows = []
    for cell in entry.cells(True):
        assert cell.settings["seed"] == 0
        made = fitting.fit_fashion(small(cell), None)
        rows.append(Row(cell.settings, made.numbers, made.arrays))
    figures = entry.draw(Measurements(rows))
    assert figures
    for figure in figures.values():
        assert all(axes.has_data() for axes in figure.axes)


# ------------------------------------------------------------------------------------------------------------ rules


def verdict(entry: Entry, numbers: Any) -> str:
    rows = []
    for cell in entry.cells(False):
        shift = 1e-3 * (cell.settings["seed"] - 1)
        rows.append(Row(cell.settings, {name: v + shift for name, v in numbers(dict(cell.settings)).items()}))
    return decide(entry, Measurements(rows), Progressed(len(rows), len(rows)), quick=False).verdict


def bounds(s: dict[str, Any], **other: float) -> dict[str, float]:
    """The beta-VAE falls beyond 60 units, the VSC does not."""
    bound = 90.0 if s["model"] == "vsc" else 100.0 - max(0, s["n_units"] - 60)
    return {"bound": bound, "bound_paper": bound, **(other if s["model"] == "vsc" else {})}


def test_the_elbo_needs_a_vsc_that_is_more_stable():
    assert verdict(ELBO, bounds) == CHANGED
    assert verdict(ELBO, lambda s: bounds({**s, "n_units": 60})) == NOT_REPRODUCED


def in_the_middle(s: dict[str, Any]) -> dict[str, float]:
    """A fall at 120 units, from which 200 recover."""
    return bounds(s, **({"bound": -900.0, "bound_paper": -900.0} if s["n_units"] == 120 else {}))


def test_the_elbo_needs_a_vsc_that_falls_at_no_size_and_names_a_fall_out_of_view():
    assert verdict(ELBO, in_the_middle) == NOT_REPRODUCED
    rows = [Row(c.settings, {**in_the_middle(dict(c.settings)), "bound_corrected": 1.0}) for c in ELBO.cells(False)]
    axes = ELBO.draw(Measurements(rows))["bound"].axes[0]
    assert "VSC, as published: -900.0 ± 0.0 at 120" in axes.texts[0].get_text().splitlines()
    assert axes.get_ylim()[0] > 0


def test_the_elbo_is_judged_by_the_published_bound_after_the_true_one():
    def falling(s: dict[str, Any]) -> dict[str, float]:
        return bounds(s, bound=100.0 - s["n_units"])

    assert verdict(ELBO, falling) == CHANGED
    assert verdict(ELBO, lambda s: {**falling(s), "bound_paper": falling(s)["bound"]}) == NOT_REPRODUCED


CLASSES = {"units_of_some": 20.0, "units_specific": 15.0, "pairs_apart": 1.0, "agreement": 0.6, "agreement_chance": 0.1}


@pytest.mark.parametrize("worse", [{"units_specific": 5.0}, {"pairs_apart": 0.5}, {"agreement": 0.1}])
def test_figure_6_needs_units_of_classes_and_samples_of_the_right_class(worse: dict[str, float]):
    assert verdict(FIGURE_6, lambda s: CLASSES) == CHANGED
    assert verdict(FIGURE_6, lambda s: {**CLASSES, **worse}) == NOT_REPRODUCED


@pytest.mark.parametrize("worse", [{"walks_that_switch": 0.1}, {"walk_ends_agree": 0.2}])
def test_figure_7_needs_walks_that_switch_and_arrive(worse: dict[str, float]):
    good = {"walks_that_switch": 0.9, "walk_ends_agree": 0.8}
    assert verdict(FIGURE_7, lambda s: good) == CHANGED
    assert verdict(FIGURE_7, lambda s: {**good, **worse}) == NOT_REPRODUCED


@pytest.mark.parametrize(("entry", "data"), [(ELBO_HAR, "UCI-HAR"), (FACES, "CelebA")])
def test_data_that_are_not_there_are_named(entry: Entry, data: str):
    found = decide(entry, Measurements([]), Progressed(0, 0), quick=False)
    assert found.verdict == NOT_RUNNABLE
    assert data in found.why


def test_every_entry_states_its_protocol_claim_and_rule():
    for entry in ENTRIES:
        assert all(text.strip() for text in (entry.title, entry.source, entry.protocol, entry.published, entry.rule))
        assert entry.open_choices


# ---------------------------------------------------------------------------------------------------------- classes


def test_units_that_every_class_uses_are_specific_to_none():
    found = classes.differences(np.full((4, 3), 0.9))
    assert found == {"units_of_some": 3.0, "units_specific": 0.0, "pairs_apart": 0.0}


def test_pairs_are_of_different_classes():
    labels = np.arange(50) % 3
    pairs = classes.pairs_of_classes(labels, 20, seed=0)
    assert len(pairs) == 20
    assert all(labels[a] != labels[b] for a, b in pairs)
