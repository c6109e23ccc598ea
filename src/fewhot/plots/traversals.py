"""One unit turned through values, the rest of the code held still."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from fewhot.core.errors import InvalidParameterError
from fewhot.metrics.traversal import Traversal, traverse
from fewhot.plots.canvas import PLAIN, SMALL, WIDTH, dress, heading, message, number, sheet, strip
from fewhot.plots.images import show
from fewhot.plots.palette import LOWERED, RAISED, Theme, theme
from fewhot.plots.rows import Columns, background_for, dense, grey_range, matrix_for, picture_shape, pictures, shape_for

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
    prior_stds: float | None = None,
    n_units: int = 6,
    dark: bool = False,
) -> Figure:
    """Draw the decoder's mean of a row's code while one unit takes other values.

    Rows that are no pictures are drawn in blue for the first value to orange for the last. `fewhot.metrics.traverse`
    returns the same as arrays.

    Parameters
    ----------
    estimator
        A fitted estimator.
    row
        The row to begin with, (p,) or (1, p), dense or sparse.
    units
        The units to turn; None takes those that are on in this row, the largest values first.
    values
        The values to give them: one list for all, or one list a unit. None takes seven over the range that the unit
        has in ``background``; without one, from minus to plus 1.5 times the largest value of the row's code.
    image_shape
        Draw rows as pictures of this shape; None takes that of the images of the fit, if there were any.
    feature_names
        A name a column.
    background
        Rows that say what is usual: how far units go, and how far columns spread; columns of very different spread are
        drawn on a common scale.
    prior_stds
        Take seven values within so many standard deviations of the unit's prior instead.
    n_units
        How many units at most, if none are named.
    dark
        Draw on a dark background.
    """
    start, image_shape = matrix_for(estimator, row, "row"), shape_for(estimator, image_shape)
    if start.shape[0] != 1:
        raise InvalidParameterError(f"{start.shape[0]} rows were given; a traversal begins with one.")
    background = background_for(estimator, background, start.shape[1])
    background = None if background is None else background[:_BACKGROUND]
    usual = None if values is not None or prior_stds is not None else background
    how = {"values": values, "prior_stds": prior_stds, "background": usual, "n_units": n_units}
    turned = traverse(estimator, start, units, **how)
    colours = theme(dark)
    if not len(turned.units):
        return message("No unit is on in this row.", colours)
    if image_shape is not None:
        return _as_pictures(turned, dense(start), picture_shape(image_shape, start.shape[1]), colours)
    return _as_columns(turned, Columns.of(start.shape[1], feature_names, background), colours)


def _as_pictures(turned: Traversal, start: np.ndarray, shape: tuple[int, ...], colours: Theme) -> Figure:
    units, code = turned.units.tolist(), turned.code
    across = turned.values.shape[1]
    side = min(0.78, (WIDTH - 1.1) / across)
    figure = sheet(len(units) * (side + 0.22), colours, width=1.1 + across * side)
    grid = figure.subplots(len(units), across + 1, squeeze=False, width_ratios=[0.95 / side, *([1] * across)])
    low, high = grey_range(np.concatenate([start, *turned.decoded]))
    for line, unit, values, rows in zip(grid, units, turned.values, turned.decoded, strict=True):
        strip(line[0])
        line[0].text(1, 0.55, f"unit {unit}", ha="right", va="bottom", fontweight="bold", color=colours.ink)
        line[0].text(
            1, 0.47, f"here {number(float(code[unit]))}", ha="right", va="top", fontsize=SMALL, color=colours.muted
        )
        for axes, value, picture in zip(line[1:], values, pictures(rows, shape), strict=True):
            show(axes, picture, low, high)
            axes.set_title(number(value), fontsize=SMALL - 0.5, color=colours.muted, pad=2)
    return figure


def _as_columns(turned: Traversal, columns: Columns, colours: Theme) -> Figure:
    units, code = turned.units.tolist(), turned.code
    across = 1 if len(units) == 1 else 2
    lines = -(-len(units) // across)
    listed = min(_LISTED, columns.n)
    figure = sheet(lines * (1.7 if columns.profile else 0.8 + 0.17 * listed), colours)
    grid = figure.subplots(lines, across, squeeze=False).ravel()
    for axes in grid[len(units) :]:
        strip(axes)
    for axes, unit, values, rows in zip(grid, units, turned.values, turned.decoded, strict=False):
        hues = shades_of_way(len(values))
        draw = draw_profile if columns.profile else draw_list
        draw(axes, columns.level(rows), hues, columns, listed, colours)
        heading(axes, f"unit {unit}", colours, outside=not columns.profile)
        text = f"{number(values[0])} to {number(values[-1])}, here {number(float(code[unit]))}"
        axes.set_title(text, loc="right", fontsize=SMALL - 0.5, color=colours.muted)
    grid[len(units) - 1].set_xlabel("column" if columns.profile else columns.unit)
    return figure


def shades_of_way(n: int) -> np.ndarray:
    """Return ``n`` colours from blue over grey to orange, (n, 4)."""
    return LinearSegmentedColormap.from_list("way", [LOWERED, "#98a2ad", RAISED])(np.linspace(0, 1, n))


def draw_profile(axes: Axes, rows: np.ndarray, hues: np.ndarray, columns: Columns, listed: int, colours: Theme) -> None:
    """Draw rows as lines over their columns, each in its hue."""
    dress(axes, colours, grid="y", ylabel="" if columns.scaled else "value")
    marker = "o" if columns.n == 1 else ""
    for row, hue in zip(rows, hues, strict=True):
        axes.plot(range(columns.n), row, color=hue, linewidth=1.4, marker=marker)


def draw_list(axes: Axes, rows: np.ndarray, hues: np.ndarray, columns: Columns, listed: int, colours: Theme) -> None:
    """List the columns that differ most between rows, with a dot a row in its hue."""
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
