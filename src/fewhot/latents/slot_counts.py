"""The family of gated counts: whole numbers, of which no more are not zero than there are slots."""

from __future__ import annotations

import math
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.distributions import Distribution
from torch.nn import functional as F

from fewhot.core.checks import real_number, truth, whole_number
from fewhot.core.clipping import LOGIT_RANGE, clip_below_largest, clip_keeping_gradient
from fewhot.core.records import Draw, Knobs, Noise, Params
from fewhot.core.registry import LATENTS
from fewhot.distributions import JointSlotCounts, SlotCounts, categorical_kl
from fewhot.distributions.noise import latin_uniforms
from fewhot.distributions.one_hot import one_hot
from fewhot.distributions.slot_counts import preferences, quick_slot_kl
from fewhot.latents.base import CodeSummary, Latent
from fewhot.latents.choices import ChoiceEstimator, SecondOrder, Temperatures

EXACT = Knobs(gates="exact")
LEAST_TEMPERATURE = 0.1
LEAST_CHANCE, MOST_ON = 1e-6, 0.95
"""How rarely a slot begins with a unit at least, and how often it begins on at most."""


@LATENTS.register("slot-counts")
class SlotCountsLatent(Latent):
    r""":math:`z = \sum_\ell \omega_\ell e_{s_\ell}`: each of :math:`L_0` slots is off, or chooses one of K units.

    Parameters
    ----------
    n_in, n_latent
        Widths of the features and of the code.
    n_slots
        The number :math:`L_0`.
    shared
        Whether one :math:`\lambda` and one :math:`\pi` serve all slots of a row, or each has its own.
    estimator
        How slots choose in training; ``SecondOrder()`` when not given.
    learn_temperatures
        Whether the temperatures of gates and units are parameters, :math:`0.1 + \mathrm{softplus}(\cdot)`, that begin
        at the estimator's.
    off_slots_choose
        Whether slots that are off pay for a choice too, as published.
    initial_rate
        The probability that a slot of a fresh network is on.
    preference
        How much likelier, in nats, a slot of a fresh network finds units of its own than others: every L-th unit.
    n_gate_in
        How many features, the last ones, the gates read; the units then read the others. 0 has both read all.
    choices_seen
        Whether the prior looks at what single slots chose; where it does not, training by ``SecondOrder()`` takes less
        time.
    """

    gated = True
    refinable = ("gates", "features")

    def __init__(
        self,
        n_in: int,
        n_latent: int,
        n_slots: int,
        shared: bool = True,
        estimator: ChoiceEstimator | None = None,
        learn_temperatures: bool = False,
        off_slots_choose: bool = False,
        initial_rate: float = 0.5,
        preference: float = 0.0,
        n_gate_in: int = 0,
        choices_seen: bool = True,
    ) -> None:
        super().__init__()
        self.n_in = n_in
        self.n_latent = n_latent
        self.n_slots = whole_number("n_slots", n_slots)
        self.shared = truth("shared", shared)
        self.estimator = estimator or SecondOrder()
        self.learn_temperatures = truth("learn_temperatures", learn_temperatures)
        self.off_slots_choose = truth("off_slots_choose", off_slots_choose)
        self.initial_rate = real_number("initial_rate", initial_rate, low=1e-6, high=1 - 1e-6)
        self.preference = real_number("preference", preference, low=0)
        self.n_gate_in = whole_number("n_gate_in", n_gate_in, least=0)
        self.choices_seen = truth("choices_seen", choices_seen)
        n_laws = 1 if shared else n_slots
        self._widths = [n_laws, n_laws * n_latent]
        of_gates = nn.Linear(n_gate_in or n_in, n_laws)
        of_units = nn.Linear(n_in - n_gate_in, n_laws * n_latent)
        if learn_temperatures:
            raw = math.log(math.expm1(max(self.estimator.temperature - LEAST_TEMPERATURE, 1e-3)))
            self.raw_temperatures = nn.Parameter(torch.full((2,), raw))
        with torch.no_grad():
            of_gates.bias.add_(math.log(initial_rate / (1 - initial_rate)))
            of_units.bias.add_(preferences(n_laws, n_latent, preference).flatten())
        if n_gate_in:
            self.gate_head, self.feature_head = of_gates, of_units
        else:
            self.heads = _as_one(of_gates, of_units)

    def psi(self, h: Tensor) -> Params:
        """Return the logits of gates, (B, S), and of units, (B, S K)."""
        if self.n_gate_in:
            of_units, of_gates = h.split([self.n_in - self.n_gate_in, self.n_gate_in], dim=-1)
            gates, features = self.gate_head(of_gates).float(), self.feature_head(of_units).float()
        else:
            gates, features = self.heads(h).float().split(self._widths, dim=-1)
        return {"gates": gates, "features": features}

    @torch.no_grad()
    def shift_gates(self, shift: float) -> None:
        """Add ``shift`` to the logit of every gate."""
        head = self.gate_head if self.n_gate_in else self.heads
        head.bias[: self._widths[0]].add_(shift)

    @torch.no_grad()
    def start_at(self, chances: Tensor) -> None:
        """Let slots that share their law begin with these probabilities of the first units; others have their mean."""
        others = chances.new_full((self.n_latent - len(chances),), float(chances.mean()))
        chances = torch.cat([chances, others]).clamp(min=LEAST_CHANCE)
        on = float(chances.sum().clamp(max=MOST_ON))
        self.heads.bias.copy_(torch.cat([torch.tensor([math.log(on / (1 - on))]), chances.log()]))

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *args: Any, **kwargs: Any) -> None:
        """Read heads that an older version saved one by one, too."""
        for name in () if self.n_gate_in else ("weight", "bias"):
            parts = [f"{prefix}{head}.{name}" for head in ("gate_head", "feature_head")]
            if all(part in state_dict for part in parts):
                state_dict[f"{prefix}heads.{name}"] = torch.cat([state_dict.pop(part) for part in parts])
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)

    def posterior(self, psi: Params, knobs: Knobs) -> SlotCounts:
        """Return the law of the counts, whose draws are those that ``knobs`` ask for."""
        gates = clip_keeping_gradient(psi["gates"], *LOGIT_RANGE)
        features = clip_below_largest(psi["features"].unflatten(-1, (-1, self.n_latent)))
        choice = self.estimator(knobs, self._temperatures())
        return SlotCounts(gates, features, self.n_slots, choice, self.choices_seen, validate_args=False)

    def noise(self, n_rows: int, generator: torch.Generator) -> Noise:
        """Return the uniform numbers by which slots choose, (n, L W)."""
        width = self.n_slots * self.estimator.noise_width(self.n_latent + 1)
        return {"slots": torch.rand(n_rows, width, generator=generator, device=generator.device)}

    def bank(self, n: int, generator: torch.Generator) -> list[Noise]:
        """Return stratified uniform numbers, one a slot."""
        return [{"slots": row[None]} for row in latin_uniforms(n, self.n_slots, generator)]

    def training_bank(self, n: int, generator: torch.Generator) -> list[Noise]:
        """Return as many numbers as the estimator asks for."""
        return [self.noise(1, generator) for _ in range(n)]

    def draw(self, q: Distribution, noise: Noise) -> Draw:
        """Return counts."""
        assert isinstance(q, SlotCounts)
        return q.draw(noise["slots"])

    def divergence(self, q: Distribution, p: Distribution, draw: Draw) -> Params:
        """Return the two parts of the divergence: switching slots on, and what they choose.

        Against a prior whose slots hang together it is what the choices of the draw say of it.
        """
        assert isinstance(q, SlotCounts)
        gate, feature = quick_slot_kl(q, _given_choices(p, draw), off_slots_choose=self.off_slots_choose)
        return {"kl_gate": gate, "kl_feature": feature}

    def log_prob(self, q: Distribution, draw: Draw) -> Tensor:
        """Return log q of what the slots chose."""
        assert isinstance(q, SlotCounts)
        return q.log_prob_of_slots(draw.auxiliary["slots"]).sum(-1)

    def log_ratio(self, q: Distribution, p: Distribution, draw: Draw) -> Tensor:
        """Return log q - log p of what the slots chose; slots that are off pay the mean of what they would choose."""
        assert isinstance(q, SlotCounts)
        p, slots = _given_choices(p, draw), draw.auxiliary["slots"]
        ratio = self.log_prob(q, draw) - p.log_prob_of_slots(slots).sum(-1)
        if not self.off_slots_choose:
            return ratio
        would = categorical_kl(q.log_features, p.log_features).expand(slots.shape)
        return ratio + torch.where(slots == self.n_latent, would, 0.0).sum(-1)

    def summary(self, psi: Params) -> CodeSummary:
        """Return the likeliest counts, how counts vary, and the probability that a unit is there at all."""
        q = self.posterior(psi, EXACT)
        margins = q.margins
        counts = q.likeliest_counts.clamp(min=1.0)
        return CodeSummary(counts, q.variance, q.logits, margins, q.mean)

    def _temperatures(self) -> Temperatures | None:
        if not self.learn_temperatures:
            return None
        gate, feature = LEAST_TEMPERATURE + F.softplus(self.raw_temperatures)
        return gate, feature


def _given_choices(p: Distribution, draw: Draw) -> SlotCounts:
    """Return the prior's laws of slots, where they hang on what other slots chose: as the draw has it."""
    if isinstance(p, JointSlotCounts):
        match draw.auxiliary:
            case {"choices": choices}:
                return p.given(choices)
            case {"units": units, "on": on}:
                return p.given(torch.cat([units, 1 - on], dim=-1))
            case {"slots": slots}:
                return p.given(one_hot(slots, p.nothing_chosen))
    assert isinstance(p, SlotCounts)
    return p


def _as_one(of_gates: nn.Linear, of_units: nn.Linear) -> nn.Linear:
    """Return both heads as one layer: a step then has fewer operations."""
    weight, bias = (torch.cat([getattr(head, name) for head in (of_gates, of_units)]) for name in ("weight", "bias"))
    both = cast("nn.Linear", nn.utils.skip_init(nn.Linear, weight.shape[1], weight.shape[0], device=weight.device))
    with torch.no_grad():
        both.weight.copy_(weight)
        both.bias.copy_(bias)
    return both
