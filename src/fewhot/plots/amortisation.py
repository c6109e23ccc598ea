"""What the encoder leaves behind: bounds before and after refinement, over training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from fewhot.core.errors import InvalidInputError
from fewhot.metrics.matrices import as_numbers
from fewhot.plots.canvas import WIDTH, dress, heading, legend, number, sheet
from fewhot.plots.palette import theme


def amortisation(
    amortised: Sequence[float],
    refined: Sequence[float],
    steps: Sequence[float] | None = None,
    *,
    xlabel: str = "step",
    dark: bool = False,
) -> Figure:
    """Draw the bound under what the encoder says and under what refinement makes of it; between them is the gap.

    Parameters
    ----------
    amortised
        Bounds a row in nats under ψ(x), one an evaluation: ``score`` with ``refine_steps=0``.
    refined
        Bounds of the same models and rows under ψ*: ``score`` with ``refine_steps`` above 0.
    steps
        When each was taken; None numbers them from 1.
    xlabel
        What steps are: "step", "epoch".
    dark
        Draw on a dark background.

    Examples
    --------
    >>> figure = amortisation([-9.0, -7.0], [-8.0, -6.5], [100, 200])
    >>> figure.axes[0].lines[1].get_ydata().tolist()
    [-9.0, -7.0]
    """
    below, above = as_numbers(amortised, "amortised", "an evaluation"), as_numbers(refined, "refined", "an evaluation")
    at = np.arange(1, below.size + 1) if steps is None else as_numbers(steps, "steps", "an evaluation")
    if below.ndim != 1 or not below.size or not below.shape == above.shape == at.shape:
        raise InvalidInputError(
            f"amortised, refined and steps have shapes {below.shape}, {above.shape} and {at.shape}; give one number of "
            f"each an evaluation."
        )
    colours = theme(dark)
    figure = sheet(3.1, colours, width=0.72 * WIDTH)
    axes = dress(figure.add_subplot(), colours, grid="y", xlabel=xlabel)
    marker: Any = "o" if len(at) <= 12 else ""
    axes.plot(at, above, color=colours.orange, linewidth=1.8, marker=marker, markersize=4, label="refined, ψ*")
    axes.plot(at, below, color=colours.blue, linewidth=1.8, marker=marker, markersize=4, label="as encoded, ψ(x)")
    axes.fill_between(
        at, below, above, color=colours.muted, alpha=0.14, linewidth=0, label=f"gap, {_last_gap(above - below)}"
    )
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    heading(axes, "Bound a row, nats (higher is better)", colours)
    legend(axes, colours, loc="lower right")
    return figure


def _last_gap(gaps: np.ndarray) -> str:
    known = gaps[np.isfinite(gaps)]
    return f"at the end {number(float(known[-1]))}" if len(known) else "not known"
