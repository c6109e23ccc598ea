"""Counts from slots: each slot is off, or chooses one unit."""

from __future__ import annotations

from copy import copy
from math import log
from typing import Any, ClassVar, NamedTuple, cast

import torch
from torch import Generator, Tensor
from torch.distributions import (
    Distribution,
    constraints,
    register_kl,  # pyright: ignore[reportUnknownVariableType]
)
from torch.nn.functional import logsigmoid, pad, softplus

from fewhot.core.records import Draw
from fewhot.distributions.choices import GateAndChoice, second_order
from fewhot.distributions.noise import ONE_DRAW, Shape, common_shape, float32_or_wider
from fewhot.distributions.one_hot import Choice, categorical_kl, chosen, chosen_by
from fewhot.distributions.slot_gradients import (
    divergences_of_slots,
    over_laws,
    second_order_counts,
    through_absence,
    times,
)

_SUREST = 1 - torch.finfo(torch.float32).eps
_HALVINGS = 40
_NO_QUOTIENT = 1 + 1e-6
_ALIKE = 1e-6
"""How far apart, in nats, units may be that are as likely as each other, or twice as likely, and so on."""


class SlotCounts(Distribution):
    r"""How often each of K units is chosen by :math:`L_0` slots.

    .. math:: z = \sum_{\ell=1}^{L_0} \omega_\ell\, e_{s_\ell}, \qquad
        \omega_\ell \sim \mathrm{Bernoulli}(\lambda_\ell), \quad s_\ell \sim \mathrm{Categorical}(\pi_\ell)

    so :math:`\|z\|_0 \le \sum_k z_k \le L_0`. A slot is one choice among K + 1: a unit with probability
    :math:`\lambda\pi_k`, or off with :math:`1-\lambda`. Where all slots share one law, z and the number of slots that
    are off are multinomial.

    Parameters
    ----------
    gate_logits
        The logit of :math:`\lambda`, (..., S); S is 1 where all slots share their law, else their number.
    feature_logits
        Unnormalised log-probabilities of the units, (..., S, K).
    n_slots
        The number :math:`L_0`.
    choice
        How `draw` draws the K + 1 classes of a slot in training; see `fewhot.distributions.choices`. None is exact.
    choices_seen
        Whether something looks at what single slots chose, so that each of their choices needs a gradient. Where
        nothing does, that of the counts is enough, and a draw by `second_order` takes less time.
    validate_args
        As in torch: whether to check arguments and values.

    Examples
    --------
    >>> law = SlotCounts(torch.tensor([0.6]).logit(), torch.tensor([[0.5, 0.3, 0.2]]).log(), n_slots=5)
    >>> law.probs  # of at least one
    tensor([0.8319, 0.6293, 0.4723])
    >>> law.mean
    tensor([1.5000, 0.9000, 0.6000])
    """

    arg_constraints: ClassVar = {  # type: ignore[override]
        "gate_logits": constraints.real_vector,
        "feature_logits": constraints.independent(constraints.real, 2),
    }
    support = constraints.independent(constraints.nonnegative_integer, 1)  # type: ignore[override]

    def __init__(
        self,
        gate_logits: Tensor,
        feature_logits: Tensor,
        n_slots: int,
        choice: Choice | None = None,
        choices_seen: bool = True,
        validate_args: bool | None = None,
    ) -> None:
        self.gate_logits = float32_or_wider(gate_logits)
        self.feature_logits = float32_or_wider(feature_logits)
        self.log_features = torch.log_softmax(self.feature_logits, dim=-1)  # of a slot that is on, (..., S, K)
        self.n_slots = n_slots
        self.choice = choice
        self.choices_seen = choices_seen
        self._values: SlotValues | None = None
        self._unit_values: Tensor | None = None
        super().__init__(feature_logits.shape[:-2], feature_logits.shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        """Return the same law with its batch broadcast to ``batch_shape``."""
        new = copy(self) if _instance is None else _instance
        new.gate_logits = self.gate_logits.expand(*batch_shape, -1)
        new.feature_logits = self.feature_logits.expand(*batch_shape, -1, -1)
        new.log_features = self.log_features.expand(*batch_shape, -1, -1)
        new._values, new._unit_values = None, None
        new._batch_shape = torch.Size(batch_shape)
        return new

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        """Whether a draw carries gradients."""
        return self.choice is not None

    @property
    def n_laws(self) -> int:
        """How many slots have a law of their own: 1 where they share one."""
        return self.gate_logits.shape[-1]

    @property
    def shared(self) -> bool:
        """Whether all slots have the same law."""
        return self.n_laws == 1

    @property
    def log_choices(self) -> Tensor:
        """Log-probabilities of a slot's K + 1 classes, the last of them off, (..., S, K + 1)."""
        on = self.gate_logits[..., None] + self.log_features  # relative to off
        return torch.log_softmax(pad(on, (0, 1)), dim=-1)

    @property
    def slot_probs(self) -> Tensor:
        r"""Probability :math:`\lambda\pi_k` that a slot chooses a unit, (..., S, K)."""
        return self.gate_logits.sigmoid()[..., None] * self.log_features.exp()

    @property
    def values(self) -> SlotValues:
        """Probabilities of slots without gradient, computed once, for gradients that are written down."""
        if self._values is None:
            with torch.no_grad():
                self._values = SlotValues(self.gate_logits.sigmoid(), self.log_features.exp())
        return self._values

    @property
    def unit_values(self) -> Tensor:
        """The numbers of `slot_probs`, below 1 and without gradient, computed once."""
        if self._unit_values is None:
            on, features = self.values
            self._unit_values = on.clamp(max=_SUREST)[..., None] * features
        return self._unit_values

    @property
    def mean(self) -> Tensor:
        r"""Expected counts, :math:`\sum_\ell \lambda_\ell \pi_{\ell k}`."""
        return self._over_slots(self.slot_probs)

    @property
    def log_mean(self) -> Tensor:
        """The log of `mean`, with its gradient, however small that is."""
        log_probs = logsigmoid(self.gate_logits)[..., None] + self.log_features  # of `slot_probs`
        return torch.logsumexp(log_probs, dim=-2) + log(self.n_slots // self.n_laws)

    @property
    def variance(self) -> Tensor:
        """Variance of each count."""
        p = self.slot_probs
        return self._over_slots(p * (1 - p))

    @property
    def log_absent(self) -> Tensor:
        r"""Log-probability that a unit is chosen by no slot, :math:`\sum_\ell \log(1 - \lambda_\ell\pi_{\ell k})`."""
        return self._over_slots(torch.log1p(-self.slot_probs.clamp(max=_SUREST)))

    @property
    def log_absent_value(self) -> Tensor:
        """The numbers of `log_absent`, without gradient."""
        n = self.n_slots // self.n_laws
        return over_laws(cast("Tensor", torch.special.xlog1py(n, -self.unit_values)), -2)  # pyright: ignore[reportUnknownMemberType]

    def through_absence(self, value: Tensor, slope: Tensor) -> Tensor:
        """Return a number with the derivative ``slope`` by `log_absent`: fewer operations, no second derivatives."""
        n, shape = self.n_slots // self.n_laws, self.batch_shape + self.event_shape
        slope = slope if slope.shape == shape else slope.reshape(shape)
        laws = self.gate_logits, self.log_features, self.values.on, self.unit_values
        return through_absence(value, slope, *laws, n)

    @property
    def probs(self) -> Tensor:
        """Probability that a unit is chosen at all."""
        return -torch.expm1(self.log_absent)

    @property
    def logits(self) -> Tensor:
        """The logit of `probs`."""
        absent = self.log_absent.clamp(max=-torch.finfo(self.gate_logits.dtype).tiny)
        return torch.log(-torch.expm1(absent)) - absent

    @property
    def margins(self) -> Tensor:
        """By how much each unit is in the map code: it is where positive, and a shift of all gates moves all.

        The map code has the gates on that are likelier on than off, each at its likeliest unit. Where slots share
        their law it has the likeliest number of slots on, and the likeliest counts for that number: seats go to units
        by the largest quotient of their probability and the number they would then have. So it is the likeliest choice
        step by step, and not always the counts that are likeliest of all.
        """
        if not self.shared:
            best = self.feature_logits.argmax(-1)  # (..., S)
            return self._nowhere.scatter_reduce(-1, best, self.gate_logits.expand(best.shape), "amax")
        seat, units = self._first_seats()
        reached = self.gate_logits - torch.logit(seat.clamp(max=self.n_slots) / (self.n_slots + 1))
        reached = torch.where(seat <= self.n_slots, reached, -torch.inf)
        return self._nowhere.scatter(-1, units, reached)

    @property
    def n_active(self) -> Tensor:
        """How many units the map code has, without gradient: those with positive `margins`, (...)."""
        with torch.no_grad():
            if self.shared:
                seat, _ = self._first_seats()
                return seat.lt_((self.n_slots + 1) * self.values.on).sum(-1)
            best = self.feature_logits.argmax(-1)  # (..., S)
            off = self.gate_logits.new_zeros(self.batch_shape + self.event_shape)
            return off.scatter_reduce_(-1, best, self.gate_logits.expand(best.shape), "amax").sign_().sum(-1)

    @property
    def likeliest_counts(self) -> Tensor:
        """The counts of the map code, as `margins` describes it; in sum at most the number of slots."""
        if not self.shared:
            on = (self.gate_logits > 0).to(self.gate_logits.dtype)  # (..., S)
            return torch.zeros_like(self.mean).scatter_add(-1, self.feature_logits.argmax(-1), on)
        seats = torch.floor((self.n_slots + 1) * self.gate_logits.sigmoid()).clamp(max=self.n_slots)  # (..., 1)
        probs = self.log_features.squeeze(-2).exp()
        low, high = torch.zeros_like(seats), torch.full_like(seats, _NO_QUOTIENT)  # around what wins the last seat
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            too_many = torch.floor(probs / middle).sum(-1, keepdim=True) > seats
            low, high = torch.where(too_many, middle, low), torch.where(too_many, high, middle)
        counts = torch.floor(probs / high)
        tied = torch.floor(probs / low.clamp(min=torch.finfo(low.dtype).tiny)) > counts  # for the seats that are left
        first = tied & (tied.cumsum(-1) <= seats - counts.sum(-1, keepdim=True))
        return counts + first.to(counts.dtype)

    def log_prob(self, value: Tensor) -> Tensor:
        r"""Log-probability of counts, where slots share their law.

        .. math:: \log\frac{L_0!}{(L_0-n)!\prod_k z_k!} + \sum_k z_k\log(\lambda\pi_k) + (L_0-n)\log(1-\lambda),
            \qquad n = \sum_k z_k

        Minus infinity where n exceeds the number of slots.
        """
        if not self.shared:
            raise NotImplementedError("The law of counts from slots with laws of their own has no closed form.")
        if self._validate_args:
            self._validate_sample(value)
        log_choices = self.log_choices.squeeze(-2)
        off = self.n_slots - value.sum(-1)
        possible = off >= 0
        every = torch.cat([value, off.clamp(min=0)[..., None]], dim=-1)
        ways = torch.lgamma(value.new_tensor(self.n_slots + 1.0)) - torch.lgamma(every + 1).sum(-1)
        return torch.where(possible, ways + (every * log_choices).sum(-1), -torch.inf)

    def noise_like(self, sample_shape: Shape = ONE_DRAW, generator: Generator | None = None) -> Tensor:
        """Draw one uniform number a slot, (..., L)."""
        shape = torch.Size(sample_shape) + self.batch_shape + (self.n_slots,)
        return torch.rand(shape, dtype=self.gate_logits.dtype, device=self.gate_logits.device, generator=generator)

    def draw(self, noise: Tensor) -> Draw:
        """Draw counts from uniform numbers (..., L W), W of them a slot; with the gradients of ``choice``.

        Auxiliary variables are what each slot chose: "slots", (..., L), K for off, of a draw that is exact or tells
        the counts alone; else "choices", (..., L, K + 1), or "units" and "on", their two parts.
        """
        shape = common_shape(noise.shape[:-1], self.log_features.shape[:-2])
        if noise.shape[:-1] != shape:
            noise = noise.expand(*shape, -1)
        if self.choice is second_order and not self.choices_seen and noise.shape[-1] == self.n_slots:
            return self._counts_alone(noise, shape)
        noise = noise.reshape(*shape, self.n_slots, -1)
        if isinstance(self.choice, GateAndChoice):
            units, on = self.choice.of_slots(self.gate_logits[..., None], self.log_features, noise)
            z = units.sum(-2)
            return Draw(z, z.clamp(max=1.0), {"units": units, "on": on})
        if self.choice is not None:
            choices = self.choice(self.log_choices.expand(*shape, self.n_slots, -1), noise)
            z = choices.sum(-2)[..., :-1]
            return Draw(z, z.clamp(max=1.0), {"choices": choices})
        log_choices = self.log_choices.expand(*shape, self.n_laws, -1)
        one_each = self.shared and noise.shape[-1] == 1
        slots = chosen_by(log_choices.detach().exp(), noise.mT).squeeze(-2) if one_each else chosen(log_choices, noise)
        zeros = log_choices.new_zeros(*shape, log_choices.shape[-1])
        z = zeros.scatter_add(-1, slots, torch.ones_like(slots, dtype=zeros.dtype))[..., :-1]
        return Draw(z, z.clamp(max=1.0), {"slots": slots})

    def _counts_alone(self, noise: Tensor, shape: torch.Size) -> Draw:
        """Draw counts by one uniform number a slot, with the gradient that second-order choices give them.

        They have no gate with a gradient of its own: what is on is what is not 0.
        """
        gate_logits, on, log_features, units = self.gate_logits, self.values.on, self.log_features, self.unit_values
        if shape != self.batch_shape:
            gate_logits, on = (x.expand(*shape, -1) for x in (gate_logits, on))
            log_features, units = (x.expand(*shape, -1, -1) for x in (log_features, units))
        uniform = noise.reshape(*shape, self.n_laws, -1)  # (..., S, L / S)
        z, slots = second_order_counts(gate_logits, on, log_features, units, uniform)
        return Draw(z, auxiliary={"slots": slots})

    def sample(self, sample_shape: Shape = ONE_DRAW, noise: Tensor | None = None) -> Tensor:
        """Draw counts exactly, without gradient."""
        exact = SlotCounts(self.gate_logits, self.feature_logits, self.n_slots, validate_args=False)
        return exact.draw(self.noise_like(sample_shape) if noise is None else noise).z.detach()

    def rsample(self, sample_shape: Shape = ONE_DRAW, noise: Tensor | None = None) -> Tensor:
        """Draw counts with the gradients of ``choice``."""
        return self.draw(self.noise_like(sample_shape) if noise is None else noise).z

    def log_prob_of_slots(self, slots: Tensor) -> Tensor:
        """Log-probability of what each slot chose, (..., L)."""
        log_choices = self.log_choices.expand(*slots.shape, -1)
        return log_choices.gather(-1, slots[..., None]).squeeze(-1)

    def _first_seats(self) -> tuple[Tensor, Tensor]:
        """Return the seat that each of the likeliest units gets first where slots share their law, and the units."""
        log_probs, units = self.log_features.squeeze(-2).topk(min(self.n_slots, self.event_shape[0]), dim=-1)
        odds = log_probs[..., None, :] - (log_probs + _ALIKE)[..., :, None]  # (..., unit, other unit)
        before = torch.expm1(odds).ceil_().clamp_(min=1.0)  # seats of units as likely or likelier, and the unit's own
        return before.tril().sum(-1), units

    @property
    def _nowhere(self) -> Tensor:
        """Return margins of units that no number of slots would choose."""
        return self.gate_logits.new_full(self.batch_shape + self.event_shape, -torch.inf)

    def _over_slots(self, per_law: Tensor) -> Tensor:
        return times(self.n_slots // self.n_laws, over_laws(per_law, -2))


class SlotValues(NamedTuple):
    """Probabilities of slots: to be on, and to choose a unit where on."""

    on: Tensor  # (..., S)
    features: Tensor  # (..., S, K)


class SlotKL(NamedTuple):
    """The two terms of the divergence of laws of slots."""

    gate: Tensor
    feature: Tensor


def slot_kl(q: SlotCounts, p: SlotCounts, *, off_slots_choose: bool = False) -> SlotKL:
    r"""Divergence of two laws of slots, summed over slots, as a term for gates and a term for units.

    .. math:: \sum_\ell B(\lambda_\ell\,\|\,\rho_\ell) + \sum_\ell \lambda_\ell\,C(\pi_\ell\,\|\,\kappa_\ell)

    A slot that is off changes nothing, so what it would have chosen need not differ from the prior. The published
    divergence, ``off_slots_choose``, has 1 in the place of the second :math:`\lambda_\ell` and is never smaller.
    """
    on = q.gate_logits.sigmoid()  # (..., S)
    gate = on * (q.gate_logits - p.gate_logits) + (softplus(p.gate_logits) - softplus(q.gate_logits))
    feature = categorical_kl(q.log_features, p.log_features)
    feature = feature if off_slots_choose else on * feature
    n = q.n_slots // gate.shape[-1]
    return SlotKL(times(n, over_laws(gate)), times(n, over_laws(feature)))


def quick_slot_kl(q: SlotCounts, p: SlotCounts, *, off_slots_choose: bool = False) -> SlotKL:
    """Return `slot_kl` with gradients that are written down: fewer operations, and no second derivatives."""
    laws = q.gate_logits, q.log_features, p.gate_logits, p.log_features
    return SlotKL(*divergences_of_slots(*laws, *q.values, off_slots_choose, q.n_slots))


@register_kl(SlotCounts, SlotCounts)
def _kl_slot_counts(q: SlotCounts, p: SlotCounts) -> Tensor:
    gate, feature = slot_kl(q, p)
    return gate + feature


def preferences(n_laws: int, n_latent: int, preference: float) -> Tensor:
    """Return the logits of slots that prefer every L-th unit, each others than its neighbours, (S, K)."""
    own = torch.arange(n_latent) % n_laws == torch.arange(n_laws)[:, None] % n_latent
    return torch.where(own, preference, 0.0)
