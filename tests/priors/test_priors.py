"""Priors: what they are and what they give."""

from __future__ import annotations

import math

import pytest
import torch

from fewhot.core.clipping import LOGIT_RANGE
from fewhot.core.errors import InvalidParameterError
from fewhot.core.records import Knobs
from fewhot.core.seeding import stream
from fewhot.latents import SpikeSlabLatent
from fewhot.priors import SpikeSlabPrior, StandardPrior


def test_the_standard_prior_is_standard() -> None:
    p = StandardPrior(3)(None)
    assert (p.loc.tolist(), p.scale.tolist()) == ([0.0] * 3, [1.0] * 3)
    assert list(StandardPrior(3).parameters()) == []


@pytest.mark.parametrize("learned", [False, True])
def test_the_spike_slab_prior_starts_at_its_rate_with_a_standard_slab(learned: bool) -> None:
    p = SpikeSlabPrior(3, 0.2, learned=learned)(None)
    torch.testing.assert_close(p.probs, torch.full((3,), 0.2))
    assert (p.loc.tolist(), p.scale.tolist()) == ([0.0] * 3, [1.0] * 3)


def test_only_a_learned_prior_has_parameters() -> None:
    assert list(SpikeSlabPrior(3, 0.2).parameters()) == []
    prior = SpikeSlabPrior(3, 0.2, learned=True)
    assert {name for name, _ in prior.named_parameters()} == {"logits", "loc", "logvar"}


@pytest.mark.parametrize("rate", [0.1, 0.7])
def test_draws_of_the_prior_are_exactly_zero_at_its_rate(rate: float) -> None:
    n = 20_000
    z = SpikeSlabPrior(2, rate).sample(n, None, stream(0, "prior"))
    assert z.shape == (n, 2)
    share = (z != 0).float().mean(0)
    assert ((share - rate).abs() < 4.5 * math.sqrt(rate * (1 - rate) / n)).all()
    assert z[z != 0].std().item() == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize("learned", [False, True])
def test_a_rate_of_one_keeps_every_bound_finite(learned: bool) -> None:
    prior, latent = SpikeSlabPrior(2, 1.0, learned=learned), SpikeSlabLatent(3, 2)
    q = latent.posterior(latent.psi(torch.randn(4, 3)), Knobs())
    kl = sum(latent.divergence(q, prior(None), None).values())
    assert kl.isfinite().all()
    assert (prior.sample(1000, None, stream(0)) != 0).all()


def test_learned_rates_stay_in_range_with_a_live_gradient() -> None:
    prior = SpikeSlabPrior(2, 0.5, learned=True)
    with torch.no_grad():
        prior.logits.copy_(torch.tensor([-1e3, 1e3]))
    logits = prior(None).logits
    logits.sum().backward()
    assert logits.tolist() == list(LOGIT_RANGE)
    assert prior.logits.grad.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("rate", [0.0, -0.1, 1.1])
def test_rates_that_are_none_are_refused(rate: float) -> None:
    with pytest.raises(InvalidParameterError, match=r"^rate is .*; it must be a number above 0 and at most 1\.$"):
        SpikeSlabPrior(2, rate)
