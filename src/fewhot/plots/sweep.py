"""Curves over a sweep: a mean over seeds a point, with its error."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fewhot.core.checks import one_of
from fewhot.core.errors import InvalidInputError, InvalidParameterError
from fewhot.metrics.estimates import Estimate, estimate
from fewhot.plots.canvas import PLAIN, SMALL, WIDTH, dress, label, sheet
from fewhot.plots.palette import Theme, series, theme

MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1, 1.2)))
_ACROSS = 2


class Measured(Protocol):
    """A mean and its standard error."""

    @property
    def mean(self) -> float:
        """The mean."""
        ...

    @property
    def se(self) -> float:
        """Its standard error; NaN where there is none."""
        ...


def sweep(
    table: Any,
    x: str,
    y: str | Sequence[str],
    by: str | None = None,
    error: str | None = "se",
    *,
    log: bool = False,
    dark: bool = False,
) -> Figure:
    """Draw numbers against a setting that was swept, one line a value of another, averaged over seeds.

    Rows of the table that agree in ``x`` and ``by`` are repetitions, such as seeds: a point is their mean, its bar one
    standard error of that mean. A single repetition has no bar.

    Parameters
    ----------
    table
        A frame, a mapping of columns, or a sequence of records; one row a fit.
    x
        The column that was swept, of numbers: "alpha", the number of units, the number of labels.
    y
        The column to draw, or several, one panel each: the share of active units, the bound, an accuracy. Entries
        that are NaN are left out.
    by
        One line a value of this column.
    error
        "se" for the standard error of the mean, "std" for the standard deviation over repetitions, None for no bars.
    log
        Draw x on a logarithmic scale.
    dark
        Draw on a dark background.

    Examples
    --------
    >>> runs = [{"alpha": 0.1, "bound": -9.0}, {"alpha": 0.1, "bound": -7.0}, {"alpha": 0.5, "bound": -6.0}]
    >>> sweep(runs, "alpha", "bound").axes[0].lines[0].get_ydata().tolist()
    [-8.0, -6.0]
    """
    one_of("error", error, ("se", "std", None))
    panels = [y] if isinstance(y, str) else list(y)
    if not panels:
        raise InvalidParameterError("y is empty; name at least one column.")
    at = _numbers(table, x)
    if log and at.min() <= 0:
        raise InvalidParameterError(f"log is True and {x} goes down to {at.min():g}; it must be above 0.")
    groups = None if by is None else [str(value) for value in _column(table, by)]
    colours = theme(dark)
    across = min(_ACROSS, len(panels))
    lines = -(-len(panels) // across)
    figure = sheet(2.9 * lines, colours, width=WIDTH if across > 1 else 0.62 * WIDTH)
    grid = figure.subplots(lines, across, squeeze=False).ravel()
    for axes in grid[len(panels) :]:
        axes.set_axis_off()
    for axes, name in zip(grid, panels, strict=False):
        dress(axes, colours, grid="y", xscale="log" if log else "linear")
        axes.set_xlabel(label(x), **PLAIN)
        axes.set_ylabel(label(name), **PLAIN)
        draw_curves(axes, _curves(at, _numbers(table, name, missing=True), groups, error), series(colours), DASHES)
    if groups is not None:
        _legend(figure, grid[0], by, colours)
    return figure


def draw_curves(
    axes: Axes, lines: Mapping[str, Mapping[Any, Measured]], hues: Sequence[str], dashes: Sequence[Any] = ("-",)
) -> None:
    """Draw lines of means with bars of one error, in turn of hues and markers; a mean without an error has no bar."""
    for place, (name, curve) in enumerate(lines.items()):
        at = list(curve)
        means, errors = [curve[a].mean for a in at], np.nan_to_num([curve[a].se for a in at])
        look = {"color": hues[place % len(hues)], "marker": MARKERS[place % len(MARKERS)], "markersize": 4}
        dash = dashes[place // len(hues) % len(dashes)]
        axes.errorbar(at, means, yerr=errors, label=name, capsize=2, linewidth=1.4, linestyle=dash, **look)


def _curves(
    at: np.ndarray, values: np.ndarray, groups: list[str] | None, error: str | None
) -> dict[str, dict[float, Estimate]]:
    """Return, a line and a place on it, the mean of the repetitions and the wanted error."""
    keys = [""] * len(at) if groups is None else groups
    found: dict[str, dict[float, list[float]]] = {key: {} for key in dict.fromkeys(keys)}
    for key, place, value in zip(keys, at.tolist(), values.tolist(), strict=True):
        if not np.isnan(value):
            found[key].setdefault(place, []).append(value)
    return {
        key: {place: _measured(line[place], error) for place in sorted(line)} for key, line in found.items() if line
    }


def _measured(values: list[float], error: str | None) -> Estimate:
    found = estimate(values)
    factor = {"se": 1.0, "std": np.sqrt(len(values)), None: np.nan}[error]
    return Estimate(mean=found.mean, se=float(found.se * factor), values=found.values)


def _legend(figure: Figure, axes: Axes, by: str | None, colours: Theme) -> None:
    handles, texts = axes.get_legend_handles_labels()
    style = {"loc": "outside upper left", "ncols": min(6, len(texts)), "frameon": False, "fontsize": SMALL}
    drawn = figure.legend(handles, texts, labelcolor=colours.ink, title=label(by), alignment="left", **style)
    drawn.get_title().set(color=colours.muted, fontsize=SMALL, **PLAIN)
    for text in drawn.get_texts():
        text.set(**PLAIN)


def _column(table: Any, name: str) -> list[Any]:
    """Return one column of a frame, a mapping of columns or a sequence of records."""
    if isinstance(table, Mapping) or hasattr(table, "columns"):
        known = [str(key) for key in (table if isinstance(table, Mapping) else table.columns)]
        column: Iterable[Any] = table[name] if name in known else ()
    else:
        known = sorted({str(key) for record in table for key in record})
        column = [record.get(name, np.nan) for record in table] if name in known else ()
    values = list(column)
    if name not in known:
        raise InvalidParameterError(f"The table has no column {name!r}; it has {', '.join(known) or 'none'}.")
    if not values:
        raise InvalidInputError("The table has no rows; give one a fit.")
    return values


def _numbers(table: Any, name: str, *, missing: bool = False) -> np.ndarray:
    values = _column(table, name)
    try:
        numbers = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"Column {name!r} is not of numbers ({error}); name one that is.") from error
    if not missing and not np.isfinite(numbers).all():
        raise InvalidInputError(f"Column {name!r} has entries that are missing or infinite; leave those rows out.")
    return numbers
