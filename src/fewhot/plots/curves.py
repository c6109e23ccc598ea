"""A run over its steps: bounds and the use of units."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from fewhot.plots.canvas import dress, heading, legend, message, sheet
from fewhot.plots.palette import Theme, theme

_BELOW: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (-0.02, -0.18), "ncols": 2, "columnspacing": 1.4}
_SETTLING = 0.1
"""Share of a run's first evaluations that may leave the picture, so that they do not squeeze the rest."""


def curves(history: Sequence[dict[str, Any]], *, asked: float | None = None, dark: bool = False) -> Figure:
    """Draw the bounds of a run, and beside them how many units were on.

    Parameters
    ----------
    history
        What ``history_`` holds, or the lines of history.jsonl.
    asked
        The number of active units that was asked for; drawn as a line.
    dark
        Draw on a dark background.

    Examples
    --------
    >>> figure = curves([{"step": 1, "terms": {"loss": 3.0}, "evaluation": {"bound": -4.0, "used": 2.0}}])
    >>> figure.axes[0].lines[0].get_ydata().tolist()
    [-4.0]
    """
    colours = theme(dark)
    if not history:
        return message("The run wrote no history.", colours)
    steps = np.array([record["step"] for record in history], dtype=float)
    figure = sheet(3.1, colours)
    bounds, units = figure.subplots(1, 2, width_ratios=[1.25, 1])
    _draw_bounds(bounds, steps, history, colours)
    _draw_units(units, steps, history, asked, colours)
    return figure


def _draw_bounds(axes: Any, steps: np.ndarray, history: Sequence[dict[str, Any]], colours: Theme) -> None:
    rows = {"held-out": "held-out rows"}.get(history[-1].get("rows", ""), "training rows")
    exact = _series(history, "evaluation", "bound")
    relaxed = _series(history, "terms", "bound")
    objective = -_series(history, "terms", "loss")
    dress(axes, colours, grid="y", xlabel="step")
    heading(axes, "Bound a row, nats (higher is better)", colours)
    marker = "o" if len(steps) == 1 else ""
    axes.plot(steps, exact, color=colours.blue, linewidth=2, marker=marker, label=f"exact, {rows}", zorder=3)
    if np.isfinite(relaxed).any():
        axes.plot(steps, relaxed, color=colours.orange, linewidth=1.2, marker=marker, label="as trained, training rows")
    if np.isfinite(objective).any() and not np.allclose(objective, relaxed, equal_nan=True):
        style = {"color": colours.muted, "linewidth": 1.0, "linestyle": (0, (1, 1.5))}
        axes.plot(steps, objective, marker=marker, label="what training maximised", **style)
    settled = slice(int(_SETTLING * len(steps)), None)
    _frame(axes, [exact[settled], relaxed[settled], objective[settled]])
    _thousands(axes)
    legend(axes, colours, **_BELOW)


def _draw_units(
    axes: Any, steps: np.ndarray, history: Sequence[dict[str, Any]], asked: float | None, colours: Theme
) -> None:
    lines = (
        ("active", "active a row", colours.blue, "-"),
        ("used", "used by the data", colours.green, (0, (5, 1.5))),
        ("always_on", "always on", colours.orange, (0, (1, 1.2))),
    )
    dress(axes, colours, grid="y", xlabel="step")
    heading(axes, "Units", colours)
    for name, text, colour, style in lines:
        series = _series(history, "evaluation", name)
        if np.isfinite(series).any():
            marker = "o" if len(steps) == 1 else ""
            axes.plot(steps, series, color=colour, linestyle=style, linewidth=1.8, marker=marker, label=text)
    if asked is not None:
        axes.axhline(asked, color=colours.muted, linewidth=0.9, label=f"asked for: {asked:g}")
    axes.set_ylim(bottom=0)
    _thousands(axes)
    if axes.lines:
        legend(axes, colours, **_BELOW)


def _series(history: Sequence[dict[str, Any]], part: str, name: str) -> np.ndarray:
    """Return one value a record, NaN where it is missing."""
    return np.array([record.get(part, {}).get(name, np.nan) for record in history], dtype=float)


def _frame(axes: Any, series: list[np.ndarray]) -> None:
    """Fit the y axis to the settled part of a run, cutting single wild values."""
    values = np.concatenate([line[np.isfinite(line)] for line in series])
    if not len(values):
        return
    low, high = np.quantile(values, [0.02, 1.0])
    margin = 0.08 * (high - low) or 0.5
    axes.set_ylim(low - margin, high + margin)


def _thousands(axes: Any) -> None:
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.locator_params(axis="x", nbins=5)
