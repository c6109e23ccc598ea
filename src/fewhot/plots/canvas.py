"""Sheets and axes in the library's style: colours are set on artists, and matplotlib's settings stay as they are."""

from __future__ import annotations

from io import BytesIO
from typing import Any, Literal

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fewhot.plots.palette import Theme

WIDTH = 7.6
"""Inches: a column of text on a page of A4."""
PAGE_DPI = 100
"""Pixels of a page to the inch, in a notebook."""
SMALL, NORMAL, LARGE = 8.0, 9.0, 10.5
PLAIN: dict[str, Any] = {"parse_math": False}
"""For every text that is not ours: a dollar sign in a name is a dollar sign."""
_LONGEST = 30


class Sheet(Figure):
    """A figure that a notebook shows as the last value of a cell, whatever backend is set."""

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        """Return a picture sharp on any screen, and its size on the page."""
        stream = BytesIO()
        self.savefig(stream, format="png", dpi=2 * PAGE_DPI, facecolor=self.get_facecolor())
        width, height = (round(inches * PAGE_DPI) for inches in self.get_size_inches())
        return stream.getvalue(), {"width": width, "height": height}


def sheet(height: float, theme: Theme, width: float = WIDTH) -> Figure:
    """Return an empty figure that belongs to no window and no global list."""
    figure = Sheet(figsize=(width, height), facecolor=theme.paper, layout="constrained")
    figure.get_layout_engine().set(w_pad=0.05, h_pad=0.04, wspace=0.02, hspace=0.02)  # pyright: ignore
    return figure


def dress(axes: Axes, theme: Theme, *, grid: Literal["x", "y", "both"] | None = None, **labels: Any) -> Axes:
    """Give axes the theme: two spines, quiet ticks, an optional grid along "x" or "y"; ``labels`` go to ``set``."""
    axes.set_facecolor(theme.paper)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(theme.rule)
    axes.tick_params(colors=theme.muted, labelsize=SMALL, length=3, width=0.8)
    axes.set(**labels)
    axes.xaxis.label.set(color=theme.muted, size=SMALL)
    axes.yaxis.label.set(color=theme.muted, size=SMALL)
    axes.title.set(color=theme.ink, size=NORMAL)
    if grid:
        axes.grid(True, axis=grid, color=theme.rule, linewidth=0.6, alpha=0.7)
        axes.set_axisbelow(True)
    return axes


def strip(axes: Axes) -> Axes:
    """Leave nothing of axes but what is drawn in them."""
    axes.set_axis_off()
    return axes


def heading(axes: Axes, text: str, theme: Theme, *, outside: bool = False) -> None:
    """Put a title at the left edge, or left of it above the labels of the y axis."""
    if outside:
        where: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points", "ha": "right"}
        axes.annotate(text, (0, 1), (-6, 4), color=theme.ink, fontsize=NORMAL, fontweight="bold", **where, **PLAIN)
        return
    axes.set_title(text, loc="left", color=theme.ink, fontsize=NORMAL, fontweight="bold", **PLAIN)


def legend(axes: Axes, theme: Theme, **where: Any) -> None:
    """Add a legend without a box, of texts that are ours."""
    axes.legend(frameon=False, fontsize=SMALL, labelcolor=theme.ink, handlelength=1.6, **where)


def figure_legend(figure: Figure, axes: Axes, theme: Theme) -> None:
    """Add one legend for all axes above them, from the labels of ``axes``; bars come first."""
    handles, texts = axes.get_legend_handles_labels()
    style = {"loc": "outside upper left", "ncols": len(texts), "frameon": False, "fontsize": SMALL}
    figure.legend(handles[::-1], texts[::-1], labelcolor=theme.ink, **style)


def message(text: str, theme: Theme, height: float = 1.0) -> Figure:
    """Return a figure that says in words why there is nothing to draw."""
    figure = sheet(height, theme)
    axes = strip(figure.add_subplot())
    axes.text(0.5, 0.5, text, ha="center", va="center", color=theme.muted, fontsize=NORMAL, **PLAIN)
    return figure


def number(value: float) -> str:
    """Return a value with two digits, or all of those before the point, and a true minus sign.

    Examples
    --------
    >>> number(-0.1234)
    '−0.12'
    >>> number(100.0)
    '100'
    """
    large = 99.5 <= abs(value) < 1e6
    return f"{value + 0.0:{',.0f' if large else '.2g'}}".replace("-", "−")


def label(text: Any, longest: int = _LONGEST) -> str:
    """Return a text short and printable enough to stand at a tick.

    Examples
    --------
    >>> label("a name that goes on and on for ever", longest=12)
    'a name that…'
    """
    clean = "".join(mark if mark.isprintable() else " " for mark in str(text)).strip()
    return clean if len(clean) <= longest else clean[: longest - 1].rstrip() + "…"
