"""What is measured of a model while it is trained."""

from __future__ import annotations


def watched(evaluation: dict[str, float]) -> float:
    """Return the number by which weights are chosen: the objective, the refined bound, or the bound.

    >>> watched({"bound": -90.0, "refined_bound": -85.0})
    -85.0
    """
    return evaluation.get("objective", evaluation.get("refined_bound", evaluation["bound"]))
