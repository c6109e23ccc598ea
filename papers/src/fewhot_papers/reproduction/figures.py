"""Pictures of reproductions: curves with error bars, and grids of images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fewhot.core.files import replacing_file
from fewhot.plots.grouping import grouped_units
from fewhot.plots.sweep import draw_curves
from fewhot_papers.reproduction.measurements import Value
from fewhot_papers.reproduction.slimming import slim_png, slim_svg

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#555555")
"""Okabe and Ito's colours, told apart by readers with any colour vision."""

Curve = Mapping[Any, Value]


def panels(n_rows: int, n_columns: int, *, width: float = 4.2, height: float = 3.2) -> tuple[Figure, np.ndarray]:
    """Return a figure and its (n_rows, n_columns) axes."""
    figure = Figure(figsize=(width * n_columns, height * n_rows), layout="constrained")
    return figure, figure.subplots(n_rows, n_columns, squeeze=False)


def curves(axes: Axes, lines: Mapping[str, Curve], *, title: str, x: str, y: str, log: bool = False) -> None:
    """Draw lines with bars of one standard error."""
    shown = {label: curve for label, curve in lines.items() if curve}
    draw_curves(axes, shown, COLOURS)
    if log:
        axes.set_xscale("log")
    axes.set(xlabel=x, ylabel=y)
    axes.set_title(title, fontsize="medium")
    axes.grid(alpha=0.25, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    if shown:
        axes.legend(frameon=False, fontsize="small")


def image_grid(axes: Axes, images: np.ndarray, n_columns: int, *, title: str = "", gap: int = 2) -> None:
    """Draw images (n, side²) side by side, each scaled to its own range."""
    side = round(images.shape[1] ** 0.5)
    n_rows = -(-len(images) // n_columns)
    sheet = np.ones((n_rows * (side + gap) - gap, n_columns * (side + gap) - gap))
    for i, image in enumerate(images):
        top, left = (i // n_columns) * (side + gap), (i % n_columns) * (side + gap)
        sheet[top : top + side, left : left + side] = _unit(image).reshape(side, side)
    axes.imshow(sheet, cmap="gray", vmin=0, vmax=1, interpolation="nearest")
    axes.set_axis_off()
    axes.set_title(title, fontsize="medium")


def conditional_samples(given: np.ndarray, drawn: np.ndarray, *, title: str) -> Figure:
    """Draw images (n, side²), each followed by its samples (n * copies, side²)."""
    figure, axes = panels(1, 1, width=5.0, height=3.8)
    rows = np.concatenate([given[:, None], drawn.reshape(len(given), -1, given.shape[1])], axis=1)
    image_grid(axes[0, 0], rows.reshape(-1, given.shape[1]), rows.shape[1], title=title)
    return figure


def code_bars(axes: Axes, code: np.ndarray, *, title: str = "") -> None:
    """Draw one code as bars, one a unit."""
    axes.bar(np.arange(len(code)), code, width=1.0, color=COLOURS[0])
    axes.set_title(title, fontsize="small")
    axes.tick_params(labelsize="x-small")
    axes.set_xticks([])
    axes.spines[["top", "right"]].set_visible(False)


def strength_grid(axes: Axes, strength: np.ndarray, *, title: str, x: str, y: str, hide_below: float = 0.07) -> None:
    """Draw strengths between 0 and 1, (kinds, units), units in the order of the kind that each serves most.

    A plain form of the maps in `fewhot.plots`, for many in one figure.
    """
    shown = np.where(strength < hide_below, 0.0, strength)
    order, _ = grouped_units(shown, shown)
    axes.imshow(shown[:, order], cmap="Blues", vmin=0, vmax=1, aspect="auto", interpolation="none")
    axes.set(xlabel=x, ylabel=y, xticks=[])
    axes.set_title(title, fontsize="medium")


def save(figure: Figure, stem: Path, formats: Sequence[str] = ("png", "svg")) -> list[Path]:
    """Write a figure as PNG and SVG, in few bytes; the same figure gives the same bytes."""
    written = []
    with matplotlib.rc_context({"svg.hashsalt": "fewhot"}):
        for kind in formats:
            path = stem.parent / f"{stem.name}.{kind}"
            with replacing_file(path) as temporary:
                figure.savefig(temporary, format=kind, dpi=150, metadata={"Date": None} if kind == "svg" else None)
                if kind == "png":
                    slim_png(temporary)
                else:
                    temporary.write_text(slim_svg(temporary.read_text(encoding="utf-8")), encoding="utf-8")
            written.append(path)
    return written


def _unit(image: np.ndarray) -> np.ndarray:
    low, high = float(image.min()), float(image.max())
    return (image - low) / (high - low) if high > low else np.zeros_like(image)
