"""What keeps models with gates from collapsing, in one place."""

from __future__ import annotations

from dataclasses import dataclass

from fewhot.core.schedules import Linear, Schedule
from fewhot.latents import BinaryConcrete
from fewhot.models.defaults import schedules_for
from fewhot.objectives import Dial

OPEN = 0.95
DENSE_WARM_UP, CLOSING = 0.01, 0.1
"""How long the divergence takes to come in where gates begin open, and then the dial: shares of the steps."""
LONGEST_DENSE_START = 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class GatingPolicy:
    """How gates are kept from shutting all, opening all, or leaving the work to the same few units.

    Gates are exact in the forward pass, so that what is trained is what is scored, and begin at one half. The
    divergence comes in over the first steps, so that units are found before they are paid for. The dial holds the
    number of active units and bounds the share of rows that any one of them serves, which keeps the others in work;
    its prices stop before the end, and the learning rate falls to next to nothing.

    A dense start turns the order round: gates begin open and are closed later, by the dial, for which the divergence
    comes in at once, or where there is none by the divergence under a fixed prior. What a unit stands for is then
    settled by its values, not by when it is on.

    Reviving units that have died was measured and left out: see the decision records.

    Attributes
    ----------
    temperature
        Of the straight-through gates in training.
    warm_up
        Share of the steps over which the divergence comes in.
    freeze
        Share of the steps after which the dial's prices stay.
    crowding
        How many times the mean share of rows one unit may serve under the dial.
    dense_start
        Share of the steps before what closes gates comes in, the dial over a tenth of them, a fixed prior over
        ``warm_up``; 0 has it from the first step.
    open_weight
        Weight of the divergence while gates begin open under a dial; it is 1 when the dial is all there. At 1 from the
        start, rows that say little leave work to a handful of units.
    """

    temperature: float = 1.0
    warm_up: float = 0.2
    freeze: float = 0.8
    crowding: float = 6.0
    dense_start: float = 0.0
    open_weight: float = 1.0

    @property
    def initial_rate(self) -> float:
        """The on-probability of every unit to begin with."""
        return OPEN if self.dense_start else 0.5

    def prior_rate(self, rate: float) -> float:
        """Return where the prior's on-rate begins: at ``rate``, or where the gates do if they begin open."""
        return OPEN if self.dense_start else rate

    def gate(self) -> BinaryConcrete:
        """Return the gate used in training."""
        return BinaryConcrete(self.temperature, "straight-through")

    def schedules(self, n_steps: int, l0: float | None = None) -> dict[str, Schedule]:
        """Return what changes over training: the learning rate, and the weight of the divergence or of the dial."""
        if not self.dense_start:
            return schedules_for(n_steps, self.warm_up)
        begin = int(self.dense_start * n_steps)
        if l0 is None:
            return schedules_for(n_steps, self.warm_up, begin)
        n_closing = max(1, int(CLOSING * n_steps))
        schedules = {**schedules_for(n_steps, DENSE_WARM_UP), "dial_weight": Linear(0.0, 1.0, n_closing, begin)}
        if self.open_weight != 1:
            schedules["kl_weight"] = Linear(self.open_weight, 1.0, n_closing, begin)
        return schedules

    def dial(self, l0: float | None, n_latent: int, n_steps: int, max_share: float | None = None) -> list[Dial]:
        """Return the dial, if one is asked for; ``max_share`` overrules what crowding allows."""
        if l0 is None:
            return []
        cap = self.largest_share(l0 / n_latent) if max_share is None else max_share
        freeze_at, begin = int(self.freeze * n_steps), int(self.dense_start * n_steps)
        return [Dial(n_latent, l0, cap, freeze_at, begin)]

    def largest_share(self, mean: float) -> float:
        """Return the share of rows one unit may serve where ``mean`` is that of all: never every row."""
        return max(min(self.crowding * mean, 0.4), (1 + mean) / 2 if mean > 0.3 else 0.0)


OPEN_WEIGHT_OF_TEXTS = 0.5
"""For bags of words, of which a text has few; measured in decision 0029."""

INDEPENDENT_UNITS = GatingPolicy()
JOINT_UNITS = GatingPolicy(crowding=3.0)
"""Units whose prior knows which of them go together can share the work among more of them at no cost."""
