"""Equalities between models: each is the other with a part switched off."""

from __future__ import annotations

import pytest
import torch

from fewhot.core.records import Dense, Knobs
from fewhot.core.seeding import seeded
from fewhot.distributions import SpikeSlab
from fewhot.inference import exact_bound, importance_bound
from fewhot.inference.evaluation import EXACT
from fewhot.models import LatentModel, beta_tcvae, hsvae, mat_vae, vae, vsc
from fewhot.objectives.pseudo_inputs import BOUNDS
from tests.parts import bank_of, batch_of, rows, shake, spec_of

K = 6
SIZES = {"n_latent": K, "hidden_layer_sizes": (9,)}


def build(make: object, x: torch.Tensor, **options: object) -> LatentModel:
    with seeded(0, "relations"):
        model = make(spec_of(x), **SIZES, **options)
    shake(model, size=0.2)
    return model


def twins(kind: str) -> tuple[LatentModel, LatentModel, torch.Tensor]:
    """Return a VAE and a VSC with the same weights whose prior and posterior gates are all on."""
    x = rows(kind, n_rows=20)
    plain, gated = build(vae, x), build(vsc, x, alpha=1.0)
    gated.encoder.load_state_dict(plain.encoder.state_dict())
    gated.decoder.load_state_dict(plain.decoder.state_dict())
    with torch.no_grad():
        gated.latent.heads.weight.copy_(torch.cat([torch.zeros(K, 9), plain.latent.heads.weight]))
        gated.latent.heads.bias.copy_(torch.cat([torch.full((K,), 1e4), plain.latent.heads.bias]))
    return plain, gated, x


@pytest.mark.parametrize("kind", ["binary", "counts", "real"])
def test_vsc_with_every_gate_on_has_the_bound_of_the_vae(kind: str) -> None:
    plain, gated, x = twins(kind)
    bank = bank_of(gated, 5)
    slabs = [{"slab": noise["slab"]} for noise in bank]
    for bound in (exact_bound, importance_bound):
        torch.testing.assert_close(
            bound(gated, batch_of(x), bank), bound(plain, batch_of(x), slabs), rtol=2e-6, atol=2e-5
        )


def test_vsc_with_every_gate_on_draws_the_codes_of_the_vae() -> None:
    plain, gated, x = twins("binary")
    (noise,) = bank_of(gated, 1)
    codes = [m.run(m.psi(batch_of(x)), batch_of(x), EXACT, noise).draw.z for m in (plain, gated)]
    torch.testing.assert_close(*codes)


@pytest.mark.parametrize("penalty", ["l1", "l2"])
@pytest.mark.parametrize("beta", [1.0, 4.0])
def test_a_penalty_of_weight_zero_leaves_the_beta_vae(penalty: str, beta: float) -> None:
    x = rows()
    plain = build(vae, x, beta=beta)
    penalised = build(vae, x, beta=beta, penalty=penalty, penalty_weight=0.0)
    (noise,), knobs = bank_of(plain, 1), plain.knobs(torch.tensor(0))
    one, other = (m.terms(m.run(m.psi(batch_of(x)), batch_of(x), knobs, noise), knobs) for m in (plain, penalised))
    assert torch.equal(one.loss, other.loss)
    assert torch.equal(one.bound, other.bound)


def test_beta_one_is_the_vae_and_any_beta_has_its_bound() -> None:
    x = rows()
    plain, heavy = build(vae, x), build(vae, x, beta=8.0)
    bank = bank_of(plain, 3)
    assert torch.equal(exact_bound(plain, batch_of(x), bank), exact_bound(heavy, batch_of(x), bank))
    knobs = plain.knobs(torch.tensor(0))
    one, other = (m.terms(m.run(m.psi(batch_of(x)), batch_of(x), knobs, bank[0]), knobs) for m in (plain, heavy))
    torch.testing.assert_close(other.loss - one.loss, 7 * one.per_example["kl"].mean())


def test_a_posterior_equal_to_the_prior_costs_nothing() -> None:
    x = rows()
    model = build(vsc, x, alpha=0.25)
    with torch.no_grad():
        model.latent.heads.weight.zero_()
        model.latent.heads.bias.copy_(torch.cat([torch.full((K,), 0.25).logit(), torch.zeros(2 * K)]))
    (noise,) = bank_of(model, 1)
    parts = model.divergence(model.run(model.psi(batch_of(x)), batch_of(x), EXACT, noise))
    for part in parts.values():
        torch.testing.assert_close(part, torch.zeros(len(x)), rtol=0, atol=1e-6)


def test_a_weight_of_one_on_the_total_correlation_is_the_vae() -> None:
    x = rows()
    plain, independent = build(vae, x), build(beta_tcvae, x, beta=1.0)
    (noise,), knobs = bank_of(plain, 1), plain.knobs(torch.tensor(0))
    one, other = (m.terms(m.run(m.psi(batch_of(x)), batch_of(x), knobs, noise), knobs) for m in (plain, independent))
    assert torch.equal(one.loss, other.loss)
    assert torch.equal(one.bound, other.bound)


def test_a_mat_vae_without_spike_and_discrepancy_is_the_vae_on_average() -> None:
    x = rows()
    plain, spiked = build(vae, x), build(mat_vae, x, spike_weight=0.0, mmd_weight=0.0)
    bank = bank_of(plain, 4000)
    one, other = (exact_bound(m, batch_of(x), bank) for m in (plain, spiked))
    torch.testing.assert_close(one, other, rtol=0, atol=0.1)
    (noise,) = bank_of(plain, 1)
    results = [m.run(m.psi(batch_of(x)), batch_of(x), EXACT, noise) for m in (plain, spiked)]
    torch.testing.assert_close(*(m.log_weight(r) for m, r in zip((plain, spiked), results, strict=True)))


def hierarchical(x: torch.Tensor, **options: object) -> LatentModel:
    return build(hsvae, x, gate_prior=(4.0, 1.0), **options)


def test_a_collapsed_hsvae_is_the_vsc_with_its_rates() -> None:
    """Concentrations (a, b) matter only by b / (a + b): the bound is that of gates with these logits."""
    x = rows()
    sparse, flat = hierarchical(x), build(vsc, x, alpha=0.2)
    flat.decoder.load_state_dict(sparse.decoder.state_dict())
    psi = sparse.psi(batch_of(x))
    logits = sparse.latent.summary(psi).logits
    bank = bank_of(sparse, 5)
    one = exact_bound(sparse, batch_of(x), bank, psi)
    other = exact_bound(flat, batch_of(x), bank, {"logits": logits, "loc": psi["loc"], "logvar": psi["logvar"]})
    torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-4)


def test_the_hierarchical_objective_is_never_above_the_collapsed_bound_on_average() -> None:
    x = rows()
    model = hierarchical(x, form="hierarchical")
    knobs = model.knobs(torch.tensor(0))
    with torch.no_grad():
        result = model.run(model.psi(batch_of(x)), batch_of(x), knobs, model.noise(len(x), torch.Generator()))
        paid = model.divergence(result)
        collapsed = model.latent.divergence(model.posterior(result.psi, EXACT), result.p, result.draw)
    assert (paid["kl_gate"] >= collapsed["kl_gate"] - 1e-5).all()
    torch.testing.assert_close(paid["kl_slab"], collapsed["kl_slab"])


def test_an_hsvae_that_is_always_on_is_the_vae() -> None:
    x = rows()
    model, plain = hierarchical(x, gate_kl_weight=0.0), build(vae, x)
    plain.decoder.load_state_dict(model.decoder.state_dict())
    psi = {**model.psi(batch_of(x)), "logits": torch.full((len(x), K), 50.0)}
    (noise,) = bank_of(model, 1)
    noise = {**noise, "gate": torch.full_like(noise["gate"], 0.5)}
    result = model.run(psi, batch_of(x), EXACT, noise)
    dense = plain.run({name: psi[name] for name in ("loc", "logvar")}, batch_of(x), EXACT, noise)
    torch.testing.assert_close(result.draw.z, dense.draw.z)
    torch.testing.assert_close(model.divergence(result)["kl_slab"], plain.divergence(dense)["kl"])


def test_a_joint_prior_that_has_learned_nothing_is_the_independent_one() -> None:
    x = rows()
    joint, independent = (build(vsc, x, l0=2.0, joint=joint) for joint in (True, False))
    joint.encoder.load_state_dict(independent.encoder.state_dict())
    joint.latent.load_state_dict(independent.latent.state_dict())
    joint.decoder.load_state_dict(independent.decoder.state_dict())
    with torch.no_grad():
        joint.prior.network.last.weight.zero_()
        for name in ("logits", "loc", "logvar"):
            getattr(joint.prior, name).copy_(getattr(independent.prior, name))
    bank = bank_of(joint, 5)
    for bound in (exact_bound, importance_bound):
        torch.testing.assert_close(bound(joint, batch_of(x), bank), bound(independent, batch_of(x), bank))


def one_pseudo_input(x: torch.Tensor, rate: float, bound: str) -> tuple[LatentModel, LatentModel]:
    """Return a VSC of fixed rate, and one whose only pseudo-input is told to be (rate, 0, 1), with the same weights."""
    fixed = build(vsc, x, alpha=rate)
    learned = build(vsc, x, alpha=rate, n_pseudo_inputs=1, sharpness=None, bound=bound)
    for part in ("encoder", "latent", "decoder"):
        getattr(learned, part).load_state_dict(getattr(fixed, part).state_dict())
    told = SpikeSlab(torch.full((1, K), rate).logit(), torch.zeros(1, K), torch.ones(1, K))
    learned.posterior_of = lambda rows: told if isinstance(rows, Dense) else None
    return fixed, learned


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("kind", ["binary", "counts", "real"])
def test_one_pseudo_input_that_encodes_to_the_fixed_prior_is_the_fixed_prior(bound: str, kind: str) -> None:
    x = rows(kind, n_rows=20)
    fixed, learned = one_pseudo_input(x, 0.2, bound)
    bank = bank_of(fixed, 5)
    for measure in (exact_bound, importance_bound):
        torch.testing.assert_close(measure(learned, batch_of(x), bank), measure(fixed, batch_of(x), bank))
    knobs = fixed.knobs(torch.tensor(10**6))
    one, other = (m.terms(m.run(m.psi(batch_of(x)), batch_of(x), knobs, bank[0]), knobs) for m in (fixed, learned))
    torch.testing.assert_close(other.loss, one.loss)
    torch.testing.assert_close(other.bound, one.bound)
    torch.testing.assert_close(other.per_example["prior_sparsity"], torch.zeros(20), rtol=0, atol=1e-5)
    for name in ("kl_paper", "kl_corrected"):
        torch.testing.assert_close(other.per_example[name], one.per_example["kl_gate"] + one.per_example["kl_slab"])


def test_a_full_share_of_the_slab_is_ordinary_training() -> None:
    x = rows()
    plain, pretrained = (
        build(vsc, x, alpha=0.2, n_steps=100),
        build(vsc, x, alpha=0.2, n_steps=100, pretrain_spikes=0.3),
    )
    (noise,) = bank_of(plain, 1)
    for step, same in ((0, False), (35, False), (40, True), (100, True)):
        losses = []
        for m in (plain, pretrained):
            knobs = m.knobs(torch.tensor(step))
            losses.append(m.terms(m.run(m.psi(batch_of(x)), batch_of(x), knobs, noise), knobs).loss)
        assert torch.equal(*losses) == same
    assert torch.equal(*(exact_bound(m, batch_of(x), [noise]) for m in (plain, pretrained)))


def test_before_any_slab_a_code_is_gate_times_noise_and_pays_for_its_own_slab() -> None:
    x = rows()
    model, plain = build(vsc, x, alpha=0.2, n_steps=100, pretrain_spikes=0.3), build(vsc, x, alpha=0.2)
    (noise,) = bank_of(model, 1)
    first = model.run(model.psi(batch_of(x)), batch_of(x), model.knobs(torch.tensor(0)), noise)
    assert torch.equal(first.draw.z, first.draw.gate * noise["slab"])
    whole = plain.divergence(plain.run(plain.psi(batch_of(x)), batch_of(x), EXACT, noise))
    for name, value in model.divergence(first).items():
        assert torch.equal(value, whole[name])


@pytest.mark.parametrize("gates", ["exact", "relaxed", "straight-through"])
def test_a_decoder_that_sees_gates_reads_values_and_gates_side_by_side(gates: str) -> None:
    x = rows()
    model = build(vsc, x, l0=2.0, n_steps=100, decoder_sees_gates=True)
    result = model.run(model.psi(batch_of(x)), batch_of(x), Knobs(gates=gates), bank_of(model, 1)[0])
    decoder, z, gate = model.decoder, result.draw.z, result.draw.gate
    first, *_ = decoder.body.layers
    assert first.in_features == 2 * z.shape[-1]
    by_hand = decoder.head(decoder.output(torch.relu(first(torch.cat([z, gate], -1))))).log_prob(batch_of(x).x)
    torch.testing.assert_close(result.px.log_prob(batch_of(x).x), by_hand)
    torch.testing.assert_close(decoder.generate(z).log_prob(batch_of(x).x), by_hand)  # zeros say which gates are off


def test_gates_get_a_gradient_through_a_decoder_that_sees_them_alone() -> None:
    """With every value at 0 only the gates tell rows apart."""
    x = rows()
    model = build(vsc, x, l0=2.0, n_steps=100, decoder_sees_gates=True)
    psi = {name: value.detach().requires_grad_() for name, value in model.psi(batch_of(x)).items()}
    nothing = {**psi, "loc": torch.zeros_like(psi["loc"]), "logvar": torch.full_like(psi["logvar"], -12.0)}
    noise = bank_of(model, 1)[0]
    result = model.run(nothing, batch_of(x), Knobs(gates="straight-through"), {**noise, "slab": 0 * noise["slab"]})
    result.px.log_prob(batch_of(x).x).sum().backward()
    assert psi["logits"].grad.abs().sum() > 0
