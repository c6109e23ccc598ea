"""The spike and slab whose units are chosen together, against sums over all choices."""

from __future__ import annotations

import math
from itertools import product

import pytest
import torch

from fewhot.core.seeding import seeded, stream
from fewhot.distributions import Gaussian, JointSpikeSlab, SpikeSlab, kl_parts
from fewhot.distributions.gaussian import gaussian_kl
from fewhot.latents import SpikeSlabLatent
from fewhot.priors import JointSpikeSlabPrior
from tests.parts import shake

K = 3
CHOICES = torch.tensor(list(product([0.0, 1.0], repeat=K)))


@pytest.fixture
def p() -> JointSpikeSlab:
    with seeded(0, "joint"):
        prior = JointSpikeSlabPrior(K, 0.3, n_hidden=20)
    shake(prior, size=0.5)
    return prior.requires_grad_(False)(None)


@pytest.fixture
def q() -> SpikeSlab:
    return SpikeSlab(torch.tensor([-1.0, 0.3, 2.0]), torch.tensor([0.5, -1.0, 2.0]), torch.tensor([0.7, 0.2, 1.5]))


def log_mass(p: JointSpikeSlab, choice: torch.Tensor) -> float:
    """Return the log-probability that exactly these units are on, one unit after the other."""
    total = 0.0
    for unit in range(K):
        seen = torch.where(torch.arange(K) < unit, choice, 0.0)
        rate = float(p.given(seen).probs[unit])
        total += math.log(rate if choice[unit] else 1 - rate)
    return total


def test_the_choices_have_probabilities_that_sum_to_one(p: JointSpikeSlab) -> None:
    assert sum(math.exp(log_mass(p, choice)) for choice in CHOICES) == pytest.approx(1.0, abs=1e-5)


def test_later_gates_do_not_change_a_rate_and_earlier_ones_do(p: JointSpikeSlab) -> None:
    some, others = p.given(torch.tensor([1.0, 0.0, 0.0])).probs, p.given(torch.tensor([1.0, 1.0, 1.0])).probs
    assert torch.equal(some[:2], others[:2])
    assert some[2] != others[2]


def test_the_density_of_a_code_is_its_choice_times_its_values(p: JointSpikeSlab) -> None:
    z = torch.tensor([[0.4, 0.0, -1.2], [0.0, 0.0, 0.0], [0.1, 2.0, 0.3]])
    by_hand = []
    for code in z:
        on = (code != 0).float()
        values = p.given(on).slab.log_prob(code)
        by_hand.append(log_mass(p, on) + float(values[on > 0].sum()))
    torch.testing.assert_close(p.log_prob(z), torch.tensor(by_hand), rtol=1e-5, atol=1e-5)


def test_draws_choose_units_as_often_as_they_should(p: JointSpikeSlab) -> None:
    n = 40_000
    z = p.sample((n,), noise=p.noise_like((n,), stream(0, "draws")))
    for choice in CHOICES:
        mass = math.exp(log_mass(p, choice))
        share = float(((z != 0).float() == choice).all(-1).float().mean())
        assert abs(share - mass) < 4.5 * math.sqrt(mass * (1 - mass) / n) + 1e-4
    together = z[(z[:, 0] != 0) & (z[:, 2] != 0) & (z[:, 1] == 0)]
    slab = p.given(torch.tensor([1.0, 0.0, 1.0])).slab
    error = (together.mean(0) - slab.loc)[[0, 2]].abs()
    assert (error < 4.5 * slab.scale[[0, 2]] / math.sqrt(len(together))).all()


def test_the_divergence_is_the_mean_over_gates_of_that_unit_by_unit(p: JointSpikeSlab, q: SpikeSlab) -> None:
    """Both sides by summing over all eight choices."""
    direct = averaged = 0.0
    for choice in CHOICES:
        log_q = float(torch.where(choice > 0, q.probs.log(), (1 - q.probs).log()).sum())
        law = p.given(choice)
        values = gaussian_kl(Gaussian(q.loc, q.scale), law.slab)
        direct += math.exp(log_q) * (log_q - log_mass(p, choice) + float((choice * values).sum()))
        averaged += math.exp(log_q) * float(sum(part.sum() for part in kl_parts(q, law)))
    assert averaged == pytest.approx(direct, rel=1e-4)


def test_the_latent_family_takes_the_gates_of_its_draw(p: JointSpikeSlab, q: SpikeSlab) -> None:
    latent = SpikeSlabLatent(2, K)
    n = 20_000
    draw = q.draw((n,), noise=q.noise_like((n,), stream(0, "gates")))
    parts = latent.divergence(q, p, draw)
    paid, ratio = sum(parts.values()), latent.log_ratio(q, p, draw)
    difference = paid - ratio
    assert abs(float(difference.mean())) < 4.5 * float(difference.std()) / math.sqrt(n)
