"""Rows beside what the model makes of their active units, and of none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fewhot.core.checks import whole_number
from fewhot.core.errors import InvalidParameterError
from fewhot.core.seeding import derive_seed, resolve_seed
from fewhot.metrics.examples import has_gates, without_names
from fewhot.plots.canvas import PLAIN, SMALL, WIDTH, dress, figure_legend, sheet, strip
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
)

_LISTED = 8
_LIKE, _FREE = "with its active units", "from the prior"


def samples(
    estimator: Any,
    rows: Any,
    *,
    n_samples: int = 4,
    kind: str = "mean",
    random_state: Any = 0,
    image_shape: Sequence[int] | None = None,
    feature_names: Sequence[str] | None = None,
    labels: Sequence[Any] | None = None,
    background: Any = None,
    max_rows: int = 6,
    dark: bool = False,
) -> Figure:
    """Draw rows, beside each what `sample_like` makes of its active units, and what `sample` makes of none.

    If the choice of units says what a row is, and their values how it looks, samples with the row's units are of its
    kind and samples from the prior are of all kinds.

    Parameters
    ----------
    estimator
        A fitted estimator with gates.
    rows
        Rows (n, p), dense or sparse; the first ``max_rows`` are drawn.
    n_samples
        How many samples of each sort a row.
    kind
        "mean" for the expected row of each sampled code, "draw" for a draw.
    random_state
        Seed of the samples.
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
    if not has_gates(estimator):
        raise InvalidParameterError(
            f"{type(estimator).__name__} has no gates, so no units of a row can be kept; use a gated model, or draw "
            f"estimator.sample() with plots.images."
        )
    n, k = min(whole_number("max_rows", max_rows), matrix.shape[0]), whole_number("n_samples", n_samples)
    names = row_names(labels, matrix.shape[0], n)
    original, seed = dense(matrix, slice(n)), resolve_seed(random_state)
    with without_names():
        like = estimator.sample_like(matrix[np.repeat(np.arange(n), k)], derive_seed(seed, "like"), kind)
    free = estimator.sample(n * k, derive_seed(seed, "free"), kind)
    like, free = (np.asarray(drawn, dtype=np.float64).reshape(n, k, -1) for drawn in (like, free))
    colours = theme(dark)
    if image_shape is not None:
        return _as_pictures(original, like, free, picture_shape(image_shape, original.shape[1]), names, colours)
    background = background_for(estimator, background, original.shape[1])
    columns = Columns.of(original.shape[1], feature_names, background)
    return _as_columns(original, like, free, columns, names, colours)


def _as_pictures(
    original: np.ndarray,
    like: np.ndarray,
    free: np.ndarray,
    shape: tuple[int, ...],
    names: list[str],
    colours: Theme,
) -> Figure:
    n, k = like.shape[:2]
    across = 2 * k + 1
    side = min(0.78, (WIDTH - 1.2) / across)
    figure = sheet(n * (side + 0.05) + 0.3, colours, width=1.2 + across * side)
    widths = [0.7 / side, 1, 0.15 / side, *([1] * k), 0.15 / side, *([1] * k)]
    grid = figure.subplots(n, len(widths), squeeze=False, width_ratios=widths)
    low, high = grey_range(np.concatenate([original, like.reshape(n * k, -1), free.reshape(n * k, -1)]))
    for line, row, its, others, name in zip(grid, original, like, free, names, strict=True):
        for axes in line:
            strip(axes)
        line[0].text(1, 0.5, name, ha="right", va="center", fontsize=SMALL, color=colours.ink, **PLAIN)
        folded = pictures(np.concatenate([row[None], its, others]), shape)
        for axes, picture in zip([line[1], *line[3 : k + 3], *line[k + 4 :]], folded, strict=True):
            show(axes, picture, low, high)
    for at, text in ((1, "row"), (3, _LIKE), (k + 4, _FREE)):
        where = {"xycoords": "axes fraction", "textcoords": "offset points"}
        title = grid[0][at].annotate(text, (0, 1), (0, 4), fontsize=SMALL, color=colours.muted, **where)
        title.set_in_layout(at == 1)  # the others are wider than their picture
    return figure


def _as_columns(
    original: np.ndarray, like: np.ndarray, free: np.ndarray, columns: Columns, names: list[str], colours: Theme
) -> Figure:
    listed = min(_LISTED, columns.n)
    figure = sheet(len(names) * (1.2 if columns.profile else 0.45 + 0.16 * listed) + 0.6, colours)
    grid = figure.subplots(len(names), 2, squeeze=False, sharex=True, sharey="row")
    draw = _profile if columns.profile else _list
    for line, row, its, others, name in zip(grid, columns.level(original), like, free, names, strict=True):
        draw(line[0], row, columns.level(its), columns, listed, colours.blue, colours)
        draw(line[1], row, columns.level(others), columns, listed, colours.orange, colours)
        line[0].set_title(name, loc="left", fontsize=SMALL, color=colours.ink, fontweight="bold", **PLAIN)
        line[1].tick_params(axis="y", labelleft=False)
    for axes, text in zip(grid[0], (_LIKE, _FREE), strict=True):
        axes.set_title(text, loc="right", fontsize=SMALL, color=colours.muted)
    for axes in grid[-1]:
        axes.set_xlabel("column" if columns.profile else columns.unit)
    figure_legend(figure, grid[0][0], colours)
    return figure


def _profile(
    axes: Axes, row: np.ndarray, drawn: np.ndarray, columns: Columns, listed: int, hue: str, colours: Theme
) -> None:
    dress(axes, colours, grid="y")
    marker = "o" if columns.n == 1 else ""
    for at, sample in enumerate(drawn):
        text = "samples" if not at else None
        axes.plot(range(columns.n), sample, color=hue, linewidth=0.9, alpha=0.6, marker=marker, label=text)
    axes.plot(range(columns.n), row, color=colours.ink, linewidth=1.5, marker=marker, label="the row")
    axes.locator_params(axis="y", nbins=4)


def _list(
    axes: Axes, row: np.ndarray, drawn: np.ndarray, columns: Columns, listed: int, hue: str, colours: Theme
) -> None:
    top = np.argsort(-np.abs(row), kind="stable")[:listed]
    at = np.arange(len(top))
    dress(axes, colours, grid="x", ylim=(len(top) - 0.4, -0.6))
    axes.barh(at, row[top], height=0.62, color=colours.muted, alpha=0.45, label="the row")
    for place, sample in enumerate(drawn):
        text = "samples" if not place else None
        axes.plot(sample[top], at, linestyle="none", marker="o", markersize=4, alpha=0.8, color=hue, label=text)
    axes.axvline(0, color=colours.muted, linewidth=0.8)
    axes.set_yticks(at, [columns.name(column, 22) for column in top], **PLAIN)
    axes.tick_params(axis="y", length=0, labelcolor=colours.ink)
    axes.locator_params(axis="x", nbins=5)
    axes.spines["left"].set_visible(False)
