"""Refinement: gradient ascent of any family's local parameters from where the encoder left them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import cycle, islice

import torch
from torch import Tensor

from fewhot.core.records import Batch, Knobs, Noise, Params
from fewhot.inference.evaluation import exact_bound, together
from fewhot.inference.phases import Model

STRAIGHT_THROUGH = Knobs(gates="straight-through")
DRAWS_PER_STEP = 4
CANDIDATES = 4
_BETA1, _BETA2, _EPSILON = 0.9, 0.999, 1e-8


def refine(
    model: Model, batch: Batch, psi: Params, bank: Sequence[Noise], n_steps: int, learning_rate: float = 0.02
) -> Params:
    r"""Return :math:`\psi^*`: for every row the candidate with the best exact bound on the bank's noise.

    Adam ascends the bound in :math:`\psi` with the model frozen; gated families move along the straight-through
    gradient. Each step takes a few draws of the bank in turn, so that the ascent follows the bound and not one draw's
    luck. A few times on the way, and at the end, the iterate is judged by the whole bank under exact gates; the start
    is a candidate too, so on this noise no row is ever made worse. Rows do not see each other. ``batch`` is as
    observed; entries of ``psi`` that the family does not declare refinable are held fixed.
    """
    held = {name: value.detach() for name, value in psi.items() if name not in model.latent.refinable}
    moving = {name: psi[name].detach() for name in model.latent.refinable}
    if not moving:
        return held
    best, best_bound = dict(moving), exact_bound(model, batch, bank, {**held, **moving})
    first = {name: torch.zeros_like(value) for name, value in moving.items()}
    second = {name: torch.zeros_like(value) for name, value in moving.items()}
    draws = cycle(bank)
    judge_every = max(1, math.ceil(n_steps / CANDIDATES))
    for step in range(1, n_steps + 1):
        gradient = _gradient(model, batch, moving, held, list(islice(draws, min(DRAWS_PER_STEP, len(bank)))))
        rate = learning_rate * 0.5 * (1 + math.cos(math.pi * (step - 1) / n_steps))
        for name, g in gradient.items():
            first[name] = _BETA1 * first[name] + (1 - _BETA1) * g
            second[name] = _BETA2 * second[name] + (1 - _BETA2) * g * g
            mean = first[name] / (1 - _BETA1**step)
            square = second[name] / (1 - _BETA2**step)
            moving[name] = moving[name] + rate * mean / (square.sqrt() + _EPSILON)
        if step % judge_every == 0 or step == n_steps:
            bound = exact_bound(model, batch, bank, {**held, **moving})
            better = bound > best_bound
            best = {name: torch.where(better[:, None], moving[name], best[name]) for name in best}
            best_bound = torch.where(better, bound, best_bound)
    return {**held, **best}


def _gradient(model: Model, batch: Batch, moving: Params, held: Params, draws: Sequence[Noise]) -> Params:
    with torch.enable_grad():
        leaves = {name: value.detach().requires_grad_() for name, value in moving.items()}
        passes = (model.run({**held, **leaves}, batch, STRAIGHT_THROUGH, noise) for noise in together(draws, batch))
        total = torch.stack([model.bound(result).sum() for result in passes]).sum()  # over draws and rows
        gradient: tuple[Tensor, ...] = torch.autograd.grad(total, list(leaves.values()))
    return dict(zip(leaves, gradient, strict=True))
