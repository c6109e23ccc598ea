"""Relaxations: which gate a gated family trains with, perhaps on a schedule; at evaluation gates are exact."""

from __future__ import annotations

from torch import Tensor

from fewhot.core.checks import one_of, real_number
from fewhot.core.parts import Configurable
from fewhot.core.records import Knobs
from fewhot.core.registry import GATES
from fewhot.distributions import BinaryConcreteGate, Estimator, ExactGate, Gate, SharpSigmoidGate

ESTIMATORS = ("soft", "straight-through")


class Relaxation(Configurable):
    """Builds the gate of a pass from its logits."""

    def __call__(self, logits: Tensor, knobs: Knobs) -> Gate:
        """Return the gate to draw from: exact, straight-through (refinement) or this relaxation (training)."""
        if knobs.gates == "exact":
            return ExactGate(logits, validate_args=False)
        return self.relaxed(logits, knobs, "straight-through" if knobs.gates == "straight-through" else self.estimator)

    estimator: Estimator

    def relaxed(self, logits: Tensor, knobs: Knobs, estimator: Estimator) -> Gate:
        """Return the relaxed gate."""
        raise TypeError(f"{type(self).__name__} does not say its gate; define relaxed(logits, knobs, estimator).")


@GATES.register("binary-concrete")
class BinaryConcrete(Relaxation):
    r""":math:`S = \sigma((\ell + L)/\tau)`; the knob ``temperature`` overrides the constant."""

    def __init__(self, temperature: float = 0.5, estimator: Estimator = "straight-through") -> None:
        self.temperature = real_number("temperature", temperature, low=0, open_low=True)
        self.estimator = one_of("estimator", estimator, ESTIMATORS)

    def relaxed(self, logits: Tensor, knobs: Knobs, estimator: Estimator) -> Gate:
        """Return the concrete gate."""
        temperature = knobs.get("temperature", self.temperature)
        return BinaryConcreteGate(logits, temperature, estimator=estimator, validate_args=False)


@GATES.register("sharp-sigmoid")
class SharpSigmoid(Relaxation):
    r""":math:`S = \sigma(c(\eta - 1 + \gamma))`; the knob ``sharpness`` overrides the constant."""

    def __init__(self, sharpness: float = 50.0, estimator: Estimator = "soft") -> None:
        self.sharpness = real_number("sharpness", sharpness, low=0, open_low=True)
        self.estimator = one_of("estimator", estimator, ESTIMATORS)

    def relaxed(self, logits: Tensor, knobs: Knobs, estimator: Estimator) -> Gate:
        """Return the sharp sigmoid gate."""
        sharpness = knobs.get("sharpness", self.sharpness)
        return SharpSigmoidGate(logits, sharpness, estimator=estimator, validate_args=False)
