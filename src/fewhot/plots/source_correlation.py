"""Which units follow which known sources, as a map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from fewhot.core.checks import real_number
from fewhot.core.errors import InvalidInputError
from fewhot.metrics.matrices import as_matrix
from fewhot.metrics.stability import correlations
from fewhot.plots.grouping import draw_groups, grouped_units, matrix_of_strengths, names_of, strength_map
from fewhot.plots.palette import theme
from fewhot.plots.rows import values_of

_ROUNDING = 1e-6


def source_correlation(
    sources: Any,
    codes: Any = None,
    *,
    names: Sequence[Any] | None = None,
    hide_below: float = 0.07,
    dark: bool = False,
) -> Figure:
    r"""Draw :math:`|\mathrm{corr}(\text{source}_k, z_j)|`, with units in the order of the source they follow most.

    A code that takes the sources apart has one dark cell a column. Units that follow no source come last, behind a
    dashed line, as empty columns.

    Parameters
    ----------
    sources
        The correlations, (sources, units), signed or not; or, where ``codes`` are given, the sources of the rows,
        (n, sources).
    codes
        Codes of the same rows as `transform` or `codes` return them, (n, units).
    names
        A name a source.
    hide_below
        Smaller correlations are not drawn.
    dark
        Draw on a dark background.

    References
    ----------
    Tonolini, Jensen and Murray-Smith (2019), Variational sparse coding, supplement.

    Examples
    --------
    >>> figure = source_correlation(np.array([[0.01, -0.9], [0.8, 0.1]]), names=["height", "width"])
    >>> figure.axes[0].images[0].get_array().tolist()
    [[0.9, 0.0], [0.1, 0.8]]
    """
    floor = real_number("hide_below", hide_below, low=0, high=1)
    strength = np.abs(_correlations(sources, codes))
    strength[strength < floor] = 0.0
    named = names_of(names, len(strength), "names", "sources")
    order, n_used = grouped_units(strength, strength)
    shown = strength[:, order]
    text = f"unit, by the source it follows most ({n_used} of {len(order)} follow one)"
    colours = theme(dark)
    figure, axes = strength_map(shown, order, named, 1.0, "|corr|", text, colours)
    axes.set_ylabel("source")
    draw_groups(axes, shown, n_used, colours)
    return figure


def _correlations(sources: Any, codes: Any) -> np.ndarray:
    """Return the correlations as given, or those of sources and codes."""
    if codes is None:
        matrix = matrix_of_strengths(sources, "sources", "correlations, (sources, units), or codes as well")
        if np.abs(matrix).max() > 1 + _ROUNDING:
            raise InvalidInputError(
                f"sources holds {np.abs(matrix).max():.3g} and no codes were given; correlations lie between -1 and "
                f"1, and sources themselves need codes of the same rows."
            )
        return matrix
    one, other = as_matrix(sources, "sources"), as_matrix(values_of(codes), "codes")
    if one.shape[0] != other.shape[0]:
        raise InvalidInputError(
            f"sources has {one.shape[0]} rows and codes has {other.shape[0]}; give codes of the same rows."
        )
    return correlations(one, other)
