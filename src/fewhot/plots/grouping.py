"""Maps of kinds by units, with units in the order of the kind they serve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fewhot.core.checks import one_each
from fewhot.core.errors import InvalidInputError
from fewhot.plots.canvas import PLAIN, SMALL, dress, label, sheet
from fewhot.plots.codes import unit_ticks
from fewhot.plots.palette import Theme, strength_colours

_MOST_NAMES = 30


def grouped_units(strength: np.ndarray, size: np.ndarray) -> tuple[np.ndarray, int]:
    """Return units in the order of the row where each is strongest, strongest first, and how many are not idle.

    Idle units, whose ``size`` is zero in every row, come last, in the order of their numbers.

    Examples
    --------
    >>> strength = np.array([[0.0, 0.2, 0.9], [0.0, 0.8, 0.1]])
    >>> order, n_used = grouped_units(strength, strength)
    >>> order.tolist(), n_used
    ([2, 1, 0], 2)
    """
    best, row = strength.max(axis=0), strength.argmax(axis=0)
    idle = np.asarray(np.count_nonzero(size, axis=0) == 0)
    order = np.lexsort((-best, row, idle))
    n_used = int((~idle).sum())
    order[n_used:].sort()
    return order, n_used


def matrix_of_strengths(values: Any, name: str, what: str) -> np.ndarray:
    """Return a dense, finite, non-empty matrix of (rows, units), or say what should have been given."""
    matrix = np.asarray(values.toarray() if hasattr(values, "toarray") else values)
    if matrix.ndim != 2 or not matrix.size or matrix.dtype.kind not in "fiub":
        raise InvalidInputError(f"{name} is {matrix.dtype} of shape {matrix.shape}; give {what}.")
    if not np.isfinite(matrix).all():
        raise InvalidInputError(f"{name} contains NaN or infinity; give finite numbers.")
    return matrix.astype(np.float64)


def names_of(names: Sequence[Any] | None, n: int, argument: str, kind: str) -> list[str]:
    """Return a label a row, or its number where none are given."""
    if names is None:
        return [str(row) for row in range(n)]
    return [label(name, 22) for name in one_each(argument, names, n, kind)]


def strength_map(
    shown: np.ndarray, units: np.ndarray, names: list[str], top: float, title: str, xlabel: str, colours: Theme
) -> tuple[Figure, Axes]:
    """Draw strengths from nothing (0) to full colour (``top``), rows named, units numbered; return its axes too."""
    figure = sheet(min(7.0, 1.0 + 0.2 * len(names)), colours)
    axes = dress(figure.add_subplot(), colours, xlabel=xlabel)
    image = axes.imshow(
        shown, cmap=strength_colours(colours), vmin=0, vmax=top, aspect="auto", interpolation="none", zorder=2
    )
    axes.spines[:].set(visible=True)
    unit_ticks(axes, units)
    step = max(1, -(-len(names) // _MOST_NAMES))
    axes.set_yticks(range(0, len(names), step), names[::step], **PLAIN)
    axes.tick_params(axis="y", length=0, labelcolor=colours.ink)
    bar = figure.colorbar(image, ax=axes, fraction=0.025, pad=0.015, aspect=30)
    bar.outline.set_edgecolor(colours.rule)  # pyright: ignore
    dress(bar.ax, colours)
    bar.ax.set_title(title, fontsize=SMALL, color=colours.muted)
    return figure, axes


def draw_groups(axes: Axes, shown: np.ndarray, n_used: int, colours: Theme) -> None:
    """Draw faint lines between units that serve different rows, and a stronger one before the unused."""
    serves = shown[:, :n_used].argmax(axis=0) if n_used else np.zeros(0, dtype=int)
    for at in (np.flatnonzero(np.diff(serves)) + 0.5).tolist():
        axes.axvline(at, color=colours.rule, linewidth=0.8, zorder=1)
    if 0 < n_used < shown.shape[1]:
        axes.axvline(n_used - 0.5, color=colours.muted, linewidth=1.0, linestyle=(0, (4, 3)), zorder=3)
