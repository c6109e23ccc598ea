"""Held-out numbers: the bound under exact gates, and its importance-weighted tightening."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from fewhot.core.records import Batch, Knobs, Noise, Params, Pass
from fewhot.inference.phases import Model

EXACT = Knobs(gates="exact")


@torch.no_grad()
def exact_bound(model: Model, batch: Batch, bank: Sequence[Noise], psi: Params | None = None) -> Tensor:
    r"""Return the evidence lower bound of each row, unweighted and with exact gates, averaged over a bank of draws.

    .. math:: \frac{1}{S}\sum_s \log p(x|z_s) - \mathrm{KL}(q(z|x)\,\|\,p(z))

    The same noise serves every row, so that a row's number depends neither on its neighbours nor on the batch size.
    """
    return torch.stack([model.bound(result) for result in _passes(model, batch, bank, psi)]).mean(0)


@torch.no_grad()
def importance_bound(model: Model, batch: Batch, bank: Sequence[Noise], psi: Params | None = None) -> Tensor:
    r"""Return the importance-weighted bound of each row: tighter with every draw, still a bound on :math:`\log p(x)`.

    .. math:: \log \frac{1}{S}\sum_s \exp\big(\log p(x|z_s) + \log p(z_s) - \log q(z_s|x)\big)

    Weights of gated codes are those of the pair (gate, slab), against Lebesgue measure plus a point mass at zero.
    The observation is the bank's first, so that all draws explain the same row. See Burda et al. (2016).
    """
    seen = model.observe(batch, bank[0])
    local = model.psi(seen) if psi is None else psi
    weights = torch.stack([model.log_weight(model.run(local, seen, EXACT, noise)) for noise in bank])
    return torch.logsumexp(weights, dim=0) - math.log(len(bank))


def _passes(model: Model, batch: Batch, bank: Sequence[Noise], psi: Params | None) -> Iterator[Pass]:
    """Run once for each draw; rows are encoded again only where the observation itself is random."""
    amortised = psi is None
    for noise in bank:
        seen = model.observe(batch, noise)
        if psi is None or (amortised and "observation" in noise):
            psi = model.psi(seen)
        yield model.run(psi, seen, EXACT, noise)
