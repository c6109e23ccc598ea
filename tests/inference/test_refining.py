"""Refinement: better on its own noise, row by row, and nothing else touched."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fewhot.codes.encoding import JUDGES
from fewhot.inference import RefinementNoise, exact_bound, refine
from fewhot.latents import BinaryConcrete, GaussianLatent, SharpSigmoid, SpikeSlabLatent
from fewhot.models import LatentModel
from fewhot.priors import SpikeSlabPrior, StandardPrior
from tests.parts import FAMILIES, LinearGaussian, bank_of, batch_of, refinement_noise_of, rows, small_model


def psi_of(model: LatentModel, x: torch.Tensor) -> dict[str, torch.Tensor]:
    with torch.no_grad():
        return model.psi(batch_of(x))


@settings(deadline=None, max_examples=25)
@given(
    family=st.sampled_from(FAMILIES),
    likelihood=st.sampled_from(["bernoulli", "gaussian"]),
    sharp=st.booleans(),
    seed=st.integers(0, 1000),
    n_draws=st.integers(1, 6),
    n_steps=st.integers(0, 6),
    learning_rate=st.sampled_from([0.02, 0.3, 5.0]),
)
def test_no_row_is_made_worse_on_its_own_noise(
    family: str, likelihood: str, sharp: bool, seed: int, n_draws: int, n_steps: int, learning_rate: float
) -> None:
    model, x = small_model(family, likelihood, seed), rows("binary", seed=seed)
    if family == "spike-slab":
        model.latent.relaxation = SharpSigmoid(50.0, "soft") if sharp else BinaryConcrete(0.5)
    noise = refinement_noise_of(model, n_draws, seed)
    psi = refine(model, batch_of(x), psi_of(model, x), noise, 12, 0.2)  # a good start, from which long steps lead down
    better = refine(model, batch_of(x), psi, noise, n_steps, learning_rate)
    before, after = (exact_bound(model, batch_of(x), noise.judges, p) for p in (psi, better))
    assert (after >= before - 1e-5 * before.abs()).all()


@pytest.mark.parametrize("family", FAMILIES)
def test_rows_gain(family: str) -> None:
    model, x = small_model(family), rows()
    noise, psi = refinement_noise_of(model, JUDGES), psi_of(model, x)
    better = refine(model, batch_of(x), psi, noise, 50)
    before, after = (exact_bound(model, batch_of(x), noise.judges, p) for p in (psi, better))
    gain = after - before
    assert (gain > 0.1).all()


@settings(deadline=None, max_examples=25)
@given(
    family=st.sampled_from(FAMILIES),
    data=st.sampled_from([("bernoulli", "binary"), ("multinomial", "counts"), ("poisson", "counts")]),
    seed=st.integers(0, 1000),
    n_steps=st.integers(1, 60),
)
def test_what_is_gained_holds_on_fresh_noise(family: str, data: tuple[str, str], seed: int, n_steps: int) -> None:
    likelihood, kind = data
    model, x = small_model(family, likelihood, seed), rows(kind, seed=seed)
    psi = refine(
        model, batch_of(x), psi_of(model, x), refinement_noise_of(model, 4, seed + 2), 12, 0.2
    )  # as a good encoder says
    better = refine(model, batch_of(x), psi, refinement_noise_of(model, JUDGES, seed), n_steps)
    fresh = bank_of(model, 200, seed + 1)
    gain = exact_bound(model, batch_of(x), fresh, better) - exact_bound(model, batch_of(x), fresh, psi)
    assert gain.mean() >= -2 * gain.std() / len(gain) ** 0.5


@pytest.mark.parametrize("family", FAMILIES)
def test_no_steps_give_the_encoders_parameters(family: str) -> None:
    model, x = small_model(family), rows()
    psi = psi_of(model, x)
    same = refine(model, batch_of(x), psi, refinement_noise_of(model, 2), 0)
    assert all(torch.equal(same[name], psi[name]) for name in psi)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_row_alone_and_in_company_ends_at_the_same_place(family: str) -> None:
    model, x = small_model(family), rows()
    noise, psi = refinement_noise_of(model, 2), psi_of(model, x)
    together = refine(model, batch_of(x), psi, noise, 20)
    for row in range(len(x)):
        alone = refine(model, batch_of(x[[row]]), {k: v[[row]] for k, v in psi.items()}, noise, 20)
        for name in psi:
            torch.testing.assert_close(alone[name][0], together[name][row], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_model_and_the_given_parameters_stay_as_they_are(family: str) -> None:
    model, x = small_model(family), rows()
    noise, psi = refinement_noise_of(model, 2), psi_of(model, x)
    weights = {name: value.clone() for name, value in model.state_dict().items()}
    given_psi = {name: value.clone() for name, value in psi.items()}
    moved = refine(model, batch_of(x), psi, noise, 10)
    assert all(torch.equal(value, weights[name]) for name, value in model.state_dict().items())
    assert all(torch.equal(value, given_psi[name]) for name, value in psi.items())
    assert all(parameter.grad is None for parameter in model.parameters())
    assert not any(value.requires_grad for value in moved.values())


@pytest.mark.parametrize("family", FAMILIES)
def test_held_entries_do_not_move(family: str) -> None:
    model, x = small_model(family), rows()
    model.latent.refinable = ("loc",)
    psi = {**psi_of(model, x), "context": torch.randn(len(x), 3)}
    moved = refine(model, batch_of(x), psi, refinement_noise_of(model, 2), 10)
    assert set(moved) == set(psi)
    assert all(torch.equal(moved[name], psi[name]) for name in psi if name != "loc")
    assert not torch.equal(moved["loc"], psi["loc"])


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_that_declares_nothing_refinable_keeps_its_parameters(family: str) -> None:
    model, x = small_model(family), rows()
    model.latent.refinable = ()
    psi = psi_of(model, x)
    same = refine(model, batch_of(x), psi, refinement_noise_of(model, 2), 3)
    assert set(same) == set(psi)
    assert all(torch.equal(same[name], psi[name]) for name in psi)


def test_the_decoder_sees_exact_gates_whatever_the_relaxation(monkeypatch: pytest.MonkeyPatch) -> None:
    model, x = small_model("spike-slab"), rows()
    model.latent.relaxation = SharpSigmoid(5.0, "soft")
    seen, run = set(), model.run

    def watched(*arguments: object) -> object:
        result = run(*arguments)
        seen.update(result.draw.gate.unique().tolist())
        return result

    monkeypatch.setattr(model, "run", watched)
    refine(model, batch_of(x), psi_of(model, x), refinement_noise_of(model, 4), 5)
    assert seen == {0.0, 1.0}


def test_gates_move_too() -> None:
    model, x = small_model("spike-slab"), rows()
    psi = psi_of(model, x)
    moved = refine(model, batch_of(x), psi, refinement_noise_of(model, 4), 30)
    assert not torch.equal(moved["logits"], psi["logits"])


@pytest.mark.parametrize("family", FAMILIES)
def test_refinement_works_inside_no_grad_and_repeats(family: str) -> None:
    model, x = small_model(family), rows()
    noise, psi = refinement_noise_of(model, 2), psi_of(model, x)
    with torch.no_grad():
        inside = refine(model, batch_of(x), psi, noise, 5)
    again = refine(model, batch_of(x), psi, noise, 5)
    assert all(torch.equal(inside[name], again[name]) for name in psi)


def test_a_conjugate_model_is_refined_to_its_true_posterior() -> None:
    toy = LinearGaussian()
    model = toy.model(GaussianLatent(3, 2), StandardPrior(2))
    corners = [{"slab": torch.tensor([[s, t]])} for s in (-1.0, 1.0) for t in (-1.0, 1.0)]  # mean 0, covariance I
    start = {"loc": torch.zeros(7, 2), "logvar": torch.zeros(7, 2)}
    found = refine(model, toy.batch, start, RefinementNoise(corners, bank_of(model, 200)), 300, learning_rate=0.1)
    mean, variance = toy.posterior()
    np.testing.assert_allclose(found["loc"].numpy(), mean, atol=0.01)
    np.testing.assert_allclose(found["logvar"].numpy(), np.broadcast_to(np.log(variance), (7, 2)), atol=0.02)
    bound = exact_bound(model, toy.batch, corners, found).numpy()
    np.testing.assert_allclose(bound, toy.log_normal(on=True), atol=1e-3)


def test_refinement_switches_on_a_unit_that_explains_the_row() -> None:
    toy = LinearGaussian(n_latent=1, variance=0.05)
    toy.x = toy.b + np.outer([-1.5, 0.0, 1.5], toy.W[:, 0])
    model = toy.model(SpikeSlabLatent(3, 1), SpikeSlabPrior(1, 0.3))
    start = {
        "logits": torch.full((3, 1), -0.2),
        "loc": torch.tensor([[-1.0], [0.1], [1.0]]),
        "logvar": torch.full((3, 1), -3.0),
    }
    found = refine(model, toy.batch, start, refinement_noise_of(model, JUDGES), 60, learning_rate=0.1)
    assert (found["logits"] > 0).flatten().tolist() == [True, False, True]


@pytest.mark.parametrize("judges", ["others", "themselves"])
def test_rows_that_are_right_already_stay_unless_draws_judge_their_own_ascent(judges: str) -> None:
    toy = LinearGaussian(n_columns=25, n_latent=20, n_rows=50)
    model = toy.model(GaussianLatent(3, 20), StandardPrior(20))
    mean, variance = (torch.tensor(value, dtype=torch.float32) for value in toy.posterior())
    right = {"loc": mean, "logvar": variance.log().expand_as(mean).clone()}
    noise = refinement_noise_of(model, 16)
    climbed = noise.ascent[:16]
    noise = RefinementNoise(climbed, noise.judges if judges == "others" else climbed)
    found = refine(model, toy.batch, right, noise, 100, learning_rate=0.05)
    moved = (found["loc"] != mean).any(dim=1).float().mean()
    assert moved == 0 if judges == "others" else moved > 0.9
