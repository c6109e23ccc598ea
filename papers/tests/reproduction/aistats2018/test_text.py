from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from fewhot_papers.reproduction.aistats2018 import fitting
from fewhot_papers.reproduction.aistats2018.grid import table_3, tuned_fits
from fewhot_papers.reproduction.aistats2018.text import FIGURE_7, TABLE_3
from fewhot_papers.reproduction.measurements import Measurements, Row
from fewhot_papers.reproduction.verdicts import NOT_REPRODUCED, REPRODUCED, Progressed, decide

PUBLISHED = {
    (1, "amortised", "norm"): (1018, 903), (1, "refined", "norm"): (1279, 889), (3, "amortised", "norm"): (986, 857),
    (3, "refined", "norm"): (1292, 879), (1, "amortised", "tfidf"): (932, 839), (1, "refined", "tfidf"): (953, 828),
    (3, "amortised", "tfidf"): (999, 842), (3, "refined", "tfidf"): (1063, 839),
}  # fmt: skip


def rows(change: Any = lambda key, pair: pair) -> list[Row]:
    measured = []
    for cell in table_3(False):
        s = cell.settings
        key = (s["n_layers"], s["inference"], s["features"])
        amortised, refined = (float(v) + s["seed"] for v in change(key, PUBLISHED[key]))
        large = {"amortised": 10.0, "refined": 40.0}[s["inference"]] + s["seed"]
        numbers = {"amortised": amortised, "refined": refined - 1, "refined_validation": refined - 50}
        measured.append(Row(s, {**numbers, "singular_above_one": large}))
    return measured


def tuned_rows(refined: float, validation: float) -> list[Row]:
    return [Row(cell.settings, {"refined": refined, "refined_validation": validation}) for cell in tuned_fits(False)]


def verdict(entry: Any, measured: list[Row]) -> str:
    return decide(entry, Measurements(measured), Progressed(len(measured), len(measured)), quick=False).verdict


def test_the_table_is_twenty_four_fits_and_as_many_of_our_own():
    assert len(table_3(False)) == len(tuned_fits(False)) == 24
    assert len({cell.name for cell in TABLE_3.cells(False)}) == 48


@pytest.mark.parametrize(
    ("refined", "validation", "found"),
    [(780.0, 700.0, REPRODUCED), (840.0, 700.0, NOT_REPRODUCED), (840.0, 900.0, REPRODUCED)],
    ids=["ours is better", "ours is chosen and worse", "ours is not chosen"],
)
def test_validation_documents_choose_the_setting(refined: float, validation: float, found: str):
    assert verdict(TABLE_3, rows() + tuned_rows(refined, validation)) == found


def test_the_published_numbers_are_reproduced_by_themselves():
    assert verdict(TABLE_3, rows()) == REPRODUCED
    assert verdict(FIGURE_7, rows()) == REPRODUCED


@pytest.mark.parametrize(
    "change",
    [
        lambda key, pair: (pair[1], pair[0]) if key == (3, "amortised", "norm") else pair,
        lambda key, pair: (pair[0], 900) if key == (3, "refined", "tfidf") else pair,
        lambda key, pair: (pair[0], pair[1] + 5),
    ],
    ids=["refinement does not help", "norm is better", "the best is above"],
)
def test_each_rule_decides(change: Any):
    assert verdict(TABLE_3, rows(change)) == NOT_REPRODUCED


def test_more_singular_values_decide_the_figure():
    measured = [Row(r.settings, {**r.numbers, "singular_above_one": 5.0 + r.settings["seed"]}) for r in rows()]
    assert verdict(FIGURE_7, measured) == NOT_REPRODUCED


def test_a_quick_run_goes_from_cells_to_figures(monkeypatch: pytest.MonkeyPatch):
    rng = np.random.default_rng(0)
    X = sp.csr_array(rng.poisson(0.3, (150, 40)).astype(np.float32))
    monkeypatch.setattr(fitting, "dataset", lambda name, split, data_dir: SimpleNamespace(X=X))
    measured = []
    for cell in [*table_3(True)[::3], *tuned_fits(True)]:
        made = fitting.fit_text({**cell.settings, "n_units": 3}, None)
        measured.append(Row(cell.settings, made.numbers, made.arrays))
        assert 1 < made.numbers["refined"] < 60
        assert made.arrays["spectrum"].shape == (3,)
        assert len(made.arrays["epoch"]) == len(made.arrays["bound"]) > 0
    (figure,) = TABLE_3.draw(Measurements(measured)).values()
    assert all(axes.has_data() for axes in figure.axes)
