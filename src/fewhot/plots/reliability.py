"""Whether probabilities mean what they say."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from fewhot.core.checks import real_number
from fewhot.core.errors import InvalidInputError, InvalidTypeError
from fewhot.metrics.matrices import as_numbers
from fewhot.plots.canvas import dress, heading, legend, sheet
from fewhot.plots.palette import theme


def reliability(calibration: Any, *, dark: bool = False) -> Figure:
    """Draw how often units are on among those said to be on with a given probability.

    On the diagonal a probability of 30 % comes true in 30 % of cases; below it the model is too sure.

    Parameters
    ----------
    calibration
        What `fewhot.metrics.calibration` returns: ``expected`` and ``observed`` shares a bin, and ``ece``.
    dark
        Draw on a dark background.
    """
    if not all(hasattr(calibration, part) for part in ("expected", "observed", "ece")):
        raise InvalidTypeError(
            f"calibration is of type {type(calibration).__name__}; give what fewhot.metrics.calibration returns."
        )
    expected, observed = (as_numbers(getattr(calibration, part), part, "a bin") for part in ("expected", "observed"))
    if expected.ndim != 1 or expected.shape != observed.shape:
        raise InvalidInputError(
            f"expected and observed have shapes {expected.shape} and {observed.shape}; give one number of each a bin."
        )
    miss = real_number("ece", calibration.ece, low=0, high=1)
    colours = theme(dark)
    filled = np.isfinite(expected) & np.isfinite(observed)
    figure = sheet(3.4, colours, width=3.9)
    axes = dress(
        figure.add_subplot(),
        colours,
        grid="both",
        xlabel="probability stated",
        ylabel="share that came true",
        xlim=(-0.02, 1.02),
        ylim=(-0.02, 1.02),
        aspect="equal",
    )
    axes.plot([0, 1], [0, 1], color=colours.muted, linewidth=0.9, linestyle=(0, (4, 3)), label="perfect")
    axes.vlines(expected[filled], expected[filled], observed[filled], color=colours.orange, linewidth=1.2)
    axes.plot(expected[filled], observed[filled], color=colours.blue, marker="o", markersize=5, label="the model")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:g} %"))
    heading(axes, f"mean miss {100 * miss:.2g} points", colours)
    legend(axes, colours, loc="upper left")
    return figure
