"""What is measured of a model while it is trained."""

from __future__ import annotations


def watched(evaluation: dict[str, float]) -> float:
    """Return the number by which weights are chosen: the objective, or else the ELBO.

    >>> watched({"bound": -90.0, "objective": -95.0})
    -95.0
    """
    return evaluation.get("objective", elbo_of(evaluation))


def elbo_of(evaluation: dict[str, float]) -> float:
    """Return the ELBO that weights have when a fit ends with them: with gates at the sparsity target, and refined.

    >>> elbo_of({"bound": -90.0, "refined_bound": -85.0}), elbo_of({"bound": -90.0, "bound_at_target": -92.0})
    (-85.0, -92.0)
    """
    return evaluation.get("bound_at_target", evaluation.get("refined_bound", evaluation["bound"]))
