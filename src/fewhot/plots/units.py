"""What the strongest units do, as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fewhot.plots.canvas import LARGE, PLAIN, SMALL, WIDTH, dress, figure_legend, heading, message, number, sheet, strip
from fewhot.plots.effects import UnitEffect, unit_effects
from fewhot.plots.images import show, show_change
from fewhot.plots.palette import Theme, theme
from fewhot.plots.rows import Columns, dense, grey_range, matrix_for, picture_shape, pictures, shape_for

_LISTED = 8
"""Columns listed a unit: those it changes most."""


def units(
    estimator: Any,
    X: Any,
    units: Sequence[int] | None = None,
    *,
    codes: Any = None,
    n_units: int = 8,
    image_shape: Sequence[int] | None = None,
    feature_names: Sequence[str] | None = None,
    dark: bool = False,
) -> Figure:
    """Draw what units add to the decoder's mean, and the rows that use them most.

    Pictures: what the unit adds (orange brighter, blue darker), then the rows that use it most. Other rows: the
    columns it changes most as bars, and as dots how much the rows that use it differ from the rest in the data; a bar
    without its dot is something that the decoder does and the data do not show.

    Parameters
    ----------
    estimator
        A fitted estimator.
    X
        Rows to look at, (n, p), dense or sparse.
    units
        Their numbers; None takes the ``n_units`` strongest.
    codes
        The codes of X, if they are there already.
    n_units
        How many units at most, if none are named.
    image_shape
        Draw rows as pictures of this shape; None takes that of the images of the fit, if there were any.
    feature_names
        A name a column.
    dark
        Draw on a dark background.
    """
    matrix, image_shape = matrix_for(estimator, X), shape_for(estimator, image_shape)
    columns = Columns.of(matrix.shape[1], feature_names, None if image_shape is not None else matrix)
    effects = unit_effects(estimator, matrix, units, codes=codes, n_units=n_units, scale=columns.scale)
    return draw_units(effects, matrix, columns=columns, image_shape=image_shape, dark=dark)


def draw_units(
    effects: Sequence[UnitEffect],
    X: Any,
    *,
    columns: Columns,
    image_shape: Sequence[int] | None = None,
    dark: bool = False,
) -> Figure:
    """Draw effects that were measured already."""
    colours = theme(dark)
    if not effects:
        return message("No unit is on in these rows.", colours)
    if image_shape is not None:
        return _as_pictures(effects, X, picture_shape(image_shape, X.shape[1]), colours)
    return _as_columns(effects, columns, colours)


def unit_words(effect: UnitEffect) -> str:
    """Say how often a unit is on and how large it is."""
    if not effect.gated:
        return f"spread {number(effect.value)}"
    return f"on in {number(100 * effect.share)} % of rows, mean value {number(effect.value)}"


def _as_pictures(effects: Sequence[UnitEffect], X: Any, shape: tuple[int, ...], colours: Theme) -> Figure:
    most = max(len(effect.rows) for effect in effects)
    side = min(0.72, (WIDTH - 1.5) / (most + 1.3))
    figure = sheet(len(effects) * (side + 0.05) + 0.3, colours)
    grid = figure.subplots(len(effects), most + 2, squeeze=False, width_ratios=[1.35 / side, 1.25, *([1] * most)])
    reach = max(float(np.abs(effect.change).max()) for effect in effects) or 1.0
    for line, effect in zip(grid, effects, strict=True):
        strip(line[0])
        line[0].text(1, 0.62, f"unit {effect.unit}", ha="right", fontsize=LARGE, fontweight="bold", color=colours.ink)
        for axes in line[2:]:
            strip(axes)
        if effect.dead:
            _say_dead(line[1], colours)
            continue
        text = unit_words(effect).replace(" of rows, ", "\n").replace(" value", "")
        line[0].text(1, 0.54, text, ha="right", va="top", fontsize=SMALL - 0.5, color=colours.muted, linespacing=1.35)
        show_change(line[1], pictures(effect.change[None], shape)[0], reach, colours)
        rows = dense(X, effect.rows)
        low, high = grey_range(rows)
        drawn = pictures(rows, shape) if len(rows) else []
        for axes, picture in zip(line[2:], drawn, strict=False):
            show(axes, picture, low, high)
    grid[0][1].set_title("adds", fontsize=SMALL, color=colours.muted, pad=4)
    if most:
        title = "rows that use it most" if effects[0].gated else "rows with its largest values"
        where = {"xycoords": "axes fraction", "textcoords": "offset points"}
        text = grid[0][2].annotate(title, (0, 1), (0, 4), fontsize=SMALL, color=colours.muted, **where)
        text.set_in_layout(False)  # it is wider than its picture
    return figure


def _as_columns(effects: Sequence[UnitEffect], columns: Columns, colours: Theme) -> Figure:
    across = 1 if len(effects) == 1 else 2
    lines = -(-len(effects) // across)
    listed = min(_LISTED, columns.n)
    figure = sheet(lines * (1.5 if columns.profile else 0.62 + 0.165 * listed) + 0.35, colours)
    grid = figure.subplots(lines, across, squeeze=False).ravel()
    for axes in grid[len(effects) :]:
        strip(axes)
    for axes, effect in zip(grid, effects, strict=False):
        heading(axes, f"unit {effect.unit}", colours, outside=not columns.profile)
        if effect.dead:
            _say_dead(axes, colours)
            continue
        draw = _profile if columns.profile else _list
        draw(axes, effect, columns, listed, colours)
        words = unit_words(effect).replace(" of rows", "").replace(" value", "")
        axes.set_title(words, loc="right", fontsize=SMALL - 0.5, color=colours.muted)
    drawn = next((axes for axes, effect in zip(grid, effects, strict=False) if not effect.dead), None)
    if drawn is not None:
        figure_legend(figure, drawn, colours)
    return figure


def _say_dead(axes: Axes, colours: Theme) -> None:
    style = {"va": "center", "color": colours.muted, "fontsize": SMALL}
    text = strip(axes).text(0, 0.5, "This unit is never on in these rows.", transform=axes.transAxes, **style)
    text.set_in_layout(False)  # it may be wider than its panel


def _list(axes: Axes, effect: UnitEffect, columns: Columns, listed: int, colours: Theme) -> None:
    change, observed = columns.change(effect.change), columns.change(effect.observed)
    top = np.argsort(-np.abs(change), kind="stable")[:listed]
    top = top[np.argsort(-change[top], kind="stable")]
    at = np.arange(len(top))
    hues = np.where(change[top] >= 0, colours.orange, colours.blue)
    dress(axes, colours, grid="x", ylim=(len(top) - 0.4, -0.6))
    axes.barh(at, change[top], height=0.62, color=hues, label="what the decoder adds")
    axes.plot(
        observed[top], at, linestyle="none", marker="o", markersize=4, color=colours.ink, label="what the data show"
    )
    axes.axvline(0, color=colours.muted, linewidth=0.8)
    axes.set_yticks(at, [columns.name(column, 22) for column in top], **PLAIN)
    axes.tick_params(axis="y", length=0, labelcolor=colours.ink)
    axes.locator_params(axis="x", nbins=5)
    axes.spines["left"].set_visible(False)


def _profile(axes: Axes, effect: UnitEffect, columns: Columns, listed: int, colours: Theme) -> None:
    at = np.arange(columns.n)
    dress(axes, colours, grid="y")
    hues = np.where(effect.change >= 0, colours.orange, colours.blue)
    axes.bar(at, columns.change(effect.change), width=0.8, color=hues, label="what the decoder adds")
    style = {"color": colours.ink, "linewidth": 1.0, "marker": ".", "markersize": 3}
    axes.plot(at, columns.change(effect.observed), label="what the data show", **style)
    axes.axhline(0, color=colours.muted, linewidth=0.8)
    axes.locator_params(axis="y", nbins=4)
