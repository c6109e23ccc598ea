"""Adam in one fused pass: clipping and skipping happen inside the kernel, and it can be captured in a graph."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from fewhot.inference.phases import OptimiserSpec

_EPSILON = 1e-8
_BLOCKS = 128
_SLICES = (8_192, 65_536)


class FusedAdam:
    """torch's fused Adam kernel on tensors that this object owns.

    The kernel gives each 65,536 elements of a tensor to one block of threads, so that a network of a million weights
    keeps 15 of a large GPU's 132 processors busy. On CUDA it is therefore handed slices that fill the device.

    Parameters
    ----------
    parameters
        What to move.
    spec
        Betas and weight decay.
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
        for parameter in self.parameters:  # the kernel walks through memory, whatever the strides
            parameter.data = parameter.data.contiguous()
        self.spec = spec
        self.rate, self.scale, self.halted = rate, scale, halted
        self.count = torch.zeros((), device=rate.device)
        self.first = [torch.zeros_like(p, memory_format=torch.contiguous_format) for p in self.parameters]
        self.second = [torch.zeros_like(p, memory_format=torch.contiguous_format) for p in self.parameters]
        self._size = _slice_size(self.parameters, rate.device)

    def zero_grad(self) -> None:
        """Forget the gradients."""
        for parameter in self.parameters:
            parameter.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """Move every parameter that has a gradient."""
        moved = [j for j, parameter in enumerate(self.parameters) if parameter.grad is not None]
        weights = self._sliced([self.parameters[j].data for j in moved])
        self.count += 1 - self.halted
        torch._fused_adam_(  # pyright: ignore[reportPrivateImportUsage]
            weights,
            self._sliced([_gradient(self.parameters[j]) for j in moved]),
            self._sliced([self.first[j] for j in moved]),
            self._sliced([self.second[j] for j in moved]),
            [],
            [self.count] * len(weights),
            lr=self.rate,
            beta1=self.spec.betas[0],
            beta2=self.spec.betas[1],
            weight_decay=self.spec.weight_decay,
            eps=_EPSILON,
            amsgrad=False,
            maximize=False,
            grad_scale=self.scale,
            found_inf=self.halted,
        )

    def state(self) -> dict[str, Tensor]:
        """Return the tensors a checkpoint needs."""
        moments = {f"{j}/first": value for j, value in enumerate(self.first)}
        return {"count": self.count, **moments, **{f"{j}/second": value for j, value in enumerate(self.second)}}

    def load(self, state: dict[str, Tensor]) -> None:
        """Take a checkpoint's tensors back."""
        for name, value in self.state().items():
            value.copy_(state[name])

    def _sliced(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        if self._size is None:
            return list(tensors)
        return [part for tensor in tensors for part in tensor.view(-1).split(self._size)]


def _gradient(parameter: nn.Parameter) -> Tensor:
    assert parameter.grad is not None
    return parameter.grad.contiguous()


def _slice_size(parameters: Sequence[nn.Parameter], device: torch.device) -> int | None:
    if device.type != "cuda":
        return None
    even = sum(parameter.numel() for parameter in parameters) // _BLOCKS
    return min(max(even, _SLICES[0]), _SLICES[1])
