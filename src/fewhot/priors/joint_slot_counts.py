"""The prior of gated counts that knows which units go together."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from fewhot.core.checks import whole_number
from fewhot.core.clipping import LOGIT_RANGE, clip_below_largest, clip_keeping_gradient
from fewhot.core.registry import PRIORS
from fewhot.distributions import JointSlotCounts, SlotCounts
from fewhot.priors.base import PosteriorOf, Prior
from fewhot.priors.slot_counts import SlotCountsPrior

MOST_HIDDEN = 128


@PRIORS.register("joint-slot-counts")
class JointSlotCountsPrior(Prior):
    r"""What a slot does depends on what the slots before it chose.

    .. math:: (\operatorname{logit}\rho_\ell,\ \log\kappa_\ell) = c_\ell
        + \big(u_\ell \cdot h_\ell,\ W h_\ell\big), \qquad
        h_\ell = \mathrm{relu}\Big(b_\ell + \sum_{m<\ell} E\,e_{s_m}\Big)

    One table E says what having chosen a unit means, whichever slot did, and one table W what follows for the next; u
    and W are 0 to begin with. It does not see the row, so the bound stays a bound. Where slots share their law given a
    row, the first of them tell what the others will choose, which then cost little.

    Parameters
    ----------
    n_latent, n_slots
        Numbers of units and of slots.
    rate, shared, preference
        As in `SlotCountsPrior`, to begin with.
    n_hidden
        Width of the hidden layer; when not given, the number of units, at most 128.
    """

    nothing_chosen: Tensor

    def __init__(
        self,
        n_latent: int,
        n_slots: int,
        rate: float = 0.5,
        shared: bool = True,
        preference: float = 0.0,
        n_hidden: int | None = None,
    ) -> None:
        super().__init__()
        self.n_latent = n_latent
        self.n_slots = whole_number("n_slots", n_slots)
        self.n_hidden = min(n_latent, MOST_HIDDEN) if n_hidden is None else whole_number("n_hidden", n_hidden)
        self.alone = SlotCountsPrior(n_latent, n_slots, rate, shared, True, preference)
        self.rate, self.shared, self.preference = self.alone.rate, self.alone.shared, self.alone.preference
        self.meaning = nn.Linear(n_latent + 1, self.n_hidden, bias=False)
        self.place = nn.Parameter(torch.zeros(n_slots, self.n_hidden))
        self.next_gate = nn.Parameter(torch.zeros(n_slots, self.n_hidden))
        self.next_unit = nn.Linear(self.n_hidden, n_latent, bias=False)
        nn.init.zeros_(self.next_unit.weight)
        self.register_buffer("nothing_chosen", torch.zeros(n_slots, n_latent + 1), persistent=False)

    def forward(self, posterior_of: PosteriorOf) -> JointSlotCounts:
        """Return the prior of whole codes."""
        return JointSlotCounts(self.given, self.nothing_chosen, validate_args=False)

    def given(self, choices: Tensor) -> SlotCounts:
        """Return the law of each slot given the choices (..., L, K + 1) before it."""
        meant = self.meaning(choices)
        hidden = F.relu(self.place + meant.cumsum(-2) - meant)  # (..., L, H), without the slot's own choice
        gates = self.alone.gates + (hidden * self.next_gate).sum(-1)
        features = self.alone.features + self.next_unit(hidden)
        gates = clip_keeping_gradient(gates.float(), *LOGIT_RANGE)
        features = clip_below_largest(features.float())
        return SlotCounts(gates, features, self.n_slots, validate_args=False)

    def sample(self, n: int, posterior_of: PosteriorOf, generator: torch.Generator) -> Tensor:
        """Return counts."""
        p = self(posterior_of)
        return p.sample((n,), noise=p.noise_like((n,), generator))

    def values_given(self, active: Tensor, posterior_of: PosteriorOf) -> tuple[Tensor, Tensor]:
        """Return mean and deviation of every unit's count where it is at least 1, as if slots chose alone."""
        return self.alone.values_given(active, posterior_of)

    def sample_given(self, active: Tensor, posterior_of: PosteriorOf, generator: torch.Generator) -> Tensor:
        """Return counts of at least 1 for the units of each row of ``active``, as if slots chose alone."""
        return self.alone.sample_given(active, posterior_of, generator)
