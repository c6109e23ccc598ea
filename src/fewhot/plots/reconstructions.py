"""Rows, what the decoder makes of their codes, and the codes, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fewhot.core.checks import whole_number
from fewhot.metrics.examples import decode, map_codes
from fewhot.plots.canvas import PLAIN, SMALL, dress, figure_legend, sheet, strip
from fewhot.plots.codes import code_bars, unit_ticks, units_to_show
from fewhot.plots.images import show
from fewhot.plots.palette import Theme, theme
from fewhot.plots.rows import (
    Columns,
    background_for,
    dense,
    grey_range,
    matrix_for,
    picture_shape,
    pictures,
    row_names,
    shape_for,
    values_of,
)

_LISTED = 8
_FINEST = 128
"""Pixels a side: there are few pictures here, and what was lost of them is the question."""


def reconstructions(
    estimator: Any,
    rows: Any,
    *,
    codes: Any = None,
    image_shape: Sequence[int] | None = None,
    feature_names: Sequence[str] | None = None,
    labels: Sequence[Any] | None = None,
    background: Any = None,
    max_rows: int = 8,
    dark: bool = False,
) -> Figure:
    """Draw rows, their reconstructions and their codes, one line a row.

    Parameters
    ----------
    estimator
        A fitted estimator.
    rows
        Rows (n, p), dense or sparse; the first ``max_rows`` are drawn.
    codes
        The codes of the rows, if they are there already.
    image_shape
        Draw rows as pictures of this shape; None takes that of the images of the fit, if there were any.
    feature_names
        A name a column.
    labels
        A text a row.
    background
        Rows that say how far columns usually spread; columns of very different spread are drawn on a common scale.
    max_rows
        How many rows at most.
    dark
        Draw on a dark background.
    """
    matrix, image_shape = matrix_for(estimator, rows, "rows"), shape_for(estimator, image_shape)
    n = min(whole_number("max_rows", max_rows), matrix.shape[0])
    names = row_names(labels, matrix.shape[0], n)
    values = values_of(map_codes(estimator, matrix[:n]) if codes is None else codes)[:n]
    original, code = dense(matrix, slice(n)), dense(values)
    decoded = decode(estimator, values)
    colours = theme(dark)
    if image_shape is not None:
        shape = picture_shape(image_shape, original.shape[1])
        return _as_pictures(original, decoded, code, shape, names, colours)
    background = background_for(estimator, background, original.shape[1])
    return _as_columns(
        original, decoded, code, Columns.of(original.shape[1], feature_names, background), names, colours
    )


def _as_pictures(
    original: np.ndarray,
    decoded: np.ndarray,
    code: np.ndarray,
    shape: tuple[int, ...],
    names: list[str],
    colours: Theme,
) -> Figure:
    side = 0.74
    figure = sheet(len(code) * (side + 0.03) + 0.55, colours)
    grid = figure.subplots(len(code), 4, squeeze=False, width_ratios=[1, 1, 5.7, 0.95])
    low, high = grey_range(original)
    for line, before, after in zip(grid, pictures(original, shape), pictures(decoded, shape), strict=True):
        show(line[0], before, low, high, finest=_FINEST)
        show(line[1], after, low, high, finest=_FINEST)
    grid[0][0].set_title("original", fontsize=SMALL, color=colours.muted)
    grid[0][1].set_title("decoded", fontsize=SMALL, color=colours.muted)
    _draw_codes(grid[:, 2:], code, names, colours)
    return figure


def _as_columns(
    original: np.ndarray,
    decoded: np.ndarray,
    code: np.ndarray,
    columns: Columns,
    names: list[str],
    colours: Theme,
) -> Figure:
    listed = min(_LISTED, columns.n)
    figure = sheet(len(code) * (1.15 if columns.profile else 0.42 + 0.16 * listed) + 0.6, colours)
    grid = figure.subplots(len(code), 3, squeeze=False, width_ratios=[1, 0.9, 0.2])
    draw = _profile if columns.profile else _list
    for line, before, after in zip(grid, columns.level(original), columns.level(decoded), strict=True):
        draw(line[0], before, after, columns, listed, colours)
    grid[-1][0].set_xlabel("column" if columns.profile else columns.unit)
    figure_legend(figure, grid[0][0], colours)
    _draw_codes(grid[:, 1:], code, names, colours, ticks=8)
    return figure


def _draw_codes(pairs: np.ndarray, code: np.ndarray, names: list[str], colours: Theme, ticks: int = 16) -> None:
    units, strips = units_to_show(code), pairs[:, 0]
    for (axes, side), values, name in zip(pairs, code[:, units], names, strict=True):
        code_bars(axes, values, units, code, colours)
        axes.tick_params(axis="x", length=0, labelbottom=False)
        active = int(np.count_nonzero(values))
        strip(side).text(0, 0.54, name, va="bottom", fontsize=SMALL, color=colours.ink, **PLAIN)
        if active < code.shape[1]:
            side.text(0, 0.46, f"{active} of {code.shape[1]} on", va="top", fontsize=SMALL - 0.5, color=colours.muted)
    strips[0].set_title("code", fontsize=SMALL, color=colours.muted)
    strips[-1].tick_params(axis="x", labelbottom=True)
    unit_ticks(strips[-1], units, most=ticks)
    strips[-1].set_xlabel("unit")


def _profile(axes: Axes, before: np.ndarray, after: np.ndarray, columns: Columns, listed: int, colours: Theme) -> None:
    dress(axes, colours, grid="y")
    marker = "o" if columns.n == 1 else ""
    axes.plot(range(columns.n), before, color=colours.muted, linewidth=1.2, marker=marker, label="original")
    axes.plot(range(columns.n), after, color=colours.blue, linewidth=1.4, marker=marker, label="decoded")
    axes.locator_params(axis="y", nbins=4)


def _list(axes: Axes, before: np.ndarray, after: np.ndarray, columns: Columns, listed: int, colours: Theme) -> None:
    top = np.argsort(-np.abs(before), kind="stable")[:listed]
    at = np.arange(len(top))
    dress(axes, colours, grid="x", ylim=(len(top) - 0.4, -0.6))
    axes.barh(at, before[top], height=0.62, color=colours.muted, alpha=0.55, label="original")
    axes.plot(after[top], at, linestyle="none", marker="D", markersize=4, color=colours.blue, label="decoded")
    axes.axvline(0, color=colours.muted, linewidth=0.8)
    axes.set_yticks(at, [columns.name(column, 22) for column in top], **PLAIN)
    axes.tick_params(axis="y", length=0, labelcolor=colours.ink)
    axes.locator_params(axis="x", nbins=5)
    axes.spines["left"].set_visible(False)
