"""Refinement: gradient ascent of any family's local parameters from where the encoder left them."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from fewhot.core.records import Batch, Knobs, Noise, Params
from fewhot.inference.phases import Model

STRAIGHT_THROUGH = Knobs(gates="straight-through")
_BETA1, _BETA2, _EPSILON = 0.9, 0.999, 1e-8


def refine(
    model: Model, batch: Batch, psi: Params, bank: Sequence[Noise], n_steps: int, learning_rate: float = 0.02
) -> Params:
    r"""Return :math:`\psi^*`: for every row the iterate with the best bound on the bank's noise.

    Adam ascends the bound in :math:`\psi` with the noise held fixed and the model frozen. Gated families move along the
    straight-through gradient, whose forward pass uses exact gates, so the bound that picks the iterate is the exact one
    and the starting point is among the candidates: on this noise no row is ever made worse. Rows do not see each other.
    ``batch`` is as observed; entries of ``psi`` that the family does not declare refinable are held fixed.
    """
    moving = {name: psi[name].detach().clone() for name in model.latent.refinable}
    held = {name: value.detach() for name, value in psi.items() if name not in moving}
    best = {name: value.clone() for name, value in moving.items()}
    best_bound: Tensor | None = None
    first = {name: torch.zeros_like(value) for name, value in moving.items()}
    second = {name: torch.zeros_like(value) for name, value in moving.items()}
    for step in range(n_steps + 1):
        bound, gradient = _bound_and_gradient(model, batch, moving, held, bank)
        best_bound = bound if best_bound is None else best_bound
        better = (bound > best_bound)[:, None]
        best = {name: torch.where(better, moving[name], best[name]) for name in best}
        best_bound = torch.maximum(bound, best_bound)
        for name, g in gradient.items():
            first[name] = _BETA1 * first[name] + (1 - _BETA1) * g
            second[name] = _BETA2 * second[name] + (1 - _BETA2) * g * g
            mean = first[name] / (1 - _BETA1 ** (step + 1))
            square = second[name] / (1 - _BETA2 ** (step + 1))
            moving[name] = moving[name] + learning_rate * mean / (square.sqrt() + _EPSILON)
    return {**held, **best}


def _bound_and_gradient(
    model: Model, batch: Batch, moving: Params, held: Params, bank: Sequence[Noise]
) -> tuple[Tensor, Params]:
    with torch.enable_grad():
        leaves = {name: value.requires_grad_() for name, value in moving.items()}
        passes = [model.run({**held, **leaves}, batch, STRAIGHT_THROUGH, noise) for noise in bank]
        bound = torch.stack([model.bound(result) for result in passes]).mean(0)  # (B,)
        gradient = torch.autograd.grad(bound.sum(), list(leaves.values()))
    for value in moving.values():
        value.requires_grad_(False)
    return bound.detach(), dict(zip(leaves, gradient, strict=True))
