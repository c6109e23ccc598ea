"""Counts from slots that choose one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import torch
from torch import Generator, Tensor
from torch.distributions import Distribution, constraints

from fewhot.distributions.noise import ONE_DRAW, Shape
from fewhot.distributions.one_hot import chosen, one_hot
from fewhot.distributions.slot_counts import SlotCounts


class JointSlotCounts(Distribution):
    r"""A law over what all slots choose: what a slot does depends on what those before it chose.

    .. math:: p(s) = \prod_\ell p(s_\ell \mid s_1, \dots, s_{\ell-1}), \qquad z = \sum_\ell e_{s_\ell}

    with each factor a choice among K + 1 classes, the last of them off. The divergence of a posterior whose slots are
    independent is a mean over its own choices of divergences slot by slot:

    .. math:: \mathrm{KL}(q\,\|\,p)
        = \mathbb{E}_{s \sim q} \sum_\ell \mathrm{KL}\big(q(s_\ell)\,\|\,p(s_\ell \mid s_{<\ell})\big)

    Parameters
    ----------
    given
        From choices, (..., L, K + 1), to the law of each slot given the choices before it.
    nothing_chosen
        Zeros in the shape of all choices, (L, K + 1).
    validate_args
        As in torch: whether to check arguments and values.
    """

    arg_constraints: ClassVar = {}  # type: ignore[override]
    support = constraints.independent(constraints.nonnegative_integer, 1)  # type: ignore[override]

    def __init__(
        self, given: Callable[[Tensor], SlotCounts], nothing_chosen: Tensor, validate_args: bool | None = None
    ) -> None:
        self.given = given
        self.nothing_chosen = nothing_chosen
        self.n_slots = nothing_chosen.shape[0]
        n_units = nothing_chosen.shape[1] - 1
        super().__init__(torch.Size(), torch.Size([n_units]), validate_args=validate_args)

    def log_prob_of_slots(self, slots: Tensor) -> Tensor:
        """Log-probability of what each slot chose, given those before it, (..., L)."""
        return self.given(one_hot(slots, self.nothing_chosen)).log_prob_of_slots(slots)

    def noise_like(self, sample_shape: Shape = ONE_DRAW, generator: Generator | None = None) -> Tensor:
        """Draw one uniform number a slot, (..., L)."""
        like = self.nothing_chosen
        return torch.rand(*sample_shape, self.n_slots, dtype=like.dtype, device=like.device, generator=generator)

    @torch.no_grad()
    def sample(self, sample_shape: Shape = ONE_DRAW, noise: Tensor | None = None) -> Tensor:
        """Draw counts, slot after slot."""
        noise = self.noise_like(sample_shape) if noise is None else noise
        choices = self.nothing_chosen.repeat(*noise.shape[:-1], 1, 1)
        for slot in range(self.n_slots):
            classes = chosen(self.given(choices).log_choices[..., slot, :], noise[..., slot, None])
            choices[..., slot, :] = one_hot(classes, choices)
        return choices[..., :-1].sum(-2)
