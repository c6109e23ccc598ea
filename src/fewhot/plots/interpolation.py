"""A walk between two examples, as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fewhot.core.checks import whole_number
from fewhot.metrics.interpolation import How, Interpolation, interpolate
from fewhot.plots.canvas import SMALL, WIDTH, dress, heading, sheet, strip
from fewhot.plots.codes import unit_ticks
from fewhot.plots.images import show
from fewhot.plots.palette import Theme, signed_colours, theme
from fewhot.plots.rows import Columns, background_for, dense, grey_range, matrix_for, picture_shape, pictures, shape_for
from fewhot.plots.traversals import draw_list, draw_profile, shades_of_way

_ACROSS = 11
_LISTED = 12
_MOST_TICKS = 24


def interpolation(
    estimator: Any,
    x_from: Any,
    x_to: Any,
    n_steps: int | None = None,
    how: How = "continuous",
    *,
    image_shape: Sequence[int] | None = None,
    feature_names: Sequence[str] | None = None,
    background: Any = None,
    max_pictures: int = 40,
    dark: bool = False,
) -> Figure:
    """Draw the decoder's mean on the way from one example to another.

    Pictures: the first example, the decoded codes in order, the last example. Over each stands how far it is, or the
    unit that was just switched (+ on, − off), and under it how many units are on. Other rows: the columns that move
    most, in blue for the first code to orange for the last, and beside them the codes, one line a step.
    `fewhot.metrics.interpolate` returns the same as arrays.

    Parameters
    ----------
    estimator
        A fitted estimator; a discrete walk needs one with gates.
    x_from, x_to
        Two examples, (p,) or (1, p), dense or sparse.
    n_steps, how
        As in `fewhot.metrics.interpolate`.
    image_shape
        Draw rows as pictures of this shape; None takes that of the images of the fit, if there were any.
    feature_names
        A name a column.
    background
        Rows that say how far columns usually spread; columns of very different spread are drawn, and effects
        compared, on a common scale.
    max_pictures
        Of a longer walk so many codes are drawn, evenly spaced, the two ends among them.
    dark
        Draw on a dark background.
    """
    ends = [matrix_for(estimator, x, name) for x, name in ((x_from, "x_from"), (x_to, "x_to"))]
    background, image_shape = (
        background_for(estimator, background, ends[0].shape[1]),
        shape_for(estimator, image_shape),
    )
    columns = Columns.of(ends[0].shape[1], feature_names, None if image_shape is not None else background)
    walk = interpolate(estimator, ends[0], ends[1], n_steps, how, scale=columns.scale)
    colours = theme(dark)
    if image_shape is None:
        return _as_columns(walk, columns, colours)
    shape = picture_shape(image_shape, ends[0].shape[1])
    originals = np.concatenate([dense(x) for x in ends])
    return _as_pictures(walk, originals, shape, whole_number("max_pictures", max_pictures, least=2), colours)


def step_names(walk: Interpolation) -> list[str]:
    """Return a short name a code: how far it is in percent, or the unit that was just switched."""
    n_steps = len(walk.codes) - 1
    if walk.how == "continuous":
        return [f"{100 * step / n_steps:.0f} %" for step in range(n_steps + 1)]
    switched = {switch.step: f"{'+' if switch.on else '−'} {switch.unit}" for switch in walk.switches}
    return ["start", *(switched.get(step, "") for step in range(1, n_steps + 1))]


def _as_pictures(
    walk: Interpolation, originals: np.ndarray, shape: tuple[int, ...], most: int, colours: Theme
) -> Figure:
    steps = np.unique(np.linspace(0, len(walk.codes) - 1, min(most, len(walk.codes))).round().astype(int))
    names, active = step_names(walk), walk.n_active
    drawn = [(originals[0], "from", "")]
    drawn += [(walk.decoded[step], names[step], f"{active[step]} on") for step in steps.tolist()]
    drawn += [(originals[1], "to", "")]
    lines = -(-len(drawn) // _ACROSS)
    across = -(-len(drawn) // lines)
    side = min(0.9, WIDTH / across)
    figure = sheet(lines * (side + 0.36) + 0.05, colours, width=across * side)
    grid = figure.subplots(lines, across, squeeze=False).ravel()
    low, high = grey_range(np.concatenate([originals, walk.decoded]))
    for axes in grid[len(drawn) :]:
        strip(axes)
    for axes, (row, above, below) in zip(grid, drawn, strict=False):
        show(axes, pictures(row[None], shape)[0], low, high)
        bold = "bold" if above in ("from", "to") else "normal"
        axes.set_title(above, fontsize=SMALL, color=colours.ink, fontweight=bold, pad=2)
        axes.text(
            0.5, -0.04, below, transform=axes.transAxes, ha="center", va="top", fontsize=SMALL - 1, color=colours.muted
        )
    return figure


def _as_columns(walk: Interpolation, columns: Columns, colours: Theme) -> Figure:
    listed = min(_LISTED, columns.n)
    lines = max(listed if not columns.profile else 10, min(len(walk.codes), _MOST_TICKS))
    figure = sheet(0.9 + 0.19 * lines, colours)
    left, right = figure.subplots(1, 2, width_ratios=[1.25, 1])
    draw = draw_profile if columns.profile else draw_list
    draw(left, columns.level(walk.decoded), shades_of_way(len(walk.codes)), columns, listed, colours)
    left.set_xlabel("column" if columns.profile else columns.unit)
    heading(left, "Decoded, blue to orange", colours)
    _draw_codes(right, walk, colours)
    return figure


def _draw_codes(axes: Axes, walk: Interpolation, colours: Theme) -> None:
    units = np.flatnonzero(walk.codes.any(axis=0))
    units = units if len(units) else np.arange(walk.codes.shape[1])
    shown = walk.codes[:, units]
    dress(axes, colours, xlabel="unit")
    heading(axes, "Codes on the way", colours)
    reach = float(np.abs(shown).max()) or 1.0
    axes.imshow(shown, cmap=signed_colours(), vmin=-reach, vmax=reach, aspect="auto", interpolation="none")
    axes.spines[:].set(visible=True)
    unit_ticks(axes, units, most=12)
    step = max(1, -(-len(walk.codes) // _MOST_TICKS))
    axes.set_yticks(range(0, len(walk.codes), step), step_names(walk)[::step])
    axes.tick_params(axis="y", length=0)
