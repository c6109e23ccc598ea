"""Explicit random numbers: how they are shaped before a distribution uses them."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.distributions import Normal

from fewhot.core.errors import InvalidInputError

Shape = torch.Size | list[int] | tuple[int, ...]
"""What torch accepts as a shape."""

ONE_DRAW = torch.Size()
"""The sample shape of a single draw."""


def fit_noise(noise: Tensor, shape: torch.Size) -> Tensor:
    """Broadcast ``noise`` to exactly ``shape``, which is ``sample_shape + batch_shape`` of a draw.

    >>> fit_noise(torch.zeros(1, 3), torch.Size([5, 2, 3])).shape
    torch.Size([5, 2, 3])
    """
    extra = len(shape) - noise.dim()
    if extra < 0 or any(given not in (1, wanted) for given, wanted in zip(noise.shape, shape[extra:], strict=True)):
        raise InvalidInputError(
            f"noise has shape {tuple(noise.shape)}, which does not broadcast to {tuple(shape)}; "
            f"draw it with noise_like(sample_shape) and pass the same sample_shape."
        )
    return noise.expand(shape)


def common_shape(one: torch.Size, other: torch.Size) -> torch.Size:
    """Return what two shapes broadcast to, at once where they are alike, as they are in training."""
    return one if one == other else torch.Size(torch.broadcast_shapes(one, other))  # pyright: ignore


def float32_or_wider(x: Tensor) -> Tensor:
    """Widen half-precision numbers: gates and divergences are computed in float32 even under autocast."""
    return x if x.dtype == torch.float64 else x.float()


def wide_and_alike(*tensors: Tensor) -> Sequence[Tensor]:
    """Widen tensors and broadcast them to one shape."""
    wide = (float32_or_wider(tensor) for tensor in tensors)
    return torch.broadcast_tensors(*wide)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


def latin_uniforms(n: int, k: int, generator: torch.Generator) -> Tensor:
    """Return ``n`` draws of ``k`` uniforms of which each column visits every n-th of the unit interval once.

    Each number is uniform, so averages over the draws are unbiased; their variance is far below that of independent
    draws (McKay, Beckman and Conover, 1979), which matters because all rows share the draws.
    """
    cell = torch.rand(n, k, generator=generator, device=generator.device).argsort(0)
    return (cell + torch.rand(n, k, generator=generator, device=generator.device)) / n


def latin_normals(n: int, k: int, generator: torch.Generator) -> Tensor:
    """Return ``n`` draws of ``k`` standard normals, stratified like `latin_uniforms`."""
    edge = torch.finfo(torch.float32).eps
    standard = Normal(torch.zeros((), device=generator.device), 1.0, validate_args=False)
    return standard.icdf(latin_uniforms(n, k, generator).clamp(edge, 1 - edge))
