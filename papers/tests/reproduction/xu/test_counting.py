from __future__ import annotations

import numpy as np
import pytest

from fewhot.data.compositions import compose
from fewhot_papers.reproduction.measurements import Measurements, Row
from fewhot_papers.reproduction.verdicts import NOT_REPRODUCED, REPRODUCED, Progressed, decide
from fewhot_papers.reproduction.xu import counting
from fewhot_papers.reproduction.xu.counting import TABLE_3, fit_counter


def verdict(places: float, forest: float) -> str:
    errors = {"places": places, "mlp": 0.15, "forest": forest}
    rows = [
        Row(cell.settings, {"mse": errors[cell.settings["model"]] + cell.settings["seed"] / 1000, "mse_rounded": 0.05})
        for cell in TABLE_3.cells(False)
    ]
    return decide(TABLE_3, Measurements(rows), Progressed(len(rows), len(rows)), quick=False).verdict


@pytest.mark.parametrize(
    ("places", "forest", "found"),
    [(0.04, 0.16, REPRODUCED), (0.06, 0.16, NOT_REPRODUCED), (0.04, 0.03, NOT_REPRODUCED)],
)
def test_the_error_and_the_forest_decide(places: float, forest: float, found: str):
    assert verdict(places, forest) == found


def test_a_quick_run_goes_from_cells_to_a_figure(monkeypatch: pytest.MonkeyPatch):
    rng = np.random.default_rng(0)
    images, classes = rng.random((60, 28, 28)), np.arange(60) % 10

    def compositions(split: str, n_rows: int, data_dir: object, *, random_state: int):
        return compose(images, classes, n_rows, random_state=random_state)

    monkeypatch.setattr(counting, "digit_compositions", compositions)
    measured = []
    for cell in TABLE_3.cells(True):
        made = fit_counter(cell.settings, None)
        assert 0 < made.numbers["mse"] < 1
        measured.append(Row(cell.settings, made.numbers, made.arrays))
    (figure,) = TABLE_3.draw(Measurements(measured)).values()
    assert len([axes for axes in figure.axes if axes.images]) == counting.SHOWN
