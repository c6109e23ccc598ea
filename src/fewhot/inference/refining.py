"""Refinement: gradient ascent of any family's local parameters from where the encoder left them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import cycle, islice

import torch
from torch import Tensor

from fewhot.core.records import Batch, Knobs, Noise, Params
from fewhot.inference.ascent import Ascent, Best, is_candidate
from fewhot.inference.evaluation import exact_bound, together
from fewhot.inference.phases import Model

STRAIGHT_THROUGH = Knobs(gates="straight-through")
DRAWS_PER_STEP = 4


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
    ascent, draws = Ascent(moving), cycle(bank)
    best = Best(moving, lambda psi: exact_bound(model, batch, bank, {**held, **psi}))
    for step in range(1, n_steps + 1):
        noises = list(islice(draws, min(DRAWS_PER_STEP, len(bank))))
        rate = learning_rate * 0.5 * (1 + math.cos(math.pi * (step - 1) / n_steps))
        ascent.step(lambda psi, noises=noises: _total_bound(model, batch, {**held, **psi}, noises), rate)
        if is_candidate(step, n_steps):
            best.offer(ascent.psi)
    return {**held, **best.psi}


def _total_bound(model: Model, batch: Batch, psi: Params, draws: Sequence[Noise]) -> Tensor:
    """Return the bound, summed over draws and rows."""
    passes = (model.run(psi, batch, STRAIGHT_THROUGH, noise) for noise in together(draws, batch))
    return torch.stack([model.bound(result).sum() for result in passes]).sum()
