"""Rows as pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fewhot.core.checks import one_each, whole_number
from fewhot.data.pixels import flat, image_shape_of, stacked
from fewhot.data.recognise import as_array
from fewhot.plots.canvas import PLAIN, SMALL, WIDTH, label, sheet, strip
from fewhot.plots.palette import Theme, signed_colours, theme
from fewhot.plots.rows import dense, grey_range, matrix_of, picture_shape, pictures, shades


def images(
    rows: Any,
    image_shape: Sequence[int] | None = None,
    *,
    titles: Sequence[Any] | None = None,
    n_columns: int = 10,
    max_rows: int = 60,
    dark: bool = False,
) -> Figure:
    """Draw rows as pictures, in a grid.

    Parameters
    ----------
    rows
        Images, (n, height, width) or (n, height, width, channels), or rows (n, p), dense or sparse; the first
        ``max_rows`` are drawn.
    image_shape
        Of rows: (height, width), or with three channels last or first.
    titles
        A text a picture.
    n_columns
        Pictures a line.
    max_rows
        How many rows at most.
    dark
        Draw on a dark background.

    Examples
    --------
    >>> len(images(np.zeros((3, 4)), (2, 2)).axes)
    3
    """
    rows = stacked(rows, "rows")
    if image_shape is None:
        array = as_array(rows, "rows")
        image_shape = image_shape_of(array, "rows")
        rows = flat(array)
    matrix = matrix_of(rows, "rows")
    shape = picture_shape(image_shape, matrix.shape[1])
    titles = None if titles is None else one_each("titles", titles, matrix.shape[0], "rows")
    shown = dense(matrix, slice(whole_number("max_rows", max_rows)))
    low, high = grey_range(shown)
    across = min(whole_number("n_columns", n_columns), len(shown))
    lines = -(-len(shown) // across)
    drawn = pictures(shown, shape)
    tall, wide = (size / max(drawn.shape[1:3]) for size in drawn.shape[1:3])
    side = min(WIDTH / across, 1.1 / wide, 1.1)
    colours = theme(dark)
    height = lines * (side * tall + (0.22 if titles is not None else 0.04))
    figure = sheet(height, colours, width=across * (side * wide + 0.04))
    for at, picture in enumerate(drawn):
        axes = figure.add_subplot(lines, across, at + 1)
        show(axes, picture, low, high, finest=None)
        if titles is not None:
            axes.set_title(label(titles[at], 12), fontsize=SMALL, color=colours.muted, pad=3, **PLAIN)
    return figure


def show(axes: Axes, picture: np.ndarray, low: float, high: float, finest: int | None = 64) -> None:
    """Draw one picture, black at ``low`` and white at ``high``, with at most ``finest`` pixels a side."""
    pixels = shades(_coarser(picture, finest), low, high)
    if pixels.shape[2:] == (4,):  # what is not opaque lies over white
        pixels = pixels[..., :3] * pixels[..., 3:] + 1 - pixels[..., 3:]
    strip(axes).imshow(pixels, cmap="gray", vmin=0, vmax=1, interpolation="none")


def _coarser(picture: np.ndarray, finest: int | None) -> np.ndarray:
    """Average blocks of pixels, so that small pictures stay small files."""
    block = 1 if finest is None else -(-max(picture.shape[:2]) // finest)
    if block == 1:
        return picture
    high, wide = (size // block * block or size for size in picture.shape[:2])
    tall, broad = min(block, high), min(block, wide)
    blocks = picture[:high, :wide].reshape(high // tall, tall, wide // broad, broad, *picture.shape[2:])
    return blocks.mean(axis=(1, 3))


def show_change(axes: Axes, picture: np.ndarray, reach: float, colours: Theme) -> None:
    """Draw a difference of pictures: orange where it is brighter, blue where darker; colours count by their mean."""
    change = picture[..., :3].mean(axis=-1) if picture.ndim == 3 else picture
    axes.set(xticks=[], yticks=[], facecolor=colours.paper)
    axes.spines[:].set_color(colours.rule)
    axes.imshow(change, cmap=signed_colours(), vmin=-reach, vmax=reach, interpolation="none")
