from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm, rankdata

from fewhot_papers.reproduction.measurements import Measurements, Row
from fewhot_papers.reproduction.verdicts import NOT_REPRODUCED, REPRODUCED, Progressed, decide
from fewhot_papers.reproduction.xu import labels
from fewhot_papers.reproduction.xu.labels import (
    FIGURE_5,
    HEADS,
    N_TRAIN,
    TABLE,
    TABLE_2,
    VARIANTS,
    fit_labels,
    split_of,
)


def rows(**changes: float) -> list[Row]:
    """Return the published numbers; a change adds to one model's."""
    measured = []
    for cell in TABLE_2.cells(False):
        known = TABLE[cell.settings["data"]][cell.settings["model"]]
        shift = changes.get(cell.settings["model"], 0.0) + (cell.settings["seed"] - 4.5) / 500
        numbers = {"micro": known.micro + shift, "macro": known.macro + shift}
        measured.append(Row(cell.settings, {**numbers, **{f"{k}_chosen_by": v for k, v in numbers.items()}}))
    return measured


def verdict(measured: list[Row]) -> str:
    return decide(TABLE_2, Measurements(measured), Progressed(len(measured), len(measured)), quick=False).verdict


def test_every_model_meets_every_split():
    assert len(TABLE_2.cells(False)) == len((*HEADS, *VARIANTS)) * (3 * 10 + 2)


def test_the_published_numbers_are_reproduced_by_themselves():
    assert verdict(rows()) == REPRODUCED


@pytest.mark.parametrize("changes", [{"dis": -0.05, "gen": -0.05, "con": -0.05}, {"logistic": 0.06}])
def test_each_rule_decides(changes: dict[str, float]):
    assert verdict(rows(**changes)) == NOT_REPRODUCED


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    parts: dict[str, Any] = {}
    for name, n in {"train": N_TRAIN["emotions"], "test": 202, "all": 502}.items():
        X = rng.normal(5, 3, size=(n, 12)).astype(np.float32)
        parts[name] = SimpleNamespace(X=X, y=(X[:, :6] > 6).astype(np.int64))
    monkeypatch.setattr(labels, "dataset", lambda name, part, data_dir: parts[part])
    return parts


def test_splits_share_no_row_and_have_scores_by_ranks_among_training_rows(made_up: dict[str, Any]):
    (X, Y), (_, Y_test) = split_of("emotions", "published", 0, None)
    raw = made_up["train"].X[made_up["train"].y.any(axis=1)]
    expected = np.clip(norm.ppf((rankdata(raw[:, 0]) - 1) / (len(raw) - 1)), -labels.FARTHEST, labels.FARTHEST)
    np.testing.assert_allclose(X[:, 0], expected, atol=1e-4)
    np.testing.assert_allclose(np.median(X, axis=0), 0, atol=1e-5)
    assert np.abs(X).max() == np.float32(labels.FARTHEST)
    assert Y.any(axis=1).all()
    assert Y_test.any(axis=1).all()
    assert len(X) == made_up["train"].y.any(axis=1).sum()
    one, other = (split_of("cal500", "random", seed, None)[0][0] for seed in (0, 1))
    assert not np.array_equal(one[:100], other[:100])
    joined = np.concatenate(split_of("cal500", "random", 0, None)[0][:1] + split_of("cal500", "random", 0, None)[1][:1])
    assert len(np.unique(joined, axis=0)) == len(joined) == made_up["all"].y.any(axis=1).sum()


def test_a_quick_run_goes_from_cells_to_figures(made_up: dict[str, Any]):
    measured = []
    for cell in TABLE_2.cells(True):
        if cell.settings["data"] == "cal500":
            made = fit_labels(cell.settings, None)
            assert 0 <= made.numbers["micro"] <= 1
            assert 0 <= made.numbers["micro_threshold"] <= 1
            measured.append(Row(cell.settings, made.numbers, made.arrays))
    assert {row.settings["model"] for row in measured} == {*HEADS, *VARIANTS}
    for entry in (TABLE_2, FIGURE_5):
        (figure,) = entry.draw(Measurements(measured)).values()
        assert figure.axes[2].has_data()
    (reading,) = FIGURE_5.judge(Measurements(measured))
    assert len(reading.checks) == 1
