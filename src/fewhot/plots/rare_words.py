"""Whether documents with rare words are the ones that refinement moves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from fewhot.core.checks import one_each
from fewhot.metrics.rare_words import paired, rare_word_correlation
from fewhot.plots.canvas import PLAIN, SMALL, WIDTH, dress, heading, label, number, sheet
from fewhot.plots.palette import series, theme
from fewhot.plots.sweep import MARKERS

_BINS = 12
_CROWD = 2000
"""With so many points each is faint."""


def rare_words(rare: Any, divergence: Any, *, labels: Sequence[Any] | None = None, dark: bool = False) -> Figure:
    """Draw how far refinement moved each document against how many rare words it holds, on logarithmic scales.

    Large marks are medians of documents with about as many rare words. The legend has Spearman's correlation.

    Parameters
    ----------
    rare
        What `fewhot.metrics.rare_words` returns, (n,).
    divergence
        What `fewhot.metrics.code_divergence` returns, in nats, (n,).
    labels
        A name a document, such as "training" and "held-out"; each name has its own colour, medians and correlation.
    dark
        Draw on a dark background.

    Examples
    --------
    >>> figure = rare_words([0, 2, 5], [0.1, 0.4, 3.0])
    >>> figure.axes[0].get_legend().get_texts()[0].get_text()
    '3 documents, Spearman 1'
    """
    moved, number_of = paired(divergence, rare)
    labels = ["documents"] * len(moved) if labels is None else labels
    names = [str(name) for name in one_each("labels", labels, len(moved), "documents")]
    colours = theme(dark)
    figure = sheet(3.4, colours, width=0.72 * WIDTH)
    axes = dress(figure.add_subplot(), colours, grid="both")
    axes.set(xlabel="different rare words in the document", ylabel="KL(encoded ‖ refined), nats")
    axes.set_xscale("symlog", linthresh=1)  # both have long tails; 0 has a place of its own
    if (moved > 0).all():
        axes.set_yscale("log")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    hues = series(colours)
    for place, name in enumerate(dict.fromkeys(names)):
        chosen = np.array([other == name for other in names])
        x, y = number_of[chosen], moved[chosen]
        rho = rare_word_correlation(y, x) if len(x) > 1 else float("nan")
        told = "too few to correlate" if np.isnan(rho) else f"Spearman {number(rho)}"
        text = f"{len(x):,} {label(name)}, {told}"
        _draw(axes, x, y, hues[place % len(hues)], MARKERS[place % len(MARKERS)], text, paper=colours.paper)
    heading(axes, "How far refinement moves a document", colours)
    drawn = axes.legend(frameon=False, fontsize=SMALL, labelcolor=colours.ink, handlelength=1.2, loc="upper left")
    for text in drawn.get_texts():
        text.set(**PLAIN)
    return figure


def _draw(axes: Axes, x: np.ndarray, y: np.ndarray, hue: str, marker: str, text: str, *, paper: str) -> None:
    faint = float(np.clip(_CROWD / len(x), 0.15, 1)) * 0.55
    axes.scatter(x, y, s=9, color=hue, marker=marker, alpha=faint, linewidths=0, rasterized=len(x) > _CROWD)
    edges = np.unique(np.quantile(x, np.linspace(0, 1, _BINS + 1)))
    bins = np.digitize(x, edges[1:-1], right=True)
    filled = np.unique(bins)
    at = [(float(np.median(x[bins == one])), float(np.median(y[bins == one]))) for one in filled]
    style = {"markersize": 6, "markeredgecolor": paper, "markeredgewidth": 0.8, "linewidth": 1.4}
    axes.plot(*zip(*at, strict=True), color=hue, marker=marker, label=text, zorder=3, **style)
