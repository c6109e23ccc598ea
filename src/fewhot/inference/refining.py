"""Refinement: gradient ascent of any family's local parameters from where the encoder left them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import cycle, islice
from typing import NamedTuple

import torch
from torch import Tensor

from fewhot.core.records import Batch, Knobs, Noise, Params
from fewhot.inference.ascent import Ascent, Best, is_candidate
from fewhot.inference.evaluation import bound_by_draw, exact_bound, together
from fewhot.inference.phases import Model

STRAIGHT_THROUGH = Knobs(gates="straight-through")
DRAWS_PER_STEP = 4
MOST_ASCENT_DRAWS = 512
SURE = 2.0
"""How many standard errors over the judges' draws a row must gain to leave where the encoder put it."""


class RefinementNoise(NamedTuple):
    """The draws that steps climb on, and those that say what was gained: other draws, or luck would judge itself."""

    ascent: Sequence[Noise]
    judges: Sequence[Noise]


def ascent_draws(n_steps: int) -> int:
    """Return how many draws so many steps climb on: new ones for every step, as far as memory is no matter."""
    return max(1, min(DRAWS_PER_STEP * n_steps, MOST_ASCENT_DRAWS))


def refine(
    model: Model, batch: Batch, psi: Params, noise: RefinementNoise, n_steps: int, learning_rate: float = 0.02
) -> Params:
    r"""Return :math:`\psi^*`: for every row the candidate with the best exact bound on the judges' noise.

    Adam ascends the bound in :math:`\psi` with the model frozen; gated families move along the straight-through
    gradient. Each step takes a few draws of its own, so that the ascent follows the bound and not one draw's luck. A
    few times on the way, and at the end, the iterate is judged under exact gates by draws that no step has seen. A row
    stays at its start where what it gains is not sure to be more than their luck, so on this noise no row is ever made
    worse, and on fresh noise none is expected to be. Rows do not see each other. ``batch`` is as observed; entries of
    ``psi`` that the family does not declare refinable are held fixed.
    """
    held = {name: value.detach() for name, value in psi.items() if name not in model.latent.refinable}
    start = {name: psi[name].detach() for name in model.latent.refinable}
    if not start:
        return held
    ascent, draws = Ascent(start), cycle(noise.ascent)
    best = Best(start, lambda psi: exact_bound(model, batch, noise.judges, {**held, **psi}))
    for step in range(1, n_steps + 1):
        drawn = list(islice(draws, min(DRAWS_PER_STEP, len(noise.ascent))))
        rate = learning_rate * 0.5 * (1 + math.cos(math.pi * (step - 1) / n_steps))
        ascent.step(lambda psi, drawn=drawn: _total_bound(model, batch, {**held, **psi}, drawn), rate)
        if is_candidate(step, n_steps):
            best.offer(ascent.psi)
    before, after = (bound_by_draw(model, batch, noise.judges, {**held, **psi}) for psi in (start, best.psi))
    sure = _surely_positive(after - before)[:, None]
    return {**held, **{name: torch.where(sure, best.psi[name], start[name]) for name in start}}


def _surely_positive(gains: Tensor) -> Tensor:
    """Say of which rows the mean over draws, (S, B), is above 0 by more than its error; one draw knows of no error."""
    if len(gains) == 1:
        return gains[0] > 0
    return gains.mean(0) > SURE * gains.std(0) / math.sqrt(len(gains))


def _total_bound(model: Model, batch: Batch, psi: Params, draws: Sequence[Noise]) -> Tensor:
    """Return the bound, summed over draws and rows."""
    passes = (model.run(psi, batch, STRAIGHT_THROUGH, noise) for noise in together(draws, batch))
    return torch.stack([model.bound(result).sum() for result in passes]).sum()
