"""A catalogue of tiny fake entries whose cells count how often they are computed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fewhot_papers.reproduction import Cell, Check, Entry, Reading, catalogue
from fewhot_papers.reproduction.cells import CELLS, CellFunction, Measured
from fewhot_papers.reproduction.measurements import Measurements


class Bench:
    """The fake catalogue: what was computed, and which cells shall fail or interrupt."""

    def __init__(self) -> None:
        self.computed: Counter[int] = Counter()
        self.failing: set[int] = set()
        self.interrupting: set[int] = set()
        self.entries: dict[str, Entry] = {}

    def work(self, settings: Mapping[str, Any], data_dir: Path | None) -> Measured:
        x = settings["x"]
        if x in self.interrupting:
            raise KeyboardInterrupt
        if x in self.failing:
            raise ValueError(f"cell {x} is broken")
        self.computed[x] += 1
        return Measured({"y": float(x * 10 + settings["seed"])}, {"picture": np.full((1, 4), x / 2)})

    def add(self, name: str, xs: range, **changes: Any) -> Entry:
        entry = Entry(
            **{
                "id": name,
                "title": "A fake",
                "source": "nowhere, figure 0",
                "data": (),
                "protocol": "count",
                "published": "y grows",
                "rule": "y is above -1",
                "cells": lambda quick: [fake_cell(x, seed) for x in xs for seed in ((0,) if quick else (0, 1, 2))],
                "judge": judge,
                "draw": draw,
                **changes,
            }
        )
        self.entries[name] = entry
        return entry


def fake_cell(x: int, seed: int = 0, **settings: Any) -> Cell:
    return Cell(kind="fake", settings={"x": x, "seed": seed, **settings})


def judge(measured: Measurements) -> list[Reading]:
    return [Reading(None, [Check("y is above -1", measured.value("y").mean > -1, str(measured.value("y")))])]


def draw(measured: Measurements) -> dict[str, Any]:
    from fewhot_papers.reproduction.figures import curves, panels

    figure, axes = panels(1, 1)
    curves(axes[0, 0], {"y": measured.along("y", "x")}, title="fake", x="x", y="y")
    return {"line": figure}


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    made = Bench()
    monkeypatch.setitem(CELLS, "fake", CellFunction(made.work, 1))
    monkeypatch.setattr(catalogue, "_all", lambda: made.entries)
    return made


@pytest.fixture
def places(tmp_path: Path) -> dict[str, Path]:
    return {"out": tmp_path / "results", "cache": tmp_path / "cells"}
