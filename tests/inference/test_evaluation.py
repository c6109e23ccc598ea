"""Held-out numbers: the exact bound and its importance-weighted tightening."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from fewhot.core.records import Batch, Dense
from fewhot.inference import exact_bound, exact_terms, importance_bound
from fewhot.inference.evaluation import EXACT
from fewhot.latents import GaussianLatent, SpikeSlabLatent
from fewhot.models import LatentModel
from fewhot.priors import SpikeSlabPrior, StandardPrior
from tests.inference.slow import slow_bound
from tests.parts import FAMILIES, LinearGaussian, bank_of, batch_of, ragged, rows, small_model

every_model = pytest.mark.parametrize(
    ("family", "likelihood"), [(f, l) for f in FAMILIES for l in ("bernoulli", "gaussian")]
)


def data_for(likelihood: str, n_rows: int = 6) -> torch.Tensor:
    return rows("binary" if likelihood == "bernoulli" else "real", n_rows=n_rows)


@every_model
@pytest.mark.parametrize("n_draws", [1, 3])
def test_the_exact_bound_is_the_slow_and_obvious_one(family: str, likelihood: str, n_draws: int) -> None:
    model, x = small_model(family, likelihood), data_for(likelihood)
    bank = bank_of(model, n_draws)
    slow = slow_bound(model, x.double().numpy(), bank, family, likelihood)
    rtol = 1e-4 if family == "pseudo-inputs" else 1e-5  # distances in units of a narrow slab have fewer digits
    np.testing.assert_allclose(exact_bound(model, batch_of(x), bank).numpy(), slow, rtol=rtol, atol=1e-4)


@every_model
def test_row_order_and_batch_size_change_nothing(family: str, likelihood: str) -> None:
    model, x = small_model(family, likelihood), data_for(likelihood, n_rows=40)
    bank = bank_of(model, 4)
    whole = exact_bound(model, batch_of(x), bank)
    order = torch.randperm(40, generator=torch.Generator().manual_seed(0))
    parts = torch.cat([exact_bound(model, batch_of(part), bank) for part in x[order].split(7)])
    torch.testing.assert_close(parts, whole[order], rtol=1e-5, atol=1e-4)
    assert whole.std() > 0.1


@every_model
def test_equal_rows_have_equal_bounds(family: str, likelihood: str) -> None:
    model, x = small_model(family, likelihood), data_for(likelihood)
    bound = exact_bound(model, batch_of(x[[2, 2]]), bank_of(model, 4))
    torch.testing.assert_close(bound[0], bound[1])


@pytest.mark.parametrize("family", FAMILIES)
def test_given_local_parameters_take_the_place_of_the_encoders(family: str) -> None:
    model, batch = small_model(family), batch_of(rows())
    bank = bank_of(model, 2)
    psi = model.psi(batch)
    assert torch.equal(exact_bound(model, batch, bank, psi), exact_bound(model, batch, bank))
    moved = {name: value + 0.5 for name, value in psi.items()}
    assert not torch.allclose(exact_bound(model, batch, bank, moved), exact_bound(model, batch, bank))


@pytest.mark.parametrize("family", FAMILIES)
def test_neither_weights_nor_penalties_nor_relaxations_move_the_bound(family: str) -> None:
    model, batch = small_model(family), batch_of(rows())
    bank = bank_of(model, 2)
    before = exact_bound(model, batch, bank)
    for term in model.objective.terms:
        term.weight = 17.0
    assert torch.equal(exact_bound(model, batch, bank), before)


@pytest.mark.parametrize("bound", [exact_bound, importance_bound])
@pytest.mark.parametrize("family", FAMILIES)
def test_evaluation_builds_no_graph_and_leaves_the_global_generator(bound: object, family: str) -> None:
    model = small_model(family)
    bank, before = bank_of(model, 2), torch.get_rng_state()
    assert not bound(model, batch_of(rows()), bank).requires_grad
    assert torch.equal(before, torch.get_rng_state())


@pytest.mark.parametrize("family", FAMILIES)
def test_importance_weights_of_one_draw_are_the_joint_over_the_posterior(family: str) -> None:
    model, batch = small_model(family), batch_of(rows())
    bank = bank_of(model, 1)
    result = model.run(model.psi(batch), batch, EXACT, bank[0])
    z = result.draw.z
    log_p = result.p.log_prob(z)
    log_p = log_p if family == "pseudo-inputs" else log_p.sum(-1)  # a mixture is a law of whole codes
    by_hand = result.px.log_prob(batch.x) + log_p - result.q.log_prob(z).sum(-1)
    torch.testing.assert_close(importance_bound(model, batch, bank), by_hand)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_importance_bound_is_tighter_on_average(family: str) -> None:
    model, batch = small_model(family), batch_of(rows())
    gaps = []
    for seed in range(40):
        bank = bank_of(model, 32, seed=seed)
        gaps.append((importance_bound(model, batch, bank) - exact_bound(model, batch, bank)).mean())
    gap = torch.stack(gaps)
    assert gap.mean() > 4 * gap.std() / 40**0.5


@pytest.mark.parametrize("family", FAMILIES)
def test_the_importance_bound_rises_with_the_draws(family: str) -> None:
    model, batch = small_model(family), batch_of(rows())
    few, many = (
        torch.stack([importance_bound(model, batch, bank_of(model, n, seed=s)).mean() for s in range(40)])
        for n in (1, 64)
    )
    assert many.mean() - few.mean() > 4 * (few.var() / 40 + many.var() / 40).sqrt()


# Known answers: a linear decoder with Gaussian noise


def true_gaussian_posterior(toy: LinearGaussian) -> dict[str, torch.Tensor]:
    mean, variance = toy.posterior()
    loc = torch.tensor(mean, dtype=torch.float32)
    return {"loc": loc, "logvar": torch.tensor(np.log(variance), dtype=torch.float32).expand_as(loc)}


@pytest.mark.parametrize("n_draws", [1, 5])
def test_under_the_true_gaussian_posterior_every_draw_gives_log_p_of_x(n_draws: int) -> None:
    toy = LinearGaussian()
    model = toy.model(GaussianLatent(3, 2), StandardPrior(2))
    for seed in range(5):
        bound = importance_bound(model, toy.batch, bank_of(model, n_draws, seed=seed), true_gaussian_posterior(toy))
        np.testing.assert_allclose(bound.numpy(), toy.log_normal(on=True), rtol=1e-5, atol=1e-4)


def test_the_exact_bound_of_the_true_posterior_is_log_p_of_x_on_average() -> None:
    toy = LinearGaussian()
    model = toy.model(GaussianLatent(3, 2), StandardPrior(2))
    corners = [{"slab": torch.tensor([[s, t]])} for s in (-1.0, 1.0) for t in (-1.0, 1.0)]  # mean 0, covariance I
    bound = exact_bound(model, toy.batch, corners, true_gaussian_posterior(toy))
    np.testing.assert_allclose(bound.numpy(), toy.log_normal(on=True), rtol=1e-5, atol=1e-4)


def spike_slab_toy(rate: float) -> tuple[LinearGaussian, LatentModel, dict[str, torch.Tensor], np.ndarray]:
    """Return one spike-and-slab unit before a linear decoder, its true posterior and log p(x)."""
    toy = LinearGaussian(n_latent=1)
    model = toy.model(SpikeSlabLatent(3, 1), SpikeSlabPrior(1, rate))
    log_on = np.log(rate) + toy.log_normal(on=True)
    log_off = np.log1p(-rate) + toy.log_normal(on=False)
    mean, variance = toy.posterior()
    psi = {
        "logits": log_on[:, None] - log_off[:, None],
        "loc": mean,
        "logvar": np.broadcast_to(np.log(variance), mean.shape),
    }
    return toy, model, {k: torch.tensor(v, dtype=torch.float32) for k, v in psi.items()}, np.logaddexp(log_on, log_off)


@pytest.mark.parametrize("rate", [0.1, 0.6])
def test_under_the_true_spike_slab_posterior_every_draw_gives_log_p_of_x(rate: float) -> None:
    toy, model, psi, log_p = spike_slab_toy(rate)
    gates = set()
    for seed in range(12):
        (noise,) = bank_of(model, 1, seed=seed)
        gates |= set(model.run(psi, toy.batch, EXACT, noise).draw.gate.flatten().tolist())
        np.testing.assert_allclose(
            importance_bound(model, toy.batch, [noise], psi).numpy(), log_p, rtol=1e-5, atol=1e-4
        )
    assert gates == {0.0, 1.0}
    assert (psi["logits"].abs() < 15).all()


def test_a_wrong_posterior_falls_short_of_log_p_of_x() -> None:
    toy = LinearGaussian()
    model = toy.model(GaussianLatent(3, 2), StandardPrior(2))
    psi = {name: value + 0.3 for name, value in true_gaussian_posterior(toy).items()}
    bound = exact_bound(model, toy.batch, bank_of(model, 400), psi)
    assert (bound.numpy() < toy.log_normal(on=True) - 0.05).all()


@pytest.mark.parametrize("family", FAMILIES)
def test_ragged_batches_have_the_bound_of_dense_ones(family: str) -> None:
    model, x = small_model(family), rows()
    bank = bank_of(model, 3)
    for bound in (exact_bound, importance_bound):
        torch.testing.assert_close(bound(model, Batch(ragged(x)), bank), bound(model, Batch(Dense(x)), bank))


@pytest.mark.parametrize("family", FAMILIES)
def test_the_terms_of_an_exact_pass_add_up_to_its_bound(family: str) -> None:
    model, batch = small_model(family), batch_of(rows())
    bank = bank_of(model, 5)
    terms = exact_terms(model, batch, bank)
    total = terms.pop("reconstruction") - sum(terms.values())
    torch.testing.assert_close(total, exact_bound(model, batch, bank))
