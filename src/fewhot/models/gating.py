"""What keeps models with gates from collapsing, in one place."""

from __future__ import annotations

from dataclasses import dataclass

from fewhot.core.schedules import Schedule
from fewhot.latents import BinaryConcrete
from fewhot.models.defaults import schedules_for
from fewhot.objectives import Dial


@dataclass(frozen=True, slots=True, kw_only=True)
class GatingPolicy:
    """How gates are kept from shutting all, opening all, or leaving the work to the same few units.

    Gates are exact in the forward pass, so that what is trained is what is scored, and begin at one half. The
    divergence comes in over the first steps, so that units are found before they are paid for. The dial holds the
    number of active units and bounds the share of rows that any one of them serves, which keeps the others in work;
    its prices stop before the end, and the learning rate falls to next to nothing.

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
    """

    temperature: float = 1.0
    warm_up: float = 0.2
    freeze: float = 0.8
    crowding: float = 6.0

    def gate(self) -> BinaryConcrete:
        """Return the gate used in training."""
        return BinaryConcrete(self.temperature, "straight-through")

    def schedules(self, n_steps: int) -> dict[str, Schedule]:
        """Return what changes over training: the weight of the divergence, from 0 to 1, and the learning rate."""
        return schedules_for(n_steps, self.warm_up)

    def dial(self, l0: float | None, n_latent: int, n_steps: int, max_share: float | None = None) -> list[Dial]:
        """Return the dial, if one is asked for; ``max_share`` overrules what crowding allows."""
        if l0 is None:
            return []
        cap = self.largest_share(l0 / n_latent) if max_share is None else max_share
        return [Dial(n_latent, l0, cap, freeze_at=int(self.freeze * n_steps))]

    def largest_share(self, mean: float) -> float:
        """Return the share of rows one unit may serve where ``mean`` is that of all: never every row."""
        return max(min(self.crowding * mean, 0.4), (1 + mean) / 2 if mean > 0.3 else 0.0)


INDEPENDENT_UNITS = GatingPolicy()
JOINT_UNITS = GatingPolicy(crowding=3.0)
"""Units whose prior knows which of them go together can share the work among more of them at no cost."""
