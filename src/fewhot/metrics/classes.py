"""Which units serve which classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fewhot.core.errors import InvalidInputError
from fewhot.metrics.code_kinds import activity_probabilities
from fewhot.metrics.examples import map_codes
from fewhot.metrics.matrices import dense

_HALF = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassActivation:
    """How much each class uses each unit.

    Attributes
    ----------
    classes
        The labels, sorted, (C,).
    n_rows
        Rows of each class, (C,).
    p_active
        Mean P(active) over the rows of a class, (C, K).
    size
        Mean absolute value of the map code over the rows of a class, zeros counted, (C, K).
    """

    classes: np.ndarray
    n_rows: np.ndarray
    p_active: np.ndarray
    size: np.ndarray


def class_activation(estimator: Any, X: Any, y: Any) -> ClassActivation:
    r"""Return how probable and how large each unit is in each class.

    .. math:: \frac{1}{n_c} \sum_{i:\,y_i = c} P(\text{unit } j \text{ on} \mid x_i), \qquad
        \frac{1}{n_c} \sum_{i:\,y_i = c} |z_{ij}|

    with z the map code.

    Parameters
    ----------
    estimator
        A fitted estimator with gates.
    X
        Rows, (n, p).
    y
        A class a row, (n,): numbers or names, none of them missing. To see words instead of the numbers that
        `fewhot.data.open_data` makes of them, give `fewhot.plots.class_activation` ``classes=t.label_names``.

    References
    ----------
    Tonolini, Jensen and Murray-Smith (2019), Variational sparse coding, UAI.

    Examples
    --------
    >>> import fewhot as fh
    >>> X = np.random.default_rng(0).random((50, 4))
    >>> vsc = fh.VSC(n_components=3, alpha=0.5, max_steps=5, random_state=0).fit(X)
    >>> class_activation(vsc, X, np.arange(50) % 2).p_active.shape
    (2, 3)
    """
    p_active = activity_probabilities(estimator, X)
    classes, index = class_places(y, len(p_active))
    return ClassActivation(
        classes=classes,
        n_rows=np.bincount(index, minlength=len(classes)),
        p_active=_class_means(p_active, index, len(classes)),
        size=_class_means(np.abs(dense(map_codes(estimator, X))), index, len(classes)),
    )


def gamma_class(estimator: Any, X: Any, y: Any) -> np.ndarray:
    r"""Return the share of each class's rows in which a unit is rather off than on.

    .. math:: \frac{1}{n_c} \sum_{i:\,y_i = c} \mathbb{1}\big[\mathbb{E}_q[\gamma_j \mid x_i] \ge \tfrac12\big]

    Here :math:`\gamma` is the probability of being **off**, as in the hierarchical model (`HSVAE`):
    :math:`\mathbb{E}_q[\gamma \mid x] = 1 - P(\text{active} \mid x)`. So small values mark the units that a class
    uses, and ``1 - gamma_class(...)`` is the share of a class's rows in whose map code the unit is on (before any
    ceiling, ``max_active``). `class_activation` averages P(active) itself, without the cut at one half.

    Parameters
    ----------
    estimator, X, y
        As in `class_activation`.

    Returns
    -------
    ndarray
        (C, K), classes in sorted order.

    References
    ----------
    Prokhorov, Li, Shareghi and Collier (2021), Learning sparse sentence encoding without supervision.
    """
    off = 1 - activity_probabilities(estimator, X) >= _HALF
    classes, index = class_places(y, len(off))
    return _class_means(off, index, len(classes))


def class_places(y: Any, n_rows: int, name: str = "y", rows: str = "X") -> tuple[np.ndarray, np.ndarray]:
    """Return the classes and each row's place among them; refuse labels that are missing."""
    if y is None:
        raise InvalidInputError(f"{name} is None; give a class a row.")
    labels = np.asarray(y)
    if labels.shape != (n_rows,):
        raise InvalidInputError(
            f"{name} has shape {labels.shape} and {rows} has {n_rows} rows; give a class a row, ({n_rows},)."
        )
    if labels.dtype.kind in "mMc":
        raise InvalidInputError(f"{name} holds labels of type {labels.dtype}; give numbers or names.")
    given = y.tolist() if hasattr(y, "tolist") else list(y)
    missing = sum(map(_is_missing, given))
    if missing:
        raise InvalidInputError(f"{missing} of {n_rows} labels in {name} are missing; leave those rows out.")
    mixed = InvalidInputError(f"{name} mixes labels that have no common order; give numbers or names.")
    if 0 < sum(isinstance(label, str) for label in given) < n_rows:
        raise mixed
    try:
        return np.unique(labels, return_inverse=True)
    except TypeError as error:
        raise mixed from error


def places_among(classes: np.ndarray, y: Any, n_rows: int, name: str = "y", rows: str = "X") -> np.ndarray:
    """Return each row's place among classes that are known already; refuse a class that is not among them."""
    own, places = class_places(y, n_rows, name, rows)
    known = {label: place for place, label in enumerate(classes.tolist())}
    unknown = next((label for label in own.tolist() if label not in known), None)
    if unknown is not None:
        raise InvalidInputError(f"{name} has the class {unknown!r}, which no training row has; leave its rows out.")
    return np.array([known[label] for label in own.tolist()])[places]


def _is_missing(label: Any) -> bool:
    """Say whether a label is none: None, pandas' NA, or NaN, which differs from itself."""
    return label is None or type(label).__name__ == "NAType" or label != label


def _class_means(values: np.ndarray, index: np.ndarray, n_classes: int) -> np.ndarray:
    """Return the mean of the rows of each class, (C, K)."""
    sums = np.zeros((n_classes, values.shape[1]))
    np.add.at(sums, index, values)
    return sums / np.bincount(index, minlength=n_classes)[:, None]
