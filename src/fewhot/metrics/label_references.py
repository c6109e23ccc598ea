"""What is known of labels, and of counts, without a fitted model: their shares or means, and a linear model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fewhot.metrics.linear_labels import LinearLabels, Target

WORDS: dict[Target, dict[str, str]] = {
    "labels": {"shares": "the share of each label", "linear": "a logistic regression for each label"},
    "counts": {"means": "the mean of each count", "linear": "a ridge regression for each count"},
}
"""What the references are called in a sentence, by the ends of their names."""
_LINEAR = ("centre", "scale", "weights", "intercept")


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelReferences:
    """Simple models of the labels of training rows, beside which a fitted one is judged.

    Attributes
    ----------
    target
        What labels are: "labels" that are there or not, or "counts".
    n_rows
        Training rows.
    means
        The share of training rows that have each label, or its mean count, (K,).
    linear
        The linear model; None where rows and labels are too many for a quick one.
    thresholds
        From which probability "shares" and "linear" predict a label, (1,) for all of them or (K,).
    """

    target: Target
    n_rows: int
    means: np.ndarray
    linear: LinearLabels | None
    thresholds: dict[str, np.ndarray]

    def in_words(self, name: str) -> str:
        """Return what a reference is, "shares", "means" or "linear"."""
        return WORDS[self.target][name]

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return everything but names and numbers, by name."""
        found = {"means": self.means} | {f"threshold_{name}": value for name, value in self.thresholds.items()}
        if self.linear is not None:
            found |= {name: getattr(self.linear, name) for name in _LINEAR}
        return {name: np.array(value, dtype=np.float64, order="C") for name, value in found.items()}

    def facts(self) -> dict[str, Any]:
        """Return names and numbers as JSON values; with `to_arrays`, `from_parts` makes the same of them."""
        n_linear = None if self.linear is None else self.linear.n_rows
        return {"target": self.target, "n_rows": self.n_rows, "n_rows_linear": n_linear}

    @classmethod
    def from_parts(cls, facts: dict[str, Any], arrays: dict[str, np.ndarray]) -> LabelReferences:
        """Return what `facts` and `to_arrays` describe."""
        n_linear = facts["n_rows_linear"]
        marked = {name: value for name, value in arrays.items() if name.startswith("threshold_")}
        return cls(
            target=facts["target"],
            n_rows=int(facts["n_rows"]),
            means=arrays["means"],
            linear=None if n_linear is None else LinearLabels(**{n: arrays[n] for n in _LINEAR}, n_rows=int(n_linear)),
            thresholds={name.removeprefix("threshold_"): value for name, value in marked.items()},
        )
