"""The rows a report looks at: few, chosen the same way every time, never all of them dense."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fewhot.core.records import UNLABELED
from fewhot.metrics.examples import map_codes
from fewhot.plots.rows import Columns, matrix_of, values_of
from fewhot.plots.usage import is_gated
from fewhot.report.markup import amount

UNITS = 16
"""Units that a table lists."""


@dataclass(frozen=True, kw_only=True)
class Sample:
    """Rows with their codes.

    Attributes
    ----------
    estimator
        The fitted estimator.
    data
        Where the rows come from: a `fewhot.data.Loaded`.
    X
        The rows, (n, p), dense or CSR; texts as strings, (n,).
    read
        What the model reads of them: the rows, or texts cut and numbered.
    y
        Their labels, as shown; None without labels.
    codes
        Their codes, (n, K).
    numbers
        Where they are among the rows they come from, (n,).
    """

    estimator: Any
    data: Any
    X: Any
    read: Any
    y: list[str] | None
    codes: Any
    numbers: np.ndarray

    @classmethod
    def of(cls, estimator: Any, data: Any, max_rows: int) -> Sample:
        """Take at most ``max_rows`` rows, in their order, and encode them."""
        X = data.X if data.holds_texts else matrix_of(data.X)
        n = X.shape[0]
        rows = np.arange(n)
        if n > max_rows:
            rows = np.sort(np.random.default_rng(0).choice(n, max_rows, replace=False))
            X = X[rows]
        y = None if data.y is None else _named(np.asarray(data.y)[rows], getattr(data, "label_names", None))
        read = _read(estimator, X) if data.holds_texts else X
        codes = values_of(map_codes(estimator, read))
        return cls(estimator=estimator, data=data, X=X, read=read, y=y, codes=codes, numbers=rows)

    @property
    def n_rows(self) -> int:
        """How many rows."""
        return int(self.X.shape[0])

    @property
    def n_units(self) -> int:
        """How many units."""
        return int(self.codes.shape[1])

    @cached_property
    def gated(self) -> bool:
        """Whether units can be off; a dense code may happen to have zeros."""
        module = getattr(self.estimator, "module_", None)
        return is_gated(self.codes) if module is None else module.latent.gated

    @cached_property
    def columns(self) -> Columns:
        """How columns are named and scaled; pictures are drawn as they are."""
        background = None if self.data.image_shape is not None else self.X
        return Columns.of(int(self.X.shape[1]), self.data.feature_names, background)

    def examples(self, n: int) -> np.ndarray:
        """Return rows to show: of every label in turn, or evenly spaced."""
        if self.y is None or len(set(self.y)) > n:
            return np.unique(np.linspace(0, self.n_rows - 1, n).astype(int))
        queues = [[row for row, label in enumerate(self.y) if label == name] for name in sorted(set(self.y), key=_key)]
        turns = [row for turn in range(n) for queue in queues for row in queue[turn : turn + 1]]
        return np.array(turns[:n])

    def typical(self) -> int:
        """Return a row with an ordinary number of active units."""
        active = np.asarray((self.codes != 0).sum(axis=1)).ravel()
        return int(np.argmin(np.abs(active - max(np.median(active), 1))))


def used_units(sample: Sample) -> list[int]:
    """Return the units that are used most, at most 16."""
    weight = _weights(sample)
    order = np.argsort(-weight, kind="stable")[:UNITS]
    return [int(unit) for unit in order if weight[unit] > 0]


def unit_use(sample: Sample, unit: int) -> str:
    """Say how much a unit is used: the share of rows in which it is on, or its standard deviation."""
    weight = float(_weights(sample)[unit])
    return f"{100 * weight:.3g} %" if sample.gated else amount(math.sqrt(weight))


def _weights(sample: Sample) -> np.ndarray:
    """Return how much each unit is used: its share of rows, or its variance where it has no gate."""
    if sample.gated:
        return np.asarray((sample.codes != 0).mean(axis=0), dtype=np.float64).ravel()
    return np.asarray(sample.codes, dtype=np.float64).var(axis=0)


def _read(estimator: Any, texts: np.ndarray) -> Any:
    """Return texts as the model reads them; that some are cut was said before."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*texts have more than", UserWarning)
        return estimator._rows(texts)


def _named(y: np.ndarray, names: list[str] | None) -> list[str]:
    known = dict(enumerate(names or [])) | {UNLABELED: "no label"}
    return [known.get(label, str(label)) for label in y.tolist()]


def _key(name: str) -> tuple[bool, float, str]:
    """Order labels as numbers where they are numbers."""
    return (False, float(name), "") if name.lstrip("-").isdigit() else (True, 0.0, name)
