"""Adam whose clipping and skipping happen inside the update, and which can be captured in a graph."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from fewhot.inference.phases import OptimiserSpec
from fewhot.training.compiling import compiled

_EPSILON = 1e-8
_TINY_MEAN = 1e-20  # far below epsilon, and some 400 steps away from a denormal number
_TINY_SQUARE = 1e-30


class _Lists(NamedTuple):
    weights: list[Tensor]
    gradients: list[Tensor]
    first: list[Tensor]
    second: list[Tensor]
    largest: list[Tensor]  # empty but for AMSGrad


class _Scalars(NamedTuple):
    taken: Tensor
    rate: Tensor
    scale: Tensor
    halted: Tensor


class FusedAdam:
    """torch's fused Adam kernel, or the same update compiled, on tensors that this object owns.

    The kernel gives each 65,536 elements of a tensor to one block of threads: a network of a million weights keeps 15
    of a large GPU's 132 processors busy. Compiled, the update is one pointwise kernel a tensor and fills the device.

    Parameters
    ----------
    parameters
        What to move.
    spec
        Betas, weight decay, and whether to divide by the largest second moment so far (AMSGrad).
    rate
        The learning rate, a device scalar that may change between steps.
    scale
        Gradients are divided by this device scalar: clipping without another pass over them.
    halted
        While this device scalar is 1 nothing moves.
    """

    def __init__(
        self, parameters: Sequence[nn.Parameter], spec: OptimiserSpec, *, rate: Tensor, scale: Tensor, halted: Tensor
    ) -> None:
        self.parameters = list(parameters)
        self.spec = spec
        self.rate, self.scale, self.halted = rate, scale, halted
        self.count = torch.zeros((), device=rate.device)
        self.first = [torch.zeros_like(p, memory_format=torch.contiguous_format) for p in self.parameters]
        self.second = [torch.zeros_like(p, memory_format=torch.contiguous_format) for p in self.parameters]
        self.largest = [torch.zeros_like(square) for square in self.second] if spec.amsgrad else []
        self.update = _fused

    def compile(self, **options: Any) -> None:
        """Use the compiled update from now on."""
        self.update = compiled(_pointwise, **options)

    def forget_compiled(self) -> None:
        """Use the fused kernel again."""
        self.update = _fused

    def zero_grad(self) -> None:
        """Forget the gradients."""
        for parameter in self.parameters:
            parameter.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """Move every parameter that has a gradient."""
        gradients = {j: p.grad for j, p in enumerate(self.parameters) if p.grad is not None}
        lists = _Lists(
            weights=[self.parameters[j].detach() for j in gradients],
            gradients=list(gradients.values()),
            first=[self.first[j] for j in gradients],
            second=[self.second[j] for j in gradients],
            largest=[self.largest[j] for j in gradients if self.spec.amsgrad],
        )
        self.update(lists, _Scalars(self.count, self.rate, self.scale, self.halted), self.spec)

    @torch.no_grad()
    def flush_tiny(self) -> None:
        """Zero moments that no longer move anything, before they become denormal numbers, which CPUs are slow at.

        The first moment of a weight without gradient shrinks by a tenth each step and is denormal after some 800.
        """
        for mean, square in zip(self.first, self.second, strict=True):
            mean.masked_fill_(mean.abs() < _TINY_MEAN, 0.0)
            square.masked_fill_(square < _TINY_SQUARE, 0.0)

    def state(self) -> dict[str, Tensor]:
        """Return the tensors a checkpoint needs."""
        moments = {"first": self.first, "second": self.second, "largest": self.largest}
        named = {f"{j}/{name}": value for name, values in moments.items() for j, value in enumerate(values)}
        return {"count": self.count, **named}

    def load(self, state: dict[str, Tensor]) -> None:
        """Take a checkpoint's tensors back."""
        _take_back(self.state(), state)


class GroupedAdam:
    """Several `FusedAdam`, each with a rate of its own relative to the first's, as if they were one.

    Parameters
    ----------
    groups
        What to move, by the rate relative to ``rate``.
    spec, rate, scale, halted
        As `FusedAdam`.
    """

    def __init__(
        self,
        groups: Mapping[float, Sequence[nn.Parameter]],
        spec: OptimiserSpec,
        *,
        rate: Tensor,
        scale: Tensor,
        halted: Tensor,
    ) -> None:
        self.rate = rate
        self.parts = {
            relative: FusedAdam(parameters, spec, rate=torch.zeros_like(rate), scale=scale, halted=halted)
            for relative, parameters in groups.items()
        }

    def compile(self, **options: Any) -> None:
        """Use the compiled update from now on."""
        for part in self.parts.values():
            part.compile(**options)

    def forget_compiled(self) -> None:
        """Use the fused kernel again."""
        for part in self.parts.values():
            part.forget_compiled()

    def zero_grad(self) -> None:
        """Forget the gradients."""
        for part in self.parts.values():
            part.zero_grad()

    @torch.no_grad()
    def step(self) -> None:
        """Move every parameter that has a gradient, by its rate."""
        for relative, part in self.parts.items():
            torch.mul(self.rate, relative, out=part.rate)
            part.step()

    def flush_tiny(self) -> None:
        """Zero moments that no longer move anything."""
        for part in self.parts.values():
            part.flush_tiny()

    def state(self) -> dict[str, Tensor]:
        """Return the tensors a checkpoint needs."""
        parts = enumerate(self.parts.values())
        return {f"group{i}/{name}": value for i, part in parts for name, value in part.state().items()}

    def load(self, state: dict[str, Tensor]) -> None:
        """Take a checkpoint's tensors back."""
        _take_back(self.state(), state)


def adam(
    parameters: Sequence[nn.Parameter],
    relative_rates: Mapping[int, float],
    spec: OptimiserSpec,
    **scalars: Tensor,
) -> FusedAdam | GroupedAdam:
    """Return one optimiser of parameters, of which ``relative_rates`` names some by their id."""
    groups: dict[float, list[nn.Parameter]] = {}
    for parameter in parameters:
        groups.setdefault(relative_rates.get(id(parameter), 1.0), []).append(parameter)
    return FusedAdam(parameters, spec, **scalars) if set(groups) <= {1.0} else GroupedAdam(groups, spec, **scalars)


def _take_back(own: dict[str, Tensor], saved: dict[str, Tensor]) -> None:
    """Copy saved tensors into an optimiser's own; those of other parameters are refused, as weights would be."""
    shapes, others = ({name: value.shape for name, value in tensors.items()} for tensors in (own, saved))
    if shapes != others:
        raise RuntimeError("The moments of Adam that were saved are those of other parameters.")
    for name, value in own.items():
        value.copy_(saved[name])


def _fused(lists: _Lists, scalars: _Scalars, spec: OptimiserSpec) -> None:
    weights, gradients, first, second, largest = lists
    count, rate, scale, halted = scalars
    count += 1 - halted
    # On a CPU, where reading a number is free, a scale of 1 is left out: dividing would write every gradient again.
    divides = weights[0].device.type != "cpu" or float(scale) != 1.0
    fused = torch._fused_adamw_ if spec.decoupled_weight_decay else torch._fused_adam_  # pyright: ignore[reportPrivateImportUsage]
    fused(
        weights,
        gradients,
        first,
        second,
        largest,
        [count] * len(weights),
        lr=rate,
        beta1=spec.betas[0],
        beta2=spec.betas[1],
        weight_decay=spec.weight_decay,
        eps=_EPSILON,
        amsgrad=spec.amsgrad,
        maximize=False,
        grad_scale=scale if divides else None,
        found_inf=halted,
    )


def _pointwise(lists: _Lists, scalars: _Scalars, spec: OptimiserSpec) -> None:
    count, rate, scale, halted = scalars
    count += 1 - halted
    beta1, beta2 = spec.betas
    stays = halted > 0
    size = rate / -torch.expm1(count * math.log(beta1))  # 1 - beta^t without cancellation
    root = (-torch.expm1(count * math.log(beta2))).sqrt()
    for j, (weight, gradient, mean, square) in enumerate(zip(*lists[:4], strict=True)):
        g, kept = gradient / scale, weight
        if spec.decoupled_weight_decay:
            kept = weight * (1 - rate * spec.weight_decay)
        else:
            g = g + spec.weight_decay * weight
        new_mean = torch.lerp(mean, g, 1 - beta1)
        new_square = torch.lerp(square, g * g, 1 - beta2)
        divisor = torch.maximum(lists.largest[j], new_square) if spec.amsgrad else new_square
        new_weight = kept - size * new_mean / (divisor.sqrt() / root + _EPSILON)
        mean.copy_(torch.where(stays, mean, new_mean))
        square.copy_(torch.where(stays, square, new_square))
        if spec.amsgrad:
            lists.largest[j].copy_(torch.where(stays, lists.largest[j], divisor))
        weight.copy_(torch.where(stays, weight, new_weight))
