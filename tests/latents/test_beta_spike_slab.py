"""The Beta spike-and-slab family where its spike has a width, and where its slabs see gamma."""

from __future__ import annotations

import pytest
import torch
from torch.distributions import Beta, Normal, kl_divergence

from fewhot.core.errors import InvalidParameterError
from fewhot.core.records import Draw, Knobs
from fewhot.core.seeding import seeded, stream
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


def seeing(size: float = 1.0, **options: object) -> BetaSpikeSlabLatent:
    """Return a family of three units whose slabs move with gamma."""
    with seeded(0, "seeing"):
        latent = BetaSpikeSlabLatent(2, 3, form="hierarchical", slab_sees_gamma=True, **options)
    with torch.no_grad():
        latent.by_gamma.copy_(size * torch.randn(6, 3, generator=stream(0, "by gamma")))
    return latent


@pytest.mark.parametrize("gates", ["relaxed", "exact", "straight-through"])
def test_slabs_that_see_gamma_and_ignore_it_are_those_of_the_hierarchical_form(gates: str) -> None:
    seen, unseen = seeing(0.0), BetaSpikeSlabLatent(2, 3, form="hierarchical")
    unseen.load_state_dict(seen.state_dict(), strict=False)
    h, noise = torch.randn(40, 2, generator=stream(1)), seen.noise(40, stream(2))
    one = seen.draw(seen.posterior(seen.psi(h), Knobs(gates=gates)), noise)
    other = unseen.draw(unseen.posterior(unseen.psi(h), RELAXED), noise)
    assert torch.equal(one.z, other.z)
    summaries = [latent.summary(latent.psi(h)) for latent in (seen, unseen)]
    assert all(torch.equal(*(getattr(s, name) for s in summaries)) for name in ("values", "variance", "logits"))


def test_a_bound_with_drawn_gamma_agrees_with_the_slow_one() -> None:
    """One row, its gamma, gates and slabs drawn by torch's own laws, its cost put together term by term."""
    n, target, latent = 200_000, torch.tensor([0.4, -0.2, 0.9]), seeing(0.5)
    psi = latent.psi(torch.tensor([[0.5, -1.0]]))
    p = BetaSpikeSlab(*(torch.full((3,), value) for value in (4.0, 1.0, 0.2, 1.3)))
    with torch.no_grad():
        q = latent.posterior(psi, EXACT)
        draw = latent.draw(q, latent.noise(n, stream(3)))
        ours = Normal(draw.z, 0.5).log_prob(target).sum(-1) - sum(latent.divergence(q, p, draw).values())

        torch.manual_seed(0)
        off, on = (value[0] for value in latent._concentrations(psi))
        gamma = Beta(off, on).sample((n,))
        change = (gamma - off / (off + on)) @ latent.by_gamma.T
        slab = Normal(psi["loc"] + change[:, :3], torch.exp(0.5 * (psi["logvar"] + change[:, 3:])))
        z = torch.bernoulli(1 - gamma) * slab.sample()
        cost = (1 - gamma) * kl_divergence(slab, Normal(0.2, 1.3)) + kl_divergence(Beta(off, on), Beta(4.0, 1.0))
        slow = (Normal(z, 0.5).log_prob(target) - cost).sum(-1)
    error = ((ours.var() + slow.var()) / n).sqrt()
    assert abs(ours.mean() - slow.mean()) < 4.5 * error
    assert error < 0.02


def test_weights_make_draws_of_the_posterior_stand_for_the_prior() -> None:
    n, latent = 200_000, seeing(0.3)
    p = BetaSpikeSlab(*(torch.full((3,), value) for value in (2.0, 1.5, 0.0, 0.8)))
    with torch.no_grad():
        psi = {name: 0.2 * value for name, value in latent.psi(torch.tensor([[0.5, -1.0]])).items()}
        q = latent.posterior(psi, EXACT)
        draw = latent.draw(q, latent.noise(n, stream(4)))
        weight = torch.exp(-latent.log_ratio(q, p, draw))[:, None]
    rate = 1.5 / 3.5
    for value, expected in ((1.0, 1.0), (draw.auxiliary["odds"].sigmoid(), rate), (draw.z.square(), rate * 0.8**2)):
        found = weight * value
        error = found.std(0) / n**0.5
        assert ((found.mean(0) - expected).abs() < 4.5 * error).all()
        assert (error < 0.02).all()


def test_gamma_needs_rates_that_are_drawn() -> None:
    with pytest.raises(InvalidParameterError, match="slab_sees_gamma needs form='hierarchical'"):
        BetaSpikeSlabLatent(2, 1, slab_sees_gamma=True)
