"""Supports, and the starting points inside them: refusals in one sentence, and logs of column means kept finite."""

from __future__ import annotations

from torch import Tensor

from fewhot.core.errors import InvalidInputError
from fewhot.core.records import LARGEST_WHOLE, ColumnMoments, DataSpec

SMALLEST_MEAN = 1e-5
"""Column means are moved this far inside their support before a log or a logit is taken."""


ANOTHER = "take likelihood='gaussian'"
"""A way out of a refusal, which is open until the model is fitted."""


def said_of_new_rows(sentence: str) -> str:
    """Return a refusal as it is told when the model is already fitted.

    >>> said_of_new_rows("The data hold fractions; give counts, or take likelihood='gaussian'.")
    "The data hold fractions; give counts, or fit again with likelihood='gaussian'."
    """
    return sentence.replace(ANOTHER, ANOTHER.replace("take", "fit again with"))


def require_unit_interval(spec: DataSpec, family: str, remedy: str) -> None:
    """Refuse data with values outside [0, 1]."""
    if not spec.unit_interval:
        raise InvalidInputError(
            f"The data range from {spec.minimum:g} to {spec.maximum:g} but {family} accepts values in [0, 1]; {remedy}."
        )


def require_counts(spec: DataSpec, family: str) -> None:
    """Refuse data with negative or fractional values, and counts too large to be exact."""
    if spec.counts and spec.maximum > LARGEST_WHOLE:
        raise InvalidInputError(
            f"The data hold counts up to {spec.maximum:g}, and {family} is exact up to {LARGEST_WHOLE:,}; "
            f"count in larger units, or {ANOTHER}."
        )
    if not spec.counts:
        given = "fractional values" if spec.minimum >= 0 else f"negative values (minimum {spec.minimum:g})"
        raise InvalidInputError(
            f"The data hold {given} but {family} accepts whole numbers from 0 up; pass the raw counts, or {ANOTHER}."
        )


def log_of_means(moments: ColumnMoments) -> Tensor:
    """Return log of the column means, (D,)."""
    return moments.mean.float().clamp(min=SMALLEST_MEAN).log()


def logit_of_means(moments: ColumnMoments) -> Tensor:
    """Return the logit of the column means, (D,)."""
    return moments.mean.float().clamp(SMALLEST_MEAN, 1 - SMALLEST_MEAN).logit()
