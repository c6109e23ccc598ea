"""How many directions of the code decoders listen to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from fewhot.core.errors import InvalidInputError
from fewhot.metrics.spectrum import USED_VALUE
from fewhot.plots.canvas import PLAIN, SMALL, WIDTH, dress, heading, label, sheet
from fewhot.plots.palette import series, theme
from fewhot.plots.sweep import DASHES

_DEPTH = 1e-4
"""Values below this share of the largest leave the picture."""


def spectrum(spectra: Any, *, dark: bool = False) -> Figure:
    """Draw singular values of decoders' Jacobians, largest first, on a logarithmic scale.

    Those above 1 count as used. A curve that falls early belongs to a decoder that has pruned most of its code.

    Parameters
    ----------
    spectra
        What `fewhot.metrics.jacobian_spectrum` returns, or a mapping of names to several of them.
    dark
        Draw on a dark background.

    Examples
    --------
    >>> from fewhot.metrics import Spectrum
    >>> one = Spectrum(values=np.array([8.0, 2.0, 0.1]), used=2)
    >>> spectrum({"deep": one, "shallow": one}).axes[0].lines[0].get_ydata().tolist()
    [8.0, 2.0, 0.1]
    """
    colours = theme(dark)
    named: Mapping[Any, Any] = spectra if isinstance(spectra, Mapping) else {"": spectra}
    values = {name: np.asarray(one.values, dtype=np.float64) for name, one in named.items()}
    if not values or any(line.ndim != 1 or not len(line) or not np.isfinite(line).all() for line in values.values()):
        raise InvalidInputError(
            "spectra holds no singular values, or some that are not finite; give spectra of models."
        )
    figure = sheet(3.1, colours, width=0.72 * WIDTH)
    axes = dress(figure.add_subplot(), colours, grid="y", yscale="log", xlabel="direction, strongest first")
    hues = series(colours)
    for place, (name, line) in enumerate(values.items()):
        used = f"{int((line > USED_VALUE).sum())} of {len(line)} above 1"
        look = {"color": hues[place % len(hues)], "linestyle": DASHES[place // len(hues) % len(DASHES)]}
        marker = "o" if len(line) == 1 else ""
        text = f"{label(name)}: {used}" if name != "" else used
        axes.plot(np.arange(1, len(line) + 1), line, linewidth=1.8, marker=marker, label=text, **look)
    axes.axhline(USED_VALUE, color=colours.muted, linewidth=0.9, linestyle=(0, (4, 3)))
    top = max(max(float(line.max()) for line in values.values()), USED_VALUE)
    smallest = min(min(float(line[line > 0].min(initial=USED_VALUE)) for line in values.values()), USED_VALUE)
    axes.set_ylim(max(smallest, _DEPTH * top) / 1.5, 1.5 * top)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    heading(axes, "Singular values of the decoder's Jacobian", colours)
    drawn = axes.legend(frameon=False, fontsize=SMALL, labelcolor=colours.ink, handlelength=1.6)
    for text in drawn.get_texts():
        text.set(**PLAIN)
    return figure
