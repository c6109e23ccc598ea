"""Codes as a picture: rows by units."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fewhot.core.checks import one_each, one_of, whole_number
from fewhot.plots.canvas import PLAIN, SMALL, dress, label, sheet
from fewhot.plots.palette import Theme, signed_colours, theme
from fewhot.plots.rows import dense, values_of

MOST_UNITS = 128
NUMBERED = 6
"""Up to so many active units get their number written at their bar."""


def codes(
    codes: Any,
    *,
    labels: Sequence[Any] | None = None,
    kind: str = "heat",
    max_rows: int = 40,
    dark: bool = False,
) -> Figure:
    """Draw codes, one line a row: orange is positive, blue negative, nothing is zero.

    Parameters
    ----------
    codes
        Codes as `transform` or `codes` return them, (n, K); the first ``max_rows`` are drawn.
    labels
        A class or a name a row; rows with the same label are drawn together.
    kind
        "heat" for a map of rows by units, "bars" for one strip of bars a row.
    max_rows
        How many rows at most.
    dark
        Draw on a dark background.

    Examples
    --------
    >>> figure = codes(np.eye(3), labels=["a", "b", "c"])
    >>> figure.axes[0].images[0].get_array().shape
    (3, 3)
    """
    one_of("kind", kind, ("heat", "bars"))
    values = values_of(codes)
    labels = None if labels is None else one_each("labels", labels, values.shape[0], "rows of codes")
    shown = dense(values, slice(whole_number("max_rows", max_rows)))
    names = [str(row) for row in range(len(shown))] if labels is None else [label(name, 18) for name in labels]
    if labels is not None:
        keys = np.asarray(labels[: len(shown)])
        order = np.argsort(keys.astype(str) if keys.dtype == object else keys, kind="stable")
        shown, names = shown[order], [names[row] for row in order]
    units = units_to_show(shown)
    draw = _heat if kind == "heat" else _bars
    return draw(shown[:, units], units, values.shape[1], names, grouped=labels is not None, colours=theme(dark))


def code_bars(axes: Axes, code: np.ndarray, units: np.ndarray, all_codes: np.ndarray, colours: Theme) -> None:
    """Draw one code as bars over its units on the scale of all, with the numbers of the active ones if they are few."""
    low, high = min(float(all_codes.min()), 0.0), max(float(all_codes.max()), 0.0)
    reach = high - low or 1.0
    hues = np.where(code >= 0, colours.orange, colours.blue)
    dress(axes, colours, xlim=(-0.8, len(code) - 0.2), ylim=(low - 0.2 * reach, high + 0.2 * reach), yticks=[])
    axes.bar(range(len(code)), code, width=0.8, color=hues)
    axes.axhline(0, color=colours.rule, linewidth=0.8)
    axes.spines[:].set_visible(False)
    active = np.flatnonzero(code)
    if len(active) <= NUMBERED and len(code) > len(active):
        for at in active.tolist():
            up = code[at] > 0
            axes.text(
                at,
                code[at] + (0.03 if up else -0.03) * reach,
                str(units[at]),
                ha="center",
                va="bottom" if up else "top",
                color=colours.muted,
                fontsize=SMALL - 1.5,
            )


def unit_ticks(axes: Axes, units: np.ndarray, most: int = 16) -> None:
    """Write the numbers of units along the x axis, at most so many of them."""
    step = max(1, -(-len(units) // most))
    at = np.arange(0, len(units), step)
    axes.set_xticks(at, [str(unit) for unit in units[at]])


def units_to_show(shown: np.ndarray) -> np.ndarray:
    """Return all units, or of very many those that do most in these rows."""
    n_units = shown.shape[1]
    if n_units <= MOST_UNITS:
        return np.arange(n_units)
    strength = np.abs(shown).sum(axis=0)
    best = np.argsort(-strength, kind="stable")[:MOST_UNITS]
    return np.sort(best[strength[best] > 0] if strength.any() else best)


def _unit_label(n_shown: int, n_units: int) -> str:
    return "unit" if n_shown == n_units else f"unit ({n_shown} of {n_units}: those that are on in these rows)"


def _heat(
    shown: np.ndarray, units: np.ndarray, n_units: int, names: list[str], *, grouped: bool, colours: Theme
) -> Figure:
    figure = sheet(min(7.0, 0.9 + 0.115 * len(shown)), colours)
    axes = dress(figure.add_subplot(), colours, xlabel=_unit_label(len(units), n_units))
    reach = float(np.abs(shown).max()) or 1.0
    image = axes.imshow(
        shown, cmap=signed_colours(), vmin=-reach, vmax=reach, aspect="auto", interpolation="none", zorder=2
    )
    axes.spines[:].set(visible=True)
    unit_ticks(axes, units)
    starts = [row for row in range(len(names)) if not row or names[row] != names[row - 1]]
    if grouped and len(starts) < len(names):
        ends = [*starts[1:], len(names)]
        axes.set_yticks(
            [(a + b - 1) / 2 for a, b in zip(starts, ends, strict=True)], [names[a] for a in starts], **PLAIN
        )
        for start in starts[1:]:
            axes.axhline(start - 0.5, color=colours.rule, linewidth=0.8, zorder=1)
        axes.tick_params(axis="y", length=0)
    else:
        step = max(1, -(-len(names) // 20))
        axes.set_yticks(range(0, len(names), step), names[::step], **PLAIN)
        axes.set_ylabel("" if grouped else "row")
    bar = figure.colorbar(image, ax=axes, fraction=0.025, pad=0.015, aspect=30)
    bar.outline.set_edgecolor(colours.rule)  # pyright: ignore
    dress(bar.ax, colours)
    bar.ax.set_title("value", fontsize=SMALL, color=colours.muted)
    return figure


def _bars(
    shown: np.ndarray, units: np.ndarray, n_units: int, names: list[str], *, grouped: bool, colours: Theme
) -> Figure:
    figure = sheet(0.5 + 0.5 * len(shown), colours)
    grid = figure.subplots(len(shown), 1, squeeze=False, sharex=True)[:, 0]
    for axes, code, name in zip(grid, shown, names, strict=True):
        code_bars(axes, code, units, shown, colours)
        axes.set_ylabel(name, rotation=0, ha="right", va="center", color=colours.muted, fontsize=SMALL, **PLAIN)
        axes.tick_params(axis="x", length=0, labelbottom=False)
    last = grid[-1]
    last.tick_params(axis="x", labelbottom=True)
    unit_ticks(last, units)
    last.set_xlabel(_unit_label(len(units), n_units))
    return figure
