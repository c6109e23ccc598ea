"""Maximum mean discrepancy: how far the aggregate posterior is from the prior, unit by unit."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.distributions import Distribution

from fewhot.core.checks import real_number, whole_number
from fewhot.core.records import Knobs, Noise, Params, Pass, Terms
from fewhot.core.registry import TERMS
from fewhot.distributions import Gaussian, GaussianSpikeSlab, SpikeSlab
from fewhot.objectives.objective import Term

SCALES = (0.2, 0.4, 1.0, 2.0, 4.0, 10.0)
PAIRS_AT_ONCE = 2**22
"""Pairs of rows held in memory at a time, over all units; nothing about pairs is kept for the backward pass."""
PAIRS_IN_CACHE = 2**17
"""The same on a CPU that runs the operations one by one: as many as stay in its cache between them."""
PARTS = 4
"""Rows are taken in so many parts at least, so that most pairs within a sample are computed in one order only."""


@TERMS.register("mmd")
class MMD(Term):
    r"""The unbiased squared discrepancy of each unit's draws from the prior, over kernels of six widths, summed.

    .. math:: \sum_d \sum_C \Big[\frac{\sum_{i\neq j} k(x_i,x_j) + k(y_i,y_j)}{B(B-1)}
        - \frac{2\sum_{i,j} k(x_i,y_j)}{B^2}\Big], \qquad k(u,v) = \frac{C}{C + (u-v)^2}

    with x drawn from the prior and y the codes of the batch. It may be negative: its mean is 0 where the two agree.
    Kernels of single units match only their marginals; one kernel over all of them would see nothing at any batch
    size.

    Parameters
    ----------
    n_latent
        Number of units.
    weight
        Its weight in the loss.

    References
    ----------
    Mathieu et al. (2019), Disentangling Disentanglement in Variational Autoencoders; the widths are those of its code.
    """

    whole_batch = True

    def __init__(self, n_latent: int, weight: float = 1.0) -> None:
        super().__init__()
        self.n_latent = whole_number("n_latent", n_latent)
        self.weight = real_number("weight", weight, low=0)

    def noise(self, n_rows: int, generator: torch.Generator) -> Noise:
        """Return the numbers that draw as many codes from the prior as there are rows."""
        shape, device = (n_rows, self.n_latent), generator.device
        return {
            "mmd_gate": torch.rand(shape, generator=generator, device=device),
            "mmd_slab": torch.randn(shape, generator=generator, device=device),
        }

    def forward(self, result: Pass, divergence: Params, knobs: Knobs) -> Terms:
        """Return the discrepancy of this batch."""
        y = result.draw.one_a_row
        value = discrepancy(_drawn(result.p, result.noise).expand_as(y), y)
        return Terms(value.new_zeros(()), self.weight * value, per_batch={"mmd": value})


def _drawn(p: Distribution, noise: Noise) -> Tensor:
    """Return codes drawn from a prior with the noise of this term."""
    gate, slab = noise["mmd_gate"], noise["mmd_slab"]
    if isinstance(p, Gaussian):
        return p.rsample(slab.shape[:-1], noise=slab).detach()
    assert isinstance(p, SpikeSlab | GaussianSpikeSlab)
    return p.sample(slab.shape[:-1], noise={"gate": gate, "slab": slab})


def discrepancy(x: Tensor, y: Tensor) -> Tensor:
    r"""Return the sum over units of the unbiased squared discrepancy of two samples (B, K).

    With :math:`D(u,v) = \sum_C 1 - k(u,v) = \sum_C \frac{(u-v)^2}{C + (u-v)^2}` the ones cancel, and a row paired with
    itself adds nothing:

    .. math:: \sum_d \frac{2\sum_{i,j} D(x_i,y_j)}{B^2} - \frac{\sum_{i,j} D(x_i,x_j) + D(y_i,y_j)}{B(B-1)}

    Of a single row only the first fraction is left. The gradient in y comes from the same way through the pairs, so
    that it cannot be differentiated again; x is taken as given.
    """
    sloped = torch.is_grad_enabled() and y.requires_grad
    with torch.no_grad():
        value, slope = _value_and_slope(x, y, sloped)
    return value + (slope * (y - y.detach())).sum() if sloped else value  # adds 0, whose gradient is the slope


def _value_and_slope(x: Tensor, y: Tensor, sloped: bool) -> tuple[Tensor, Tensor]:
    n = len(y)
    x, y = x.T.contiguous(), y.T.contiguous()  # (K, B)
    of_x, _ = _within(x, sloped=False)
    of_y, slope_within = _within(y, sloped=sloped)
    between, slope_between = _between(x, y, sloped=sloped)
    n_within, n_between = max(n * (n - 1), 1), n * n
    value = 2 * between / n_between - (of_x + of_y) / n_within
    return value, 4 * (slope_between / n_between - slope_within / n_within).T


def _within(u: Tensor, *, sloped: bool) -> tuple[Tensor, Tensor]:
    """Return the sum of D over all ordered pairs of a sample (K, B), and a quarter of its gradient, (K, B)."""
    total, slope = u.new_zeros(()), torch.zeros_like(u)
    for units, first, last in _blocks(u):
        own = last - first  # pairs of these rows among themselves are met in both orders, all others in one
        distance, pull = _pairs(u[units, first:last], u[units, first:], sloped)
        total += 2 * distance.sum() - distance[..., :own].sum()
        if pull is not None:
            slope[units, first:last] -= pull.sum(2)
            slope[units, last:] += pull[..., own:].sum(1)
    return total, slope


def _between(x: Tensor, y: Tensor, *, sloped: bool) -> tuple[Tensor, Tensor]:
    """Return the sum of D over all pairs of two samples (K, B), and half its gradient in the second, (K, B)."""
    total, slope = y.new_zeros(()), torch.zeros_like(y)
    for units, first, last in _blocks(x):
        distance, pull = _pairs(x[units, first:last], y[units], sloped)
        total += distance.sum()
        if pull is not None:
            slope[units] += pull.sum(1)
    return total, slope


def _blocks(u: Tensor) -> Iterator[tuple[slice, int, int]]:
    """Cut a sample (K, B) into units and rows whose pairs with all rows are few enough."""
    n_units, n = u.shape
    cached = u.device.type == "cpu" and not torch.compiler.is_compiling()
    at_once = PAIRS_IN_CACHE if cached else PAIRS_AT_ONCE
    height = max(1, min(-(-n // PARTS), at_once // n))
    width = max(1, at_once // (height * n))
    for unit in range(0, n_units, width):
        for row in range(0, n, height):
            yield slice(unit, unit + width), row, min(row + height, n)


def _pairs(u: Tensor, v: Tensor, sloped: bool) -> tuple[Tensor, Tensor | None]:
    """Return D of all pairs of two samples (K, A) and (K, B), and half its slope in v, each (K, A, B)."""
    difference = v[:, None, :] - u[:, :, None]
    square = difference.square()
    inverse = torch.empty_like(square)
    total = torch.zeros_like(square)
    slope = torch.zeros_like(square) if sloped else None
    for width in SCALES:
        torch.add(square, width, out=inverse).reciprocal_()
        total.add_(inverse)
        if slope is not None:
            slope.addcmul_(inverse, inverse, value=width)
    return total.mul_(square), None if slope is None else slope.mul_(difference)
