"""Which units serve which classes, as a map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from fewhot.core.checks import one_of
from fewhot.core.errors import InvalidInputError
from fewhot.metrics.classes import ClassActivation
from fewhot.plots.codes import MOST_UNITS
from fewhot.plots.grouping import draw_groups, grouped_units, matrix_of_strengths, names_of, strength_map
from fewhot.plots.palette import theme

NEGLIGIBLE = 0.01
"""A matrix does not say which units are on in some row; those below this in every class are taken as idle."""
_TITLES = {"p_active": "P(active)", "size": "|value|"}


def class_activation(
    activation: Any,
    *,
    classes: Sequence[Any] | None = None,
    show: str = "p_active",
    dark: bool = False,
) -> Figure:
    """Draw how much each class uses each unit, with units in the order of the class that uses them most.

    Units that are on in no row (of a matrix: below 0.01 in every class) come last, behind a dashed line; of very many
    units the strongest are drawn.

    Parameters
    ----------
    activation
        What `fewhot.metrics.class_activation` returns, or any matrix of (classes, units) without negative entries,
        such as ``1 - gamma_class(...)``.
    classes
        A name a class, such as the ``label_names`` of what `fewhot.data.open_data` returns; None takes the labels of
        the record.
    show
        Of a record, "p_active" for the mean probability of being on, or "size" for the mean absolute value.
    dark
        Draw on a dark background.

    Examples
    --------
    >>> figure = class_activation(np.array([[0.1, 0.9], [0.8, 0.0]]), classes=["cat", "dog"])
    >>> [text.get_text() for text in figure.axes[0].get_xticklabels()]
    ['1', '0']
    """
    one_of("show", show, list(_TITLES))
    title, size = "share", None
    if isinstance(activation, ClassActivation):
        classes = activation.classes.tolist() if classes is None else classes
        title, size, activation = _TITLES[show], activation.size, getattr(activation, show)
    strength = matrix_of_strengths(activation, "activation", "a matrix of numbers, (classes, units)")
    if strength.min() < 0:
        raise InvalidInputError(f"activation goes down to {strength.min():.3g}; give shares or sizes, from 0.")
    names = names_of(classes, len(strength), "classes", "classes")
    on = np.where(strength < NEGLIGIBLE, 0.0, strength) if size is None else size
    order, n_used = _strongest(*grouped_units(strength, on), strength)
    shown = strength[:, order]
    idle = "never on" if size is not None else f"below {NEGLIGIBLE:g} in every class"
    text = f"unit, by the class that uses it most; {len(order) - n_used} of {len(order)} are {idle}"
    if len(order) < strength.shape[1]:
        text = f"unit ({len(order)} of {strength.shape[1]}: the strongest), by the class that uses it most"
    top = max(float(strength.max()), 1.0 if title != _TITLES["size"] else 0.0) or 1.0
    colours = theme(dark)
    figure, axes = strength_map(shown, order, names, top, title, text, colours)
    axes.set_ylabel("class")
    draw_groups(axes, shown, n_used, colours)
    return figure


def _strongest(order: np.ndarray, n_used: int, strength: np.ndarray) -> tuple[np.ndarray, int]:
    """Return as many units as can be told apart, in their order."""
    if len(order) <= MOST_UNITS:
        return order, n_used
    best = np.argsort(-strength.max(axis=0), kind="stable")[:MOST_UNITS]
    kept = np.isin(order, best)
    return order[kept], int(kept[:n_used].sum())
