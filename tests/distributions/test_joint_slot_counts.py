"""Slots that choose one after the other, against sums over all choices."""

from __future__ import annotations

import math
from itertools import product

import pytest
import torch

from fewhot.core.seeding import seeded, stream
from fewhot.distributions import JointSlotCounts, SlotCounts, slot_kl
from fewhot.distributions.one_hot import one_hot
from fewhot.latents import SlotCountsLatent
from fewhot.priors import JointSlotCountsPrior
from tests.parts import shake

K, L = 2, 3
SLOTS = torch.tensor(list(product(range(K + 1), repeat=L)))
WIDTH = torch.zeros(K + 1)


@pytest.fixture(params=[True, False], ids=["shared", "independent"])
def p(request: pytest.FixtureRequest) -> JointSlotCounts:
    with seeded(0, "joint"):
        prior = JointSlotCountsPrior(K, L, 0.3, request.param, n_hidden=10)
    shake(prior, size=0.8)
    return prior.requires_grad_(False)(None)


@pytest.fixture(params=[1, L], ids=["q shared", "q independent"])
def q(request: pytest.FixtureRequest) -> SlotCounts:
    generator = torch.Generator().manual_seed(1)
    n = request.param
    return SlotCounts(torch.randn(n, generator=generator), torch.randn(n, K, generator=generator), L)


def log_mass(p: JointSlotCounts, slots: torch.Tensor) -> float:
    """Return the log-probability of these choices, one slot after the other."""
    total = 0.0
    for slot in range(L):
        before = torch.where(torch.arange(L)[:, None] < slot, one_hot(slots, WIDTH), 0.0)
        total += float(p.given(before).log_choices[slot, slots[slot]])
    return total


def test_the_choices_have_probabilities_that_sum_to_one(p: JointSlotCounts) -> None:
    masses = torch.tensor([log_mass(p, slots) for slots in SLOTS])
    assert float(masses.exp().sum()) == pytest.approx(1.0, abs=1e-5)
    torch.testing.assert_close(p.log_prob_of_slots(SLOTS).sum(-1), masses, rtol=1e-5, atol=1e-5)


def test_slots_hang_on_those_before_them_alone(p: JointSlotCounts) -> None:
    some, others = (p.given(one_hot(torch.tensor([0, c, 1]), WIDTH)).log_choices for c in (0, 1))
    torch.testing.assert_close(some[:2], others[:2])
    assert (some[2] - others[2]).abs().max() > 0.01


def test_draws_choose_as_often_as_they_should(p: JointSlotCounts) -> None:
    n = 40_000
    z = p.sample((n,), noise=p.noise_like((n,), stream(0, "draws")))
    masses: dict[tuple[float, ...], float] = {}
    for slots in SLOTS:
        counts = tuple(one_hot(slots, WIDTH).sum(0)[:-1].tolist())
        masses[counts] = masses.get(counts, 0.0) + math.exp(log_mass(p, slots))
    for counts, mass in masses.items():
        share = float((z == torch.tensor(counts)).all(-1).float().mean())
        assert abs(share - mass) < 4.5 * math.sqrt(mass * (1 - mass) / n) + 1e-4


def test_the_divergence_is_the_mean_over_choices_of_that_slot_by_slot(p: JointSlotCounts, q: SlotCounts) -> None:
    direct = averaged = 0.0
    for slots in SLOTS:
        log_q = float(q.log_prob_of_slots(slots).sum())
        direct += math.exp(log_q) * (log_q - log_mass(p, slots))
        averaged += math.exp(log_q) * float(sum(slot_kl(q, p.given(one_hot(slots, WIDTH)))))
    assert averaged == pytest.approx(direct, rel=1e-4)


def test_the_latent_family_takes_the_choices_of_its_draw(p: JointSlotCounts, q: SlotCounts) -> None:
    latent = SlotCountsLatent(2, K, L, q.shared)
    n = 20_000
    draw = q.draw(q.noise_like((n,), stream(0, "slots")))
    paid, ratio = sum(latent.divergence(q, p, draw).values()), latent.log_ratio(q, p, draw)
    difference = paid - ratio
    assert abs(float(difference.mean())) < 4.5 * float(difference.std()) / math.sqrt(n)


def test_a_fresh_prior_is_the_one_whose_slots_choose_alone() -> None:
    prior = JointSlotCountsPrior(K, L, 0.3, False, preference=2.0)
    alone, joint = prior.alone(None), prior(None).given(one_hot(SLOTS, WIDTH))
    torch.testing.assert_close(joint.log_choices, alone.log_choices.expand(joint.log_choices.shape))
