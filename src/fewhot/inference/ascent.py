"""Gradient ascent of local parameters with the model held fixed."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from fewhot.core.records import Params

CANDIDATES = 4
_BETA2, _EPSILON = 0.999, 1e-8


class Ascent:
    r"""Adam on :math:`\psi`, element by element on a sum over rows, so that rows do not see each other.

    Parameters
    ----------
    psi
        Where to begin; moments begin at 0.
    beta1
        How much of its first moment Adam keeps.
    """

    def __init__(self, psi: Params, beta1: float = 0.9) -> None:
        self.psi = {name: value.detach() for name, value in psi.items()}
        self.beta1 = beta1
        self._first = {name: torch.zeros_like(value) for name, value in psi.items()}
        self._second = {name: torch.zeros_like(value) for name, value in psi.items()}
        self._taken = 0

    def step(self, objective: Callable[[Params], Tensor], rate: float) -> None:
        """Move one step up a scalar function of psi."""
        with torch.enable_grad():
            leaves = {name: value.detach().requires_grad_() for name, value in self.psi.items()}
            gradient = torch.autograd.grad(objective(leaves), list(leaves.values()))
        self._taken += 1
        for name, g in zip(leaves, gradient, strict=True):
            first = torch.lerp(self._first[name], g, 1 - self.beta1)
            second = torch.lerp(self._second[name], g * g, 1 - _BETA2)
            self._first[name], self._second[name] = first, second
            root = (second / (1 - _BETA2**self._taken)).sqrt() + _EPSILON
            self.psi[name] = self.psi[name].addcdiv(first, root, value=rate / (1 - self.beta1**self._taken))


class Best:
    """For every row, the local parameters with the highest bound of those offered.

    Parameters
    ----------
    psi
        The first candidate.
    judge
        From local parameters to the bound of each row, (B,), always on the same noise.
    """

    def __init__(self, psi: Params, judge: Callable[[Params], Tensor]) -> None:
        self.psi = {name: value.detach() for name, value in psi.items()}
        self._judge = judge
        self._bound = self._judged(self.psi)

    def offer(self, psi: Params) -> None:
        """Take these parameters in the rows where they are better."""
        bound = self._judged(psi)
        better = bound > self._bound
        self.psi = {name: torch.where(better[:, None], psi[name], kept) for name, kept in self.psi.items()}
        self._bound = torch.where(better, bound, self._bound)

    @torch.no_grad()
    def _judged(self, psi: Params) -> Tensor:
        return self._judge(psi)


def is_candidate(step: int, n_steps: int) -> bool:
    """Say whether the iterate after ``step`` of ``n_steps`` steps is judged: a few on the way are, and the last.

    >>> [step for step in range(1, 11) if is_candidate(step, 10)]
    [3, 6, 9, 10]
    """
    return step % max(1, math.ceil(n_steps / CANDIDATES)) == 0 or step == n_steps
