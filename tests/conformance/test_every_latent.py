"""The contract, on every registered latent family, and with every prior it can be held against."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from fewhot.core.parts import Part
from fewhot.core.records import Knobs
from fewhot.core.registry import LATENTS, PRIORS
from fewhot.core.seeding import stream
from fewhot.distributions import JointSlotCounts, JointSpikeSlab, SpikeSlabMixture
from fewhot.latents import Latent
from tests.parts import N_LATENT, N_ROWS

from .examples import LATENT_WITH_PRIOR, build, every, features, identify, posterior_of

every_latent = pytest.mark.parametrize(("name", "options"), every(LATENTS), ids=identify)
every_prior = pytest.mark.parametrize(("name", "options"), every(PRIORS), ids=identify)
every_pair = pytest.mark.parametrize(("name", "options", "prior", "prior_options"), LATENT_WITH_PRIOR, ids=identify)
every_gate = pytest.mark.parametrize("gates", ["exact", "relaxed", "straight-through"])


def total(parts: dict[str, Tensor]) -> Tensor:
    return torch.stack(tuple(parts.values())).sum(0)


def divergence(latent: Any, prior: Any, psi: dict[str, Tensor], noise: dict[str, Tensor]) -> Tensor:
    q = latent.posterior(psi, Knobs())
    return total(latent.divergence(q, prior(posterior_of(latent)), latent.draw(q, noise)))


def is_closed_form(latent: Any, prior: Any) -> bool:
    psi = latent.psi(features())
    return torch.equal(*(divergence(latent, prior, psi, latent.noise(N_ROWS, stream(s))) for s in range(2)))


def test_every_family_has_a_prior_and_every_prior_a_family() -> None:
    assert {name for name, *_ in LATENT_WITH_PRIOR} == set(LATENTS)
    assert {prior for _, _, prior, _ in LATENT_WITH_PRIOR} == set(PRIORS)


@every_latent
@every_gate
def test_features_become_codes_of_the_declared_shape(name: str, options: dict, gates: str) -> None:
    latent = build(LATENTS, name, **options)
    psi = latent.psi(features())
    q = latent.posterior(psi, Knobs(gates=gates))
    draw = latent.draw(q, latent.noise(N_ROWS, stream(0)))
    assert all(len(value) == N_ROWS and value.dtype == torch.float32 for value in psi.values())
    assert latent.n_latent == N_LATENT
    assert q.batch_shape + q.event_shape == draw.z.shape == (N_ROWS, N_LATENT)
    assert draw.z.isfinite().all()
    assert (draw.gate is None) == (not latent.gated)
    assert set(latent.refinable) <= set(psi)


@every_latent
@every_gate
def test_noise_shared_by_rows_is_the_same_noise_in_every_row(name: str, options: dict, gates: str) -> None:
    latent = build(LATENTS, name, **options)
    q = latent.posterior(latent.psi(features()), Knobs(gates=gates))
    shared = latent.noise(1, stream(0))
    repeated = {key: value.expand(N_ROWS, -1) for key, value in shared.items()}
    assert all(len(value) == 1 for value in shared.values())
    assert torch.equal(latent.draw(q, shared).z, latent.draw(q, repeated).z)


@every_latent
def test_noise_repeats_with_its_generator_and_leaves_the_global_one(name: str, options: dict) -> None:
    latent, before = build(LATENTS, name, **options), torch.get_rng_state()
    one, same, other = (latent.noise(3, stream(seed)) for seed in (0, 0, 1))
    assert all(torch.equal(one[key], same[key]) and not torch.equal(one[key], other[key]) for key in one)
    assert torch.equal(before, torch.get_rng_state())


@every_latent
def test_training_draws_carry_gradients_to_every_head(name: str, options: dict) -> None:
    latent = build(LATENTS, name, **options)
    psi = {key: value.detach().requires_grad_() for key, value in latent.psi(features(200)).items()}
    draw = latent.draw(latent.posterior(psi, Knobs(gates="relaxed")), latent.noise(200, stream(0)))
    some = draw.z * torch.linspace(0.5, 2.0, N_LATENT)  # a plain sum would not change where units share a choice
    gradients = torch.autograd.grad(some.sum(), list(psi.values()))
    assert all(g.isfinite().all() and g.abs().sum() > 0 for g in gradients)


@every_latent
def test_exact_gates_draw_exact_zeros(name: str, options: dict) -> None:
    latent = build(LATENTS, name, **options)
    if not latent.gated:
        pytest.skip("no gates")
    draw = latent.draw(latent.posterior(latent.psi(features(100)), Knobs()), latent.noise(100, stream(0)))
    assert set(draw.gate.unique().tolist()) == {0.0, 1.0}
    assert torch.equal(draw.z == 0, draw.gate == 0)


@every_latent
def test_refinement_gates_decide_as_exact_ones(name: str, options: dict) -> None:
    latent = build(LATENTS, name, **options)
    psi, noise = latent.psi(features(100)), latent.noise(100, stream(0))
    exact, through = (
        latent.draw(latent.posterior(psi, Knobs(gates=g)), noise).z for g in ("exact", "straight-through")
    )
    assert torch.equal(exact, through)


@every_latent
def test_the_summary_is_zero_exactly_off_the_active_set(name: str, options: dict) -> None:
    latent = build(LATENTS, name, **options)
    summary = latent.summary(latent.psi(features(50)))
    code = torch.where(summary.active, summary.values, 0.0)
    assert summary.values.shape == summary.variance.shape == (50, N_LATENT)
    assert (summary.variance > 0).all()
    assert torch.equal(code != 0, summary.active)
    assert (summary.logits is not None) == latent.gated
    if latent.gated:
        assert 0 < summary.active.sum() < summary.active.numel()
        assert torch.equal(summary.active, (summary.logits if summary.margins is None else summary.margins) > 0)


@every_latent
def test_a_shift_of_all_gates_moves_every_margin_alike(name: str, options: dict) -> None:
    latent = build(LATENTS, name, **options)
    if type(latent).shift_gates is Latent.shift_gates:
        pytest.skip("no gates that can be shifted")
    before, h = latent.summary(latent.psi(features(50))), features(50)
    latent.shift_gates(0.3)
    after = latent.summary(latent.psi(h))
    margins = [s.logits if s.margins is None else s.margins for s in (before, after)]
    there = margins[0].isfinite()
    torch.testing.assert_close(margins[1][there], margins[0][there] + 0.3, atol=1e-4, rtol=1e-4)
    assert torch.equal(there, margins[1].isfinite())


@every_latent
def test_the_summary_does_not_depend_on_neighbours(name: str, options: dict) -> None:
    latent, h = build(LATENTS, name, **options), features(9)
    whole, alone = latent.summary(latent.psi(h)), latent.summary(latent.psi(h[4:5]))
    torch.testing.assert_close(alone.values[0], whole.values[4])


@every_pair
def test_the_divergence_is_finite_and_one_number_a_row(name: str, options: dict, prior: str, prior_options: dict):
    latent, p = build(LATENTS, name, **options), build(PRIORS, prior, **prior_options)
    for n_noise in (1, N_ROWS):
        value = divergence(latent, p, latent.psi(features()), latent.noise(n_noise, stream(0)))
        assert value.shape == (N_ROWS,)
        assert value.isfinite().all()


@every_pair
def test_a_closed_form_is_never_negative(name: str, options: dict, prior: str, prior_options: dict) -> None:
    latent, p = build(LATENTS, name, **options), build(PRIORS, prior, **prior_options)
    if not is_closed_form(latent, p):
        pytest.skip("estimated from the draw")
    value = divergence(latent, p, latent.psi(3 * features(300)), latent.noise(1, stream(0)))
    assert (value >= 0).all()


@every_pair
def test_the_log_ratio_averages_to_the_divergence(name: str, options: dict, prior: str, prior_options: dict) -> None:
    n = 40_000
    latent, p = build(LATENTS, name, **options), build(PRIORS, prior, **prior_options)
    with torch.no_grad():
        psi = {key: value.expand(n, -1) for key, value in latent.psi(features(1)).items()}
        q = latent.posterior(psi, Knobs())
        draw = latent.draw(q, latent.noise(n, stream(0)))
        law = p(posterior_of(latent))
        gap = latent.log_ratio(q, law, draw) - total(latent.divergence(q, law, draw))
    noise = 4.5 * gap.std() / n**0.5 + 1e-5
    assert gap.mean() <= noise
    if not isinstance(law, SpikeSlabMixture) or law.n_components == 1:  # several components have a bound on it
        assert gap.mean() >= -noise


@every_pair
@every_gate
def test_it_runs_as_one_compiled_graph(name: str, options: dict, prior: str, prior_options: dict, gates: str) -> None:
    torch.compiler.reset()
    latent, p = build(LATENTS, name, **options), build(PRIORS, prior, **prior_options)

    encode = posterior_of(latent)

    def run(h: Tensor, noise: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        q = latent.posterior(latent.psi(h), Knobs(gates=gates))
        draw = latent.draw(q, noise)
        return draw.z, total(latent.divergence(q, p(encode), draw))

    h, noise = features(), latent.noise(N_ROWS, stream(0))
    torch.testing.assert_close(torch.compile(run, fullgraph=True, backend="eager")(h, noise), run(h, noise))


@every_latent
def test_a_rebuilt_family_draws_the_same_codes(name: str, options: dict) -> None:
    latent = build(LATENTS, name, **options)
    again = Part.from_config(latent.to_config())
    again.load_state_dict(latent.state_dict())
    noise = latent.noise(N_ROWS, stream(0))
    for gates in ("exact", "relaxed"):
        one, other = (l.draw(l.posterior(l.psi(features()), Knobs(gates=gates)), noise).z for l in (latent, again))
        assert torch.equal(one, other)


@every_latent
def test_autocast_leaves_probabilities_in_float32(name: str, options: dict) -> None:
    latent = build(LATENTS, name, **options)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        psi = latent.psi(features())
        draw = latent.draw(latent.posterior(psi, Knobs(gates="relaxed")), latent.noise(N_ROWS, stream(0)))
    assert draw.z.dtype == torch.float32
    assert all(value.dtype == torch.float32 for value in psi.values())


def gated_posterior_of() -> Any:
    return posterior_of(build(LATENTS, "spike-slab"))


@every_prior
def test_a_prior_is_a_law_over_codes_and_can_be_drawn_from(name: str, options: dict) -> None:
    prior, encode, before = build(PRIORS, name, **options), gated_posterior_of(), torch.get_rng_state()
    law = prior(encode)
    assert (law.batch_shape + law.event_shape)[-1] == prior.n_latent == N_LATENT
    one, same = (prior.sample(9, encode, stream(0)) for _ in range(2))
    assert one.shape == (9, N_LATENT)
    assert torch.equal(one, same)
    assert torch.equal(before, torch.get_rng_state())


@every_prior
def test_values_for_given_units_are_drawn_and_the_others_are_zero(name: str, options: dict) -> None:
    prior, encode, before = build(PRIORS, name, **options), gated_posterior_of(), torch.get_rng_state()
    active = torch.rand(50, N_LATENT, generator=stream(0)) < 0.4
    one, same, other = (prior.sample_given(active, encode, stream(seed)) for seed in (1, 1, 2))
    assert torch.equal(one != 0, active)
    assert torch.equal(one, same)
    assert torch.equal(one, other) == (not prior.values_given(active, encode)[1].any())  # or there is nothing to draw
    assert torch.equal(before, torch.get_rng_state())


@every_prior
def test_draws_of_a_prior_have_its_mean_and_deviation(name: str, options: dict) -> None:
    n, prior, encode = 20_000, build(PRIORS, name, **options), gated_posterior_of()
    z, p = prior.sample(n, encode, stream(0)).detach(), prior(encode)
    if isinstance(p, JointSpikeSlab | JointSlotCounts):
        pytest.skip("its moments have no closed form; its draws have tests of their own")
    assert ((z.mean(0) - p.mean).abs() < 4.5 * z.std(0) / n**0.5).all()
    torch.testing.assert_close(z.std(0), p.stddev, rtol=0.05, atol=0.0)


@every_prior
def test_a_rebuilt_prior_is_the_same_law(name: str, options: dict) -> None:
    prior, encode = build(PRIORS, name, **options), gated_posterior_of()
    again = Part.from_config(prior.to_config())
    again.load_state_dict(prior.state_dict())
    assert torch.equal(again.sample(5, encode, stream(0)), prior.sample(5, encode, stream(0)))
