"""One unit of a code turned through values, the rest held still."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from fewhot.core.checks import real_number, whole_number
from fewhot.core.errors import InvalidParameterError
from fewhot.metrics.examples import decode, map_code, map_codes
from fewhot.metrics.matrices import as_matrix, dense, is_sparse

_STEPS = 7
_REACH = 1.5
"""Without anything to say what is usual, units go so many times as far as the row's largest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Traversal:
    """The decoder's mean of a code while single units take other values.

    Attributes
    ----------
    code
        The code of the row, (K,).
    units
        The units that were turned, (U,).
    values
        The values that each took, (U, S).
    decoded
        The decoder's mean of each, (U, S, p); of a model that says texts, the texts, (U, S).
    """

    code: np.ndarray
    units: np.ndarray
    values: np.ndarray
    decoded: np.ndarray


def traverse(
    estimator: Any,
    row: Any,
    units: Sequence[int] | None = None,
    *,
    values: Any = None,
    prior_stds: float | None = None,
    background: Any = None,
    n_units: int | None = None,
    n_values: int = _STEPS,
) -> Traversal:
    r"""Turn single units of a row's code through values, and decode.

    Units that are off stay off: of a sparse code, only the few elements that are not zero are turned.

    Parameters
    ----------
    estimator
        A fitted estimator.
    row
        The row to begin with, (p,) or (1, p), or a text.
    units
        The units to turn; None takes those that are on in this row, the largest values first.
    values
        The values to give them: one list for all, or one list a unit.
    prior_stds
        Instead of values: as far as so many standard deviations of the unit's prior on either side of its mean, when
        on: :math:`m_j \pm c\,s_j`. Where the prior knows which units go together, these are the values that go with
        the units of this row.
    background
        Rows, (n, p), or texts: units go through the range that they have there, from the 5 % to the 95 % quantile of
        their values when on, zero included. Without any of the three, units go from minus to plus 1.5 times the
        largest value of the row's code.
    n_units
        How many units at most, if none are named; None takes all that are on.
    n_values
        How many values a unit, if none are given.

    Examples
    --------
    >>> import fewhot as fh
    >>> X = np.random.default_rng(0).random((50, 4))
    >>> vae = fh.VAE(n_components=2, max_steps=5, random_state=0).fit(X)
    >>> turned = traverse(vae, X[0], [1], prior_stds=3)
    >>> turned.values[0].round(2).tolist()
    [-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0]
    """
    if values is not None and prior_stds is not None:
        raise InvalidParameterError("Both values and prior_stds were given; give at most one.")
    code = map_code(estimator, row, "row")
    chosen = largest_units(code, n_units) if units is None else named_units(units, len(code))
    if units is not None and not chosen:
        raise InvalidParameterError("units is empty; name at least one unit, or give None.")
    n_values = whole_number("n_values", n_values, least=2)
    if prior_stds is not None:
        values = prior_values(estimator, code, chosen, prior_stds, n_values)
    elif values is None and background is not None:
        values = usual_values(map_codes(estimator, background), chosen, n_values)
    table = _table(values, len(chosen), code, n_values)
    turned = [_turned(code, unit, line) for unit, line in zip(chosen, table, strict=True)]
    flat = decode(estimator, np.concatenate(turned)) if turned else decode(estimator, code[None])[:0]
    decoded = flat.reshape(len(chosen), table.shape[1], *flat.shape[1:])
    return Traversal(code=code, units=np.array(chosen, dtype=np.int64), values=table, decoded=decoded)


def largest_units(code: np.ndarray, n_units: int | None = None) -> list[int]:
    """Return the units that are on in a code, the largest values first."""
    most = None if n_units is None else whole_number("n_units", n_units)
    order = np.argsort(-np.abs(code), kind="stable")
    return order[code[order] != 0][:most].tolist()


def named_units(units: Any, n_units: int) -> list[int]:
    """Return unit numbers, if the model has them all."""
    if not hasattr(units, "__iter__"):
        raise InvalidParameterError(f"units is {units!r}; give a sequence of unit numbers, such as [0, 1].")
    chosen = [whole_number("each of units", unit, least=0) for unit in units]
    if any(unit >= n_units for unit in chosen):
        raise InvalidParameterError(f"Unit {max(chosen)} was asked for; the model has units 0 to {n_units - 1}.")
    return chosen


def chosen_units(units: Any, n_units: int) -> np.ndarray:
    """Return unit numbers, all of them for None; at least one."""
    chosen = np.array(range(n_units) if units is None else named_units(units, n_units), dtype=np.int64)
    if not len(chosen):
        raise InvalidParameterError("units is empty; name at least one unit, or give None.")
    return chosen


def prior_values(estimator: Any, code: np.ndarray, units: Sequence[int], stds: float, n_values: int) -> np.ndarray:
    """Return evenly spaced values within so many standard deviations of units' priors, (units, n_values)."""
    reach = real_number("prior_stds", stds, low=0, open_low=True)
    model = estimator.module_
    active = torch.as_tensor(code[None] != 0, device=next(model.parameters()).device)
    with torch.no_grad():
        moments = model.prior.values_given(active, model.posterior_of)
    mean, std = (moment[0].detach().cpu().numpy().astype(np.float64)[list(units)] for moment in moments)
    return mean[:, None] + std[:, None] * np.linspace(-reach, reach, n_values)


def usual_values(codes: Any, units: Sequence[int], n_values: int = _STEPS) -> np.ndarray:
    """Return evenly spaced values over the range that units usually have, zero included, (units, n_values).

    A unit that no row uses has no range: all its values are zero.
    """
    matrix = as_matrix(codes, "codes")
    gated = is_sparse(matrix) or bool((matrix == 0).any())
    columns = dense((matrix.tocsc() if is_sparse(matrix) else matrix)[:, list(units)])
    table: list[np.ndarray] = []
    for column in columns.T:
        on = column[column != 0] if gated else column
        low, high = np.quantile(on, [0.05, 0.95]) if len(on) else (0.0, 0.0)
        low, high = min(float(low), 0.0), max(float(high), 0.0)
        table.append(_through_zero(low, high, n_values) if high > low else np.zeros(n_values))
    return np.array(table).reshape(len(table), n_values)


def _through_zero(low: float, high: float, n: int) -> np.ndarray:
    """Return ``n`` values from ``low`` to ``high``, one of them exactly zero."""
    below = round(-low / (high - low) * (n - 1))
    below = min(max(below, int(low < 0)), n - 1 - int(high > 0))
    return np.concatenate([np.linspace(low, 0, below + 1), np.linspace(0, high, n - below)[1:]])


def _table(values: Any, n_units: int, code: np.ndarray, n_values: int) -> np.ndarray:
    """Return the values of every unit, (units, values)."""
    if values is None:
        reach = _REACH * float(np.abs(code).max()) or 1.0
        values = np.linspace(-reach, reach, n_values)
    table = np.asarray(values, dtype=np.float64)
    table = np.tile(table, (n_units, 1)) if table.ndim == 1 else table
    if table.ndim != 2 or len(table) != n_units or not table.shape[1]:
        raise InvalidParameterError(
            f"values has shape {np.shape(values)} for {n_units} units; give one list of numbers, or one list a unit."
        )
    return table


def _turned(code: np.ndarray, unit: int, values: np.ndarray) -> np.ndarray:
    """Return the code once a value, with the unit set to it."""
    codes = np.tile(code, (len(values), 1))
    codes[:, unit] = values
    return codes
