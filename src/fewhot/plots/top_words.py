"""Units as the words they raise and lower."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fewhot.core.checks import whole_number
from fewhot.metrics.words import no_words
from fewhot.plots.canvas import NORMAL, PLAIN, SMALL, dress, heading, label, sheet, strip
from fewhot.plots.palette import Theme, theme

_ACROSS = 4
_QUIET: dict[str, Any] = {"va": "center", "fontsize": SMALL}


def top_words(words: Any, *, max_units: int = 12, dark: bool = False) -> Figure:
    """Draw the words of each unit as bars of their scores: orange for high values, blue for low ones.

    Parameters
    ----------
    words
        What `fewhot.metrics.top_words` returns; the first ``max_units`` units are drawn.
    max_units
        How many units at most.
    dark
        Draw on a dark background.

    Examples
    --------
    >>> from fewhot.baselines import LDA
    >>> figure = top_words(LDA(2, random_state=0).fit(np.eye(4, dtype=int)).top_words(3))
    >>> len(figure.axes)
    2
    """
    colours = theme(dark)
    shown = min(len(words), whole_number("max_units", max_units))
    across = min(_ACROSS, shown)
    lines = -(-shown // across)
    n_bars = words.columns_up.shape[1] + words.columns_down.shape[1]
    figure = sheet(lines * (0.55 + 0.145 * n_bars), colours)
    grid = figure.subplots(lines, across, squeeze=False).ravel()
    reach = max(float(np.abs(part[:shown]).max(initial=0.0)) for part in (words.scores_up, words.scores_down)) or 1.0
    for axes in grid[shown:]:
        axes.set_axis_off()
    for at, axes in enumerate(grid[:shown]):
        up, down = words.up[at], words.down[at]
        if not up and not down:
            strip(axes).text(0, 0.5, no_words(words.gated), transform=axes.transAxes, **_QUIET, color=colours.muted)
        else:
            scores = np.concatenate([words.scores_up[at][: len(up)], -words.scores_down[at][: len(down)][::-1]])
            _bars(axes, [*up, *down[::-1]], scores, reach, words.sides if up and down else None, colours)
        heading(axes, f"unit {words.units[at]}", colours)
    return figure


def _bars(
    axes: Axes, names: list[str], scores: np.ndarray, reach: float, sides: tuple[str, str] | None, colours: Theme
) -> None:
    both = sides is not None
    dress(axes, colours, ylim=(len(names) - 0.4, -0.6), xlim=(-1.05 * reach if both else 0, 1.05 * reach), xticks=[])
    axes.barh(range(len(names)), scores, height=0.72, color=np.where(scores >= 0, colours.orange, colours.blue))
    axes.spines["bottom"].set_visible(False)
    axes.spines["left"].set_visible(not both)
    axes.tick_params(axis="y", length=0)
    axes.set_yticks(range(len(names)), [label(name, 14) for name in names], **PLAIN)
    axes.tick_params(axis="y", labelsize=SMALL if len(names) <= 24 else SMALL - (NORMAL - SMALL))
    if sides is not None:
        axes.set_xlabel(f"← {sides[1]}    {sides[0]} →", fontsize=SMALL, color=colours.muted)
        axes.axvline(0, color=colours.rule, linewidth=0.8)
