"""Schedules: pure functions of the step, on tensors: a captured step can evaluate them and resuming is exact."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from fewhot.core.checks import real_number
from fewhot.core.errors import InvalidParameterError
from fewhot.core.parts import Configurable
from fewhot.core.registry import SCHEDULES

_ZERO_IN_FLOAT32 = 1e-46


class Schedule(Configurable):
    """A scalar that depends on the step alone."""

    settled_at: int = 0
    """The step from which the value no longer changes."""

    def __call__(self, step: Tensor) -> Tensor:
        """Return the value at ``step``, a float32 scalar on the step's device."""
        raise TypeError(f"{type(self).__name__} does not say its value; define __call__(step).")


@SCHEDULES.register("constant")
class Constant(Schedule):
    """The same value at every step."""

    def __init__(self, value: float) -> None:
        self.value = value

    def __call__(self, step: Tensor) -> Tensor:
        """Return the one value."""
        return torch.full((), self.value, device=step.device)


@SCHEDULES.register("linear")
class Linear(Schedule):
    r"""A ramp: :math:`v(t) = v_0 + (v_1 - v_0)\,\mathrm{clip}((t - t_0)/n, 0, 1)`.

    >>> Linear(0.0, 1.0, n_steps=100)(torch.tensor(25)).item()
    0.25
    """

    def __init__(self, start: float, end: float, n_steps: int, begin: int = 0) -> None:
        if n_steps < 1:
            raise InvalidParameterError(f"A linear schedule needs n_steps >= 1, not {n_steps}.")
        self.start = start
        self.end = end
        self.n_steps = n_steps
        self.begin = begin
        self.settled_at = begin + n_steps

    def __call__(self, step: Tensor) -> Tensor:
        """Return the value on the ramp, or at its nearer end."""
        share = ((step - self.begin) / self.n_steps).clamp(0.0, 1.0)
        return self.start + (self.end - self.start) * share


@SCHEDULES.register("exponential")
class Exponential(Schedule):
    r"""Decay to a floor: :math:`v(t) = \max(v_\infty,\, v_0\, e^{-r t})`."""

    def __init__(self, start: float, rate: float, floor: float = 0.0) -> None:
        self.start = start
        self.rate = real_number("rate", rate, low=0, open_low=True)
        self.floor = real_number("floor", floor, low=0)
        last = max(floor, _ZERO_IN_FLOAT32)
        self.settled_at = math.ceil(math.log(start / last) / rate) if start > last else 0

    def __call__(self, step: Tensor) -> Tensor:
        """Return the decayed value, never below the floor."""
        return (self.start * torch.exp(-self.rate * step.float())).clamp(min=self.floor)


@SCHEDULES.register("piecewise")
class Piecewise(Schedule):
    """Constant between boundaries: ``values[i]`` holds before ``boundaries[i]``, the last value for ever after.

    >>> drop = Piecewise([1e-3, 1e-4], boundaries=[20_000])
    >>> drop(torch.tensor(19_999)).item() > drop(torch.tensor(20_000)).item()
    True
    """

    def __init__(self, values: Sequence[float], boundaries: Sequence[int]) -> None:
        if len(values) != len(boundaries) + 1 or list(boundaries) != sorted(boundaries):
            raise InvalidParameterError(
                f"A piecewise schedule needs one value more than sorted boundaries; "
                f"got {len(values)} values and boundaries {list(boundaries)}."
            )
        self.values = list(values)
        self.boundaries = list(boundaries)
        self.settled_at = max(self.boundaries, default=0)

    def __call__(self, step: Tensor) -> Tensor:
        """Return the value of the piece that holds ``step``."""
        value = torch.full((), float(self.values[0]), device=step.device)
        for boundary, later in zip(self.boundaries, self.values[1:], strict=True):
            value = torch.where(step >= boundary, later, value)
        return value


@SCHEDULES.register("cosine")
class Cosine(Schedule):
    r"""Half a cosine from ``start`` to ``end`` over ``n_steps``, beginning at ``begin``."""

    def __init__(self, start: float, end: float, n_steps: int, begin: int = 0) -> None:
        if n_steps < 1:
            raise InvalidParameterError(f"A cosine schedule needs n_steps >= 1, not {n_steps}.")
        self.start = start
        self.end = end
        self.n_steps = n_steps
        self.begin = begin
        self.settled_at = begin + n_steps

    def __call__(self, step: Tensor) -> Tensor:
        """Return the value on the curve, or at its nearer end."""
        share = ((step - self.begin) / self.n_steps).clamp(0.0, 1.0)
        return self.end + (self.start - self.end) * 0.5 * (1 + torch.cos(torch.pi * share))


@SCHEDULES.register("geometric")
class Geometric(Schedule):
    r"""Equal factors a step: :math:`v(t) = v_0\,(v_1/v_0)^{\mathrm{clip}(t/n, 0, 1)}`.

    >>> round(Geometric(0.01, 1.0, n_steps=100)(torch.tensor(50)).item(), 6)
    0.1
    """

    def __init__(self, start: float, end: float, n_steps: int) -> None:
        if n_steps < 1:
            raise InvalidParameterError(f"A geometric schedule needs n_steps >= 1, not {n_steps}.")
        self.start = real_number("start", start, low=0, open_low=True)
        self.end = real_number("end", end, low=0, open_low=True)
        self.n_steps = n_steps
        self.settled_at = n_steps

    def __call__(self, step: Tensor) -> Tensor:
        """Return the value on the curve, or at its nearer end."""
        share = (step / self.n_steps).clamp(0.0, 1.0)
        return torch.where(share < 1, self.start * torch.exp(math.log(self.end / self.start) * share), self.end)
