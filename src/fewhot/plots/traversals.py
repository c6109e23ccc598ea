"""One unit turned through values, the rest of the code held still."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from fewhot.core.errors import InvalidParameterError
from fewhot.plots.canvas import PLAIN, SMALL, WIDTH, dress, heading, number, sheet, strip
from fewhot.plots.effects import named_units, usual_values
from fewhot.plots.images import show
from fewhot.plots.palette import LOWERED, RAISED, Theme, theme
from fewhot.plots.rows import Columns, dense, encode, grey_range, matrix_of, picture_shape, pictures, values_of

_STEPS = 7
_UNITS = 6
_LISTED = 8
_BACKGROUND = 1000


def traversals(
    estimator: Any,
    row: Any,
    units: Sequence[int] | None = None,
    *,
    values: Any = None,
    image_shape: Sequence[int] | None = None,
    feature_names: Sequence[str] | None = None,
    background: Any = None,
    dark: bool = False,
) -> Figure:
    """Draw the decoder's mean of a row's code while one unit takes other values.

    Rows that are no pictures are drawn in blue for the first value to orange for the last.

    Parameters
    ----------
    estimator
        A fitted estimator.
    row
        The row to begin with, (p,) or (1, p), dense or sparse.
    units
        The units to turn; None takes the six with the largest values among those that are on in this row.
    values
        The values to give them: one list for all, or one list a unit. None takes seven over the range that the unit
        has in ``background``; without one, from minus to plus 1.5 times the largest value of the row's code.
    image_shape
        Draw rows as pictures of this shape.
    feature_names
        A name a column.
    background
        Rows that say what is usual: how far units go, and how far columns spread; columns of very different spread are
        drawn on a common scale.
    dark
        Draw on a dark background.
    """
    start = matrix_of(row)
    if start.shape[0] != 1:
        raise InvalidParameterError(f"{start.shape[0]} rows were given; a traversal begins with one.")
    code = dense(values_of(encode(estimator, start)))[0]
    chosen = _strongest(code) if units is None else named_units(units, len(code))
    if not chosen:
        raise InvalidParameterError("units is empty; name at least one unit, or give None.")
    background = None if background is None else matrix_of(background)[:_BACKGROUND]
    if values is None and background is not None:
        values = usual_values(encode(estimator, background), chosen)
    turned = _values(values, len(chosen), code)
    decoded = [_decode(estimator, code, unit, line) for unit, line in zip(chosen, turned, strict=True)]
    colours = theme(dark)
    if image_shape is not None:
        shape = picture_shape(image_shape, start.shape[1])
        return _as_pictures(chosen, turned, decoded, code, dense(start), shape, colours)
    columns = Columns.of(start.shape[1], feature_names, background)
    return _as_columns(chosen, turned, decoded, code, columns, colours)


def _strongest(code: np.ndarray) -> list[int]:
    order = np.argsort(-np.abs(code), kind="stable")[:_UNITS]
    return [int(unit) for unit in order if code[unit]] or [0]


def _values(values: Any, n_units: int, code: np.ndarray) -> np.ndarray:
    """Return the values of every unit, (units, steps)."""
    if values is None:
        reach = 1.5 * float(np.abs(code).max()) or 1.0
        values = np.linspace(-reach, reach, _STEPS)
    table = np.asarray(values, dtype=np.float64)
    table = np.tile(table, (n_units, 1)) if table.ndim == 1 else table
    if table.ndim != 2 or len(table) != n_units or not table.shape[1]:
        raise InvalidParameterError(
            f"values has shape {np.shape(values)} for {n_units} units; give one list of numbers, or one list a unit."
        )
    return table


def _decode(estimator: Any, code: np.ndarray, unit: int, values: np.ndarray) -> np.ndarray:
    codes = np.tile(code, (len(values), 1))
    codes[:, unit] = values
    return np.asarray(estimator.inverse_transform(codes), dtype=np.float64)


def _as_pictures(
    units: list[int],
    turned: np.ndarray,
    decoded: list[np.ndarray],
    code: np.ndarray,
    start: np.ndarray,
    shape: tuple[int, ...],
    colours: Theme,
) -> Figure:
    across = turned.shape[1]
    side = min(0.78, (WIDTH - 1.1) / across)
    figure = sheet(len(units) * (side + 0.22), colours, width=1.1 + across * side)
    grid = figure.subplots(len(units), across + 1, squeeze=False, width_ratios=[0.95 / side, *([1] * across)])
    low, high = grey_range(np.concatenate([start, *decoded]))
    for line, unit, values, rows in zip(grid, units, turned, decoded, strict=True):
        strip(line[0])
        line[0].text(1, 0.55, f"unit {unit}", ha="right", va="bottom", fontweight="bold", color=colours.ink)
        line[0].text(1, 0.47, f"here {number(code[unit])}", ha="right", va="top", fontsize=SMALL, color=colours.muted)
        for axes, value, picture in zip(line[1:], values, pictures(rows, shape), strict=True):
            show(axes, picture, low, high)
            axes.set_title(number(value), fontsize=SMALL - 0.5, color=colours.muted, pad=2)
    return figure


def _as_columns(
    units: list[int],
    turned: np.ndarray,
    decoded: list[np.ndarray],
    code: np.ndarray,
    columns: Columns,
    colours: Theme,
) -> Figure:
    across = 1 if len(units) == 1 else 2
    lines = -(-len(units) // across)
    listed = min(_LISTED, columns.n)
    figure = sheet(lines * (1.7 if columns.profile else 0.8 + 0.17 * listed), colours)
    grid = figure.subplots(lines, across, squeeze=False).ravel()
    shade = LinearSegmentedColormap.from_list("turned", [LOWERED, "#98a2ad", RAISED])
    for axes in grid[len(units) :]:
        strip(axes)
    for axes, unit, values, rows in zip(grid, units, turned, decoded, strict=False):
        hues = shade(np.linspace(0, 1, len(values)))
        draw = _profile if columns.profile else _list
        draw(axes, columns.level(rows), hues, columns, listed, colours)
        heading(axes, f"unit {unit}", colours, outside=not columns.profile)
        text = f"{number(values[0])} to {number(values[-1])}, here {number(code[unit])}"
        axes.set_title(text, loc="right", fontsize=SMALL - 0.5, color=colours.muted)
    grid[len(units) - 1].set_xlabel("column" if columns.profile else columns.unit)
    return figure


def _profile(axes: Axes, rows: np.ndarray, hues: np.ndarray, columns: Columns, listed: int, colours: Theme) -> None:
    dress(axes, colours, grid="y", ylabel="" if columns.scaled else "value")
    marker = "o" if columns.n == 1 else ""
    for row, hue in zip(rows, hues, strict=True):
        axes.plot(range(columns.n), row, color=hue, linewidth=1.4, marker=marker)


def _list(axes: Axes, rows: np.ndarray, hues: np.ndarray, columns: Columns, listed: int, colours: Theme) -> None:
    top = np.argsort(-np.ptp(rows, axis=0), kind="stable")[:listed]
    at = np.arange(len(top))
    dress(axes, colours, grid="x", ylim=(len(top) - 0.4, -0.6))
    axes.hlines(at, rows[:, top].min(axis=0), rows[:, top].max(axis=0), color=colours.rule, linewidth=2)
    for row, hue in zip(rows, hues, strict=True):
        axes.plot(row[top], at, linestyle="none", marker="o", markersize=4.5, color=hue)
    axes.set_yticks(at, [columns.name(column, 22) for column in top], **PLAIN)
    axes.tick_params(axis="y", length=0, labelcolor=colours.ink)
    axes.locator_params(axis="x", nbins=5)
    axes.spines["left"].set_visible(False)
