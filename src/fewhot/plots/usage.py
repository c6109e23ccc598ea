"""How many rows each unit serves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from fewhot.metrics.activity import ALWAYS_ON_SHARE, USED_SHARE
from fewhot.plots.canvas import SMALL, dress, legend, sheet
from fewhot.plots.palette import Theme, theme
from fewhot.plots.rows import values_of

ACTIVE_VARIANCE = 0.01
"""A unit without a gate counts as used if its value varies more than this over the rows."""


def usage(codes: Any, *, dark: bool = False) -> Figure:
    """Draw the share of rows in which each unit is on, the busiest first.

    Units on in at least 0.5 % of the rows are used, in more than half of them always on; both limits are drawn. Codes
    without a single zero have no gates: for them the variance of each unit over the rows is drawn.

    Parameters
    ----------
    codes
        Codes as `transform` or `codes` return them, (n, K).
    dark
        Draw on a dark background.

    Examples
    --------
    >>> figure = usage(np.array([[1.0, 0.0], [2.0, 0.0]]))
    >>> figure.axes[0].get_ylabel()
    'share of rows'
    """
    values = values_of(codes)
    if is_gated(values):
        return _shares(np.asarray((values != 0).sum(axis=0)).ravel() / values.shape[0], values.shape[0], theme(dark))
    return _variances(np.asarray(values, dtype=np.float64).var(axis=0), theme(dark))


def is_gated(values: Any) -> bool:
    """Say whether codes have units that can be off: a sparse matrix, or an array with a zero in it."""
    return sp.issparse(values) or bool((np.asarray(values) == 0).any())


def _shares(share: np.ndarray, n_rows: int, colours: Theme) -> Figure:
    share = np.sort(share)[::-1]
    floor = min(0.5 / n_rows, USED_SHARE / 5)
    figure = sheet(2.7, colours)
    axes = dress(
        figure.add_subplot(),
        colours,
        grid="y",
        xlabel="units, busiest first",
        ylabel="share of rows",
        yscale="log",
        ylim=(floor * 0.6, 1.7),
        xlim=(0.2, len(share) + 0.8),
    )
    kinds = (
        ("always on", share > ALWAYS_ON_SHARE, colours.orange, "D"),
        ("used", (share >= USED_SHARE) & (share <= ALWAYS_ON_SHARE), colours.blue, "o"),
        ("hardly used", (share > 0) & (share < USED_SHARE), colours.purple, "v"),
        ("never on", share == 0, colours.muted, "x"),
    )
    _mark(axes, np.maximum(share, floor), kinds)
    _limit(axes, ALWAYS_ON_SHARE, "above: always on", colours)
    _limit(axes, USED_SHARE, "above: used", colours)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:g} %"))
    axes.minorticks_off()
    axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    legend(axes, colours, ncols=4, loc="lower left", bbox_to_anchor=(-0.01, 1.0), borderaxespad=0.2, columnspacing=1.4)
    return figure


def _variances(variance: np.ndarray, colours: Theme) -> Figure:
    variance = np.sort(variance)[::-1]
    figure = sheet(2.7, colours)
    axes = dress(
        figure.add_subplot(),
        colours,
        grid="y",
        xlabel="units, most varied first",
        ylabel="variance over rows",
        yscale="log",
        xlim=(0.2, len(variance) + 0.8),
    )
    used = variance > ACTIVE_VARIANCE
    drawn = np.maximum(variance, ACTIVE_VARIANCE / 1e4)
    _mark(axes, drawn, (("used", used, colours.blue, "o"), ("idle", ~used, colours.muted, "x")))
    _limit(axes, ACTIVE_VARIANCE, "above: used", colours)
    axes.minorticks_off()
    axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    legend(axes, colours, ncols=2, loc="lower left", bbox_to_anchor=(-0.01, 1.0), borderaxespad=0.2)
    return figure


def _mark(axes: Axes, heights: np.ndarray, kinds: Sequence[tuple[str, np.ndarray, str, str]]) -> None:
    """Draw one point a unit, by kinds of (name, which units, colour, marker)."""
    rank = np.arange(1, len(heights) + 1)
    for name, chosen, colour, marker in kinds:
        if chosen.any():
            look: dict[str, Any] = {"linestyle": "none", "marker": marker, "markersize": 4.5, "color": colour}
            axes.plot(rank[chosen], heights[chosen], label=f"{name}: {int(chosen.sum())}", **look)


def _limit(axes: Axes, limit: float, name: str, colours: Theme) -> None:
    """Draw a named limit across the picture."""
    axes.axhline(limit, color=colours.muted, linewidth=0.9, linestyle=(0, (4, 3)))
    axes.annotate(
        name,
        (1, limit),
        (-4, 3),
        xycoords=("axes fraction", "data"),
        textcoords="offset points",
        ha="right",
        fontsize=SMALL - 0.5,
        color=colours.muted,
    )
