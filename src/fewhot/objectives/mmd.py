"""Maximum mean discrepancy: how far the aggregate posterior is from the prior, unit by unit."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.distributions import Distribution
from torch.utils.checkpoint import checkpoint  # pyright: ignore[reportUnknownVariableType]

from fewhot.core.checks import real_number, whole_number
from fewhot.core.records import Knobs, Noise, Params, Pass, Terms
from fewhot.core.registry import TERMS
from fewhot.distributions import Gaussian, GaussianSpikeSlab, SpikeSlab
from fewhot.objectives.objective import Term

SCALES = (0.2, 0.4, 1.0, 2.0, 4.0, 10.0)
ELEMENTS_AT_ONCE = 2**22
"""Kernel values held in memory at a time; the backward pass computes them again."""


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
        y = result.draw.z  # (B, K)
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
    """Return the sum over units of the unbiased squared discrepancy of two samples (B, K); a single pair gives -2 k."""
    n, n_units = y.shape
    width = max(1, ELEMENTS_AT_ONCE // (n * n))
    blocks = [(x[:, at : at + width], y[:, at : at + width]) for at in range(0, n_units, width)]
    if len(blocks) == 1:
        return _of_units(x, y)
    parts: list[Tensor] = [
        checkpoint(_of_units, *block, use_reentrant=False, preserve_rng_state=False) for block in blocks
    ]
    return torch.stack(parts).sum()


def _of_units(x: Tensor, y: Tensor) -> Tensor:
    n, n_units = y.shape
    itself = n * n_units * len(SCALES)  # k(u, u) = 1
    within = (_kernel_sum(x, x) + _kernel_sum(y, y) - 2 * itself) / max(n * (n - 1), 1)
    return within - 2 * _kernel_sum(x, y) / n**2


def _kernel_sum(u: Tensor, v: Tensor) -> Tensor:
    """Return the sum over pairs of rows, units and widths."""
    distance = (u[:, None] - v[None]).square()  # (B, B, K)
    return torch.stack([(width / (width + distance)).sum() for width in SCALES]).sum()
