"""Held-out numbers: the bound under exact gates, and its importance-weighted tightening."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from fewhot.core.records import Batch, Knobs, Noise, Params, Pass
from fewhot.inference.phases import Model

EXACT = Knobs(gates="exact")
DRAWN_ELEMENTS = 1 << 23
"""How many decoder outputs one evaluation pass may hold."""


@torch.no_grad()
def exact_bound(model: Model, batch: Batch, bank: Sequence[Noise], psi: Params | None = None) -> Tensor:
    r"""Return the evidence lower bound of each row, unweighted and with exact gates, averaged over a bank of draws.

    .. math:: \frac{1}{S}\sum_s \log p(x|z_s) - \mathrm{KL}(q(z|x)\,\|\,p(z))

    The same noise serves every row, so that a row's number depends neither on its neighbours nor on the batch size.
    """
    return _mean_of_draws(bound_by_draw(model, batch, bank, psi))


@torch.no_grad()
def bound_by_draw(model: Model, batch: Batch, bank: Sequence[Noise], psi: Params | None = None) -> Tensor:
    """Return what `exact_bound` averages, (S, B)."""
    return torch.cat([_with_draws(model.bound(result)) for result in _passes(model, batch, bank, psi)])


@torch.no_grad()
def exact_terms(model: Model, batch: Batch, bank: Sequence[Noise], psi: Params | None = None) -> Params:
    """Return the objective's named terms of each row under exact gates, averaged over a bank of draws, each (B,)."""
    passes = [model.terms(result, EXACT).per_example for result in _passes(model, batch, bank, psi)]
    return {name: _mean_of_draws(torch.cat([_with_draws(terms[name]) for terms in passes])) for name in passes[0]}


@torch.no_grad()
def importance_bound(model: Model, batch: Batch, bank: Sequence[Noise], psi: Params | None = None) -> Tensor:
    r"""Return the importance-weighted bound of each row: tighter with every draw, still a bound on :math:`\log p(x)`.

    .. math:: \log \frac{1}{S}\sum_s \exp\big(\log p(x|z_s) + \log p(z_s) - \log q(z_s|x)\big)

    Weights of gated codes are those of the pair (gate, slab), against Lebesgue measure plus a point mass at zero.
    The observation is the bank's first, so that all draws explain the same row. See Burda et al. (2016).
    """
    seen = model.observe(batch, bank[0])
    local = model.psi(seen) if psi is None else psi
    bank = [{name: value for name, value in noise.items() if name != "observation"} for noise in bank]
    weights = torch.cat([_with_draws(model.log_weight(result)) for result in _passes(model, seen, bank, local)])
    return torch.logsumexp(weights, dim=0) - math.log(len(bank))


def rows_at_once(n_columns: int, most: int) -> int:
    """Return how many rows of so many columns one evaluation pass takes, at most ``most``."""
    return max(1, min(most, DRAWN_ELEMENTS // n_columns))


def together(bank: Sequence[Noise], batch: Batch) -> Iterator[Noise]:
    """Stack draws so that one pass takes many, as far as memory allows; a random observation is taken alone."""
    size = max(1, DRAWN_ELEMENTS // (batch.x.n_rows * batch.x.n_columns))
    if "observation" in bank[0]:
        yield from bank
        return
    for start in range(0, len(bank), size):
        group = bank[start : start + size]
        yield {name: torch.stack([noise[name] for noise in group]) for name in group[0]}  # (S, 1, K)


def _passes(model: Model, batch: Batch, bank: Sequence[Noise], psi: Params | None) -> Iterator[Pass]:
    """Run the draws; rows are encoded again only where the observation itself is random."""
    amortised = psi is None
    for noise in together(bank, batch):
        seen = model.observe(batch, noise)
        if psi is None or (amortised and "observation" in noise):
            psi = model.psi(seen)
        yield model.run(psi, seen, EXACT, noise)


def _mean_of_draws(values: Tensor) -> Tensor:
    """Return the mean over draws, (B,); a float32 sum would depend on where in its batch a row stands."""
    return values.double().mean(0).to(values.dtype)


def _with_draws(values: Tensor) -> Tensor:
    """Give a single draw's (B,) values the leading dimension that several draws have."""
    return values if values.dim() > 1 else values[None]
