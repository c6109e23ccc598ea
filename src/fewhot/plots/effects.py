"""What a unit does: how the decoder's mean changes when it is added, and which rows use it most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from fewhot.core.checks import whole_number
from fewhot.core.errors import InvalidParameterError
from fewhot.metrics.examples import decode, has_gates, map_codes
from fewhot.metrics.traversal import named_units
from fewhot.plots.rows import matrix_for, values_of

_CONTEXTS = 16
"""Rows over which a unit's effect is averaged."""
_FAINT = 0.02
"""Units weaker than this share of the strongest are not among the strongest."""
_CANDIDATES = 64
"""Units whose effect is measured when the strongest are looked for: those on most often, or most varied."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitEffect:
    r"""What one unit does.

    Attributes
    ----------
    unit
        Its number.
    share
        Share of rows in which it is on; 1 for a unit without a gate.
    value
        Its mean value where it is on, with the sign it has mostly; its standard deviation for a unit without a gate.
    change
        What it adds to the decoder's mean, (p,): the mean of :math:`f(z) - f(z_{j \to 0})` over rows that use it.
        For a unit without a gate: from its 10 % to its 90 % quantile, other units as they are.
    observed
        The same in the data, (p,): the mean of the rows that use it less the mean of the others; without a gate, of
        the tenth of rows with its largest values less the tenth with its smallest. NaN where all rows use it, or none.
    rows
        Rows that use it most, strongest first.
    gated
        Whether it can be off.
    """

    unit: int
    share: float
    value: float
    change: np.ndarray
    observed: np.ndarray
    rows: np.ndarray
    gated: bool

    @property
    def dead(self) -> bool:
        """Whether no row uses it."""
        return self.share == 0


def unit_effects(
    estimator: Any,
    X: Any,
    units: Sequence[int] | None = None,
    *,
    codes: Any = None,
    n_units: int = 8,
    n_rows: int = 8,
    scale: np.ndarray | float = 1.0,
) -> list[UnitEffect]:
    r"""Return what units do; those that do most, if none are named.

    A unit's strength is the share of rows that use it times the mean of :math:`|\text{change}| / \text{scale}`.

    Parameters
    ----------
    estimator
        A fitted estimator.
    X
        Rows to look at, (n, p), dense or sparse.
    units
        Their numbers; None takes the ``n_units`` strongest that are on in some row.
    codes
        The codes of X, if they are there already.
    n_units
        How many units at most, if none are named.
    n_rows
        How many rows to name a unit.
    scale
        Spread of each column, by which changes are compared.
    """
    matrix = matrix_for(estimator, X)
    values = values_of(map_codes(estimator, matrix) if codes is None else codes)
    if values.shape[0] != matrix.shape[0]:
        raise InvalidParameterError(
            f"codes has {values.shape[0]} rows and X has {matrix.shape[0]}; give the codes of these rows."
        )
    gated = has_gates(estimator)  # a dense code may happen to have zeros
    columns = values.tocsc() if sp.issparse(values) else values
    chosen = _candidates(columns, gated) if units is None else named_units(units, values.shape[1])
    measured = [_effect(estimator, matrix, values, columns, unit, n_rows, gated=gated) for unit in chosen]
    if units is not None:
        return measured
    strength = [effect.share * float(np.abs(effect.change / scale).mean()) for effect in measured]
    best = np.argsort(-np.array(strength), kind="stable")[: whole_number("n_units", n_units)]
    return [measured[at] for at in best if strength[at] >= _FAINT * max(strength)]


def _candidates(columns: Any, gated: bool) -> list[int]:
    weight = np.asarray((columns != 0).sum(axis=0), dtype=float).ravel() if gated else columns.var(axis=0)
    order = np.argsort(-weight, kind="stable")[:_CANDIDATES]
    return [int(unit) for unit in order if weight[unit] > 0]


def _column(columns: Any, unit: int) -> np.ndarray:
    column = columns[:, [unit]]
    return np.asarray(column.toarray() if sp.issparse(column) else column, dtype=np.float64).ravel()


def _effect(
    estimator: Any, matrix: Any, values: Any, columns: Any, unit: int, n_rows: int, *, gated: bool
) -> UnitEffect:
    column = _column(columns, unit)
    sign = -1.0 if gated and column.sum() < 0 else 1.0
    order = np.argsort(-sign * column, kind="stable")
    if gated:
        users = order[: int((sign * column > 0).sum())]
        share, value = float((column != 0).mean()), float(column[users].mean()) if len(users) else 0.0
        contexts, low, high = users[_spread(len(users))], 0.0, None
        observed = _mean(matrix, users) - _mean(matrix, order[len(users) :])  # NaN if all rows use it, or none
    else:
        users, share, value = order, 1.0, float(column.std())
        contexts = _spread(len(column))
        low, high = np.quantile(column, [0.1, 0.9])
        tenth = max(1, len(column) // 10)
        observed = _mean(matrix, order[:tenth]) - _mean(matrix, order[-tenth:])
    change = _change(estimator, values, contexts, unit, low, high) if len(contexts) else np.zeros(matrix.shape[1])
    return UnitEffect(
        unit=unit,
        share=share,
        value=value,
        change=change,
        observed=observed,
        rows=users[: whole_number("n_rows", n_rows, least=0)],
        gated=gated,
    )


def _spread(n: int) -> np.ndarray:
    """Return up to so many numbers below ``n``, evenly spaced."""
    return np.unique(np.linspace(0, n - 1, _CONTEXTS).astype(int)) if n else np.zeros(0, dtype=int)


def _change(estimator: Any, values: Any, contexts: np.ndarray, unit: int, low: float, high: float | None) -> np.ndarray:
    chosen = values[contexts]
    codes = np.array(chosen.toarray() if sp.issparse(chosen) else chosen)
    without, with_it = codes.copy(), codes
    without[:, unit] = low
    if high is not None:
        with_it[:, unit] = high
    difference = decode(estimator, with_it) - decode(estimator, without)
    return difference.mean(axis=0, dtype=np.float64)


def _mean(matrix: Any, rows: Any) -> np.ndarray:
    chosen = matrix[rows]
    if not chosen.shape[0]:
        return np.full(matrix.shape[1], np.nan)
    return np.asarray(chosen.mean(axis=0), dtype=np.float64).ravel()
