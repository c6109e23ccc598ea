"""The comparisons that rules are made of; "more" always means by more than two standard errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fewhot_papers.reproduction.entry import Check
from fewhot_papers.reproduction.measurements import Value

MARGIN = 2.0
"""How many standard errors of the difference a claim of "more" must exceed."""


def exceeds(larger: Value, smaller: Value) -> bool:
    """Say whether one mean is above another by more than two standard errors of their difference.

    >>> exceeds(Value(3.0, 0.3, 3), Value(2.0, 0.4, 3)), exceeds(Value(3.0, 0.3, 3), Value(1.9, 0.4, 3))
    (False, True)
    """
    difference = larger - smaller
    return difference.mean > MARGIN * difference.se


def more(statement: str, larger: Value, smaller: Value) -> Check:
    """Check that one value is above another by more than two standard errors."""
    return Check(statement, exceeds(larger, smaller), f"{larger} against {smaller}")


def less(statement: str, smaller: Value, larger: Value) -> Check:
    """Check that one value is below another by more than two standard errors."""
    return Check(statement, exceeds(larger, smaller), f"{smaller} against {larger}")


def best(curve: Mapping[Any, Value]) -> Any:
    """Return where a curve has its highest mean.

    >>> best({8: Value(1.0, 0.1, 3), 16: Value(2.0, 0.1, 3)})
    16
    """
    return max(curve, key=lambda level: curve[level].mean)


def drop(curve: Mapping[Any, Value]) -> Value:
    """Return how far a curve falls from its best to its last value; exactly 0 where the last is the best."""
    peak, last = best(curve), max(curve)
    return Value(0.0, 0.0, curve[last].n) if peak == last else curve[peak] - curve[last]


def falls(statement: str, curve: Mapping[Any, Value]) -> Check:
    """Check that the last value of a curve is below its best by more than two standard errors."""
    peak, fall = best(curve), drop(curve)
    return Check(statement, fall.mean > MARGIN * fall.se, f"best {curve[peak]} at {peak}, {curve[max(curve)]} at last")


def falls_less(statement: str, steady: Mapping[Any, Value], falling: Mapping[Any, Value]) -> Check:
    """Check that one curve's fall is smaller than another's by more than two standard errors."""
    little, much = drop(steady), drop(falling)
    return Check(statement, exceeds(much, little), f"falls by {little} against {much}")


def rank_correlation(curve: Mapping[float, Value]) -> float:
    """Return Spearman's rank correlation of a curve's means with where they lie; 0 for a flat curve.

    >>> rank_correlation({1: Value(0.9, 0, 3), 2: Value(0.7, 0, 3), 3: Value(0.4, 0, 3)})
    -1.0
    """
    from scipy.stats import rankdata

    means = rankdata([value.mean for value in curve.values()])
    places = rankdata(list(curve))
    return float(np.corrcoef(places, means)[0, 1]) if means.std() and places.std() else 0.0
