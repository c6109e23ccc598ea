"""Choice estimators: how a family of discrete choices draws in training; at evaluation choices are exact."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from torch import Tensor

from fewhot.core.checks import one_of, real_number, truth, whole_number
from fewhot.core.parts import Configurable
from fewhot.core.records import Knobs
from fewhot.core.registry import CHOICES
from fewhot.distributions import choices
from fewhot.distributions.one_hot import Choice

Temperatures = tuple[float | Tensor, float | Tensor]
"""Of gates and of features, for estimators that tell them apart; the others take the first."""


class ChoiceEstimator(Configurable):
    """Builds the way to draw a choice among C classes.

    The knob ``temperature`` overrides the constant, and temperatures that a family learns override both.
    """

    temperature: float

    def __call__(self, knobs: Knobs, learned: Temperatures | None = None) -> Choice | None:
        """Return how to draw: exactly, exactly with a second-order gradient (refinement), or this way (training)."""
        if knobs.gates == "exact":
            return None
        if knobs.gates == "straight-through":
            return choices.second_order
        fixed = knobs.get("temperature", self.temperature)
        return self.relaxed((fixed, fixed) if learned is None else learned)

    def relaxed(self, temperatures: Temperatures) -> Choice | None:
        """Return how to draw in training; None draws exactly, without a gradient."""
        raise TypeError(f"{type(self).__name__} does not say how it draws; define relaxed(temperatures).")

    def noise_width(self, n_classes: int) -> int:
        """Return how many uniform numbers a choice needs."""
        return 1


@CHOICES.register("second-order")
class SecondOrder(ChoiceEstimator):
    """Exact choices with the gradient of `fewhot.distributions.choices.second_order`."""

    def __init__(self, temperature: float = 1.0) -> None:
        self.temperature = real_number("temperature", temperature, low=0, open_low=True)

    def relaxed(self, temperatures: Temperatures) -> Choice:
        """Return the second-order choice."""
        temperature = temperatures[0]
        if isinstance(temperature, float) and temperature == 1.0:
            return choices.second_order
        return partial(choices.second_order, temperature=temperature)


@CHOICES.register("without-gradient")
class WithoutGradient(ChoiceEstimator):
    """Exact choices that nothing learns from, for objectives in closed form."""

    temperature = 1.0

    def relaxed(self, temperatures: Temperatures) -> None:
        """Return None: the draw is exact."""


@CHOICES.register("straight-through")
class StraightThrough(ChoiceEstimator):
    """Exact choices with the gradient of their mean."""

    def __init__(self, temperature: float = 1.0) -> None:
        self.temperature = real_number("temperature", temperature, low=0, open_low=True)

    def relaxed(self, temperatures: Temperatures) -> Choice:
        """Return the straight-through choice."""
        return partial(choices.straight_through, temperature=temperatures[0])


@CHOICES.register("concrete")
class Concrete(ChoiceEstimator):
    """Soft choices, Gumbel-softmax; with ``hard``, exact ones with the gradient of the soft ones."""

    def __init__(self, temperature: float = 1.0, hard: bool = False) -> None:
        self.temperature = real_number("temperature", temperature, low=0, open_low=True)
        self.hard = truth("hard", hard)

    def relaxed(self, temperatures: Temperatures) -> Choice:
        """Return the concrete choice."""
        draw = choices.straight_through_concrete if self.hard else choices.concrete
        return partial(draw, temperature=temperatures[0])

    def noise_width(self, n_classes: int) -> int:
        """Return one number a class."""
        return n_classes


@CHOICES.register("separate-concrete")
class SeparateConcrete(ChoiceEstimator):
    """A soft gate times a soft choice, for slots that may be off; with ``hard``, exact with the gradient of these."""

    def __init__(self, temperature: float = 1.0, hard: bool = False) -> None:
        self.temperature = real_number("temperature", temperature, low=0, open_low=True)
        self.hard = truth("hard", hard)

    def relaxed(self, temperatures: Temperatures) -> Choice:
        """Return the two concrete choices."""
        gate, feature = temperatures
        return choices.GateAndChoice(gate, feature, self.hard)

    def noise_width(self, n_classes: int) -> int:
        """Return one number a class: the last, to be off, is the gate's."""
        return n_classes


@CHOICES.register("rao-blackwellised")
class RaoBlackwellised(ChoiceEstimator):
    """Exact choices with the gradient of soft ones, averaged over the noise that makes the choice."""

    def __init__(self, temperature: float = 1.0, n_inner: int = 10) -> None:
        self.temperature = real_number("temperature", temperature, low=0, open_low=True)
        self.n_inner = whole_number("n_inner", n_inner)

    def relaxed(self, temperatures: Temperatures) -> Choice:
        """Return the averaged choice."""
        return partial(choices.rao_blackwellised, temperature=temperatures[0], n_inner=self.n_inner)

    def noise_width(self, n_classes: int) -> int:
        """Return a number for the choice, and ``n_inner`` a class."""
        return 1 + self.n_inner * n_classes


BY_NAME: dict[str, Callable[..., ChoiceEstimator]] = {
    "second-order": SecondOrder,
    "straight-through": StraightThrough,
    "concrete": Concrete,
    "straight-through-concrete": partial(Concrete, hard=True),
    "separate-concrete": SeparateConcrete,
    "rao-blackwellised": RaoBlackwellised,
}
"""What users call the estimators."""


def choice_estimator(name: str, temperature: float = 1.0) -> ChoiceEstimator:
    """Return an estimator by the name that users give it."""
    return BY_NAME[one_of("estimator", name, tuple(BY_NAME))](temperature=temperature)
