"""What the cells of an entry measured, asked by setting: means and standard errors over seeds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Value:
    """A mean over seeds, its standard error (NaN for a single seed) and their number."""

    mean: float
    se: float
    n: int

    def __sub__(self, other: Value) -> Value:
        return Value(self.mean - other.mean, math.hypot(self.se, other.se), min(self.n, other.n))

    def __str__(self) -> str:
        spread = "" if math.isnan(self.se) else f" ± {self.se:.{_places(self.mean)}f}"
        return f"{self.mean:.{_places(self.mean)}f}{spread}"


def value_of(numbers: Sequence[float]) -> Value:
    r"""Return the mean :math:`\bar x` and its standard error :math:`\sqrt{\sum_i (x_i-\bar x)^2 / (n(n-1))}`.

    >>> value_of([1.0, 2.0, 3.0])
    Value(mean=2.0, se=0.5773502691896258, n=3)
    """
    x = np.asarray(numbers, dtype=np.float64)
    mean = float(x.mean()) if len(x) else math.nan
    se = float(x.std(ddof=1) / math.sqrt(len(x))) if len(x) > 1 else math.nan
    return Value(mean, se, len(x))


@dataclass(frozen=True, slots=True)
class Row:
    """One computed cell."""

    settings: Mapping[str, Any]
    numbers: Mapping[str, float]
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)


class Measurements:
    """The computed cells of one entry.

    >>> rows = [Row({"units": 8, "seed": s}, {"bound": float(s)}) for s in (0, 1, 2)]
    >>> Measurements(rows).value("bound", units=8).mean
    1.0
    """

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = list(rows)

    def where(self, **settings: Any) -> Measurements:
        """Keep the cells with these settings."""
        return Measurements(
            [row for row in self.rows if all(row.settings.get(name) == v for name, v in settings.items())]
        )

    def value(self, name: str, **settings: Any) -> Value:
        """Return a number over the seeds of one setting; NaN where nothing was measured."""
        return value_of([row.numbers[name] for row in self.where(**settings).rows if name in row.numbers])

    def levels(self, name: str, **settings: Any) -> list[Any]:
        """Return the values one setting takes among the cells, in order."""
        return sorted({row.settings[name] for row in self.where(**settings).rows})

    def along(self, name: str, axis: str, **settings: Any) -> dict[Any, Value]:
        """Return a number against one setting, where it was measured."""
        values = {level: self.value(name, **{axis: level}, **settings) for level in self.levels(axis, **settings)}
        return {level: value for level, value in values.items() if value.n}

    def array(self, name: str, **settings: Any) -> np.ndarray | None:
        """Return an array of the first cell with these settings that kept one."""
        return next((row.arrays[name] for row in self.where(**settings).rows if name in row.arrays), None)

    def seeds(self) -> list[int]:
        """Return the seeds among the cells."""
        return sorted({row.settings["seed"] for row in self.rows if "seed" in row.settings})

    def table(self) -> list[dict[str, Any]]:
        """Return one line a setting, over its seeds: the settings, and every number with mean, SE and seed values.

        What a cell was asked to measure is no setting: the pictures of one seed do not set it apart.
        """
        groups: dict[str, list[Row]] = {}
        for row in self.rows:
            groups.setdefault(repr(sorted(_fitted_as(row).items())), []).append(row)
        return [_line(rows) for rows in groups.values()]


def _fitted_as(row: Row) -> dict[str, Any]:
    return {name: value for name, value in row.settings.items() if name not in ("seed", "measure")}


def _line(rows: list[Row]) -> dict[str, Any]:
    settings = _fitted_as(rows[0])
    names = dict.fromkeys(name for row in rows for name in row.numbers)
    return {"settings": settings, "numbers": {name: _spread(name, rows) for name in names}}


def _spread(name: str, rows: list[Row]) -> dict[str, Any]:
    values = [row.numbers[name] for row in rows if name in row.numbers]
    value = value_of(values)
    return {"mean": _json(value.mean), "se": _json(value.se), "n": value.n, "values": [_json(v) for v in values]}


def _json(number: float) -> float | None:
    """JSON has no NaN and no infinity."""
    return float(number) if math.isfinite(number) else None


def _places(number: float) -> int:
    return 1 if abs(number) >= 100 else 2 if abs(number) >= 10 else 3
