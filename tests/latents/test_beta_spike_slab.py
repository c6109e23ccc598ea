"""The Beta spike-and-slab family where its spike has a width."""

from __future__ import annotations

import pytest
import torch

from fewhot.core.errors import InvalidParameterError
from fewhot.core.records import Draw, Knobs
from fewhot.core.seeding import stream
from fewhot.distributions import BetaSpikeSlab
from fewhot.latents import BetaSpikeSlabLatent

RELAXED, EXACT = Knobs(gates="relaxed"), Knobs(gates="exact")


def finite(spike_std: float) -> BetaSpikeSlabLatent:
    return BetaSpikeSlabLatent(2, 1, form="hierarchical", spike_std=spike_std)


@pytest.mark.parametrize(("spike_std", "expected"), [(0.5, 0.161), (0.05, 0.259), (0.005, 0.271)])
def test_the_divergence_given_the_odds_has_its_reference_value(spike_std: float, expected: float) -> None:
    """On-probability 0.3, slab N(1.2, 0.36) against N(0, 1), both mixtures with the same spike."""
    n, generator = 400_000, stream(0, "mixtures")
    on = torch.rand(n, 1, generator=generator) < 0.3
    noise = torch.randn(n, 1, generator=generator)
    z = torch.where(on, 1.2 + 0.6 * noise, spike_std * noise)
    q, p = (
        BetaSpikeSlab(torch.tensor([7.0]), torch.tensor([3.0]), torch.tensor([loc]), torch.tensor([scale]))
        for loc, scale in ((1.2, 0.6), (0.0, 1.0))
    )
    draw = Draw(z, on.float(), {"odds": torch.tensor(0.3).logit().expand(n, 1)})
    ratio = finite(spike_std)._mixture_ratio(q, p, draw)
    assert float(ratio.mean()) == pytest.approx(expected, abs=0.001 + 4.5 * float(ratio.std()) / n**0.5)


def test_training_draws_have_a_spike_and_evaluation_has_zeros() -> None:
    latent = finite(0.05)
    psi = latent.psi(torch.randn(500, 2, generator=stream(0)))
    noise = latent.noise(500, stream(1))
    trained = latent.draw(latent.posterior(psi, RELAXED), noise)
    off = trained.gate == 0
    assert off.any()
    torch.testing.assert_close(trained.z[off], 0.05 * noise["spike"][off])
    exact = latent.draw(latent.posterior(psi, EXACT), noise)
    assert (exact.z[exact.gate == 0] == 0).all()


def test_gradients_reach_every_head() -> None:
    latent = finite(0.05)
    p = BetaSpikeSlab(torch.tensor([4.0]), torch.tensor([1.0]), torch.zeros(1), torch.ones(1))
    q = latent.posterior(latent.psi(torch.randn(50, 2, generator=stream(0))), RELAXED)
    sum(part.sum() for part in latent.divergence(q, p, latent.draw(q, latent.noise(50, stream(1)))).values()).backward()
    assert latent.heads.weight.grad.abs().sum(1).gt(0).all()


def test_a_width_needs_rates_that_are_drawn() -> None:
    with pytest.raises(InvalidParameterError, match="spike_std needs form='hierarchical'"):
        BetaSpikeSlabLatent(2, 1, spike_std=0.05)
