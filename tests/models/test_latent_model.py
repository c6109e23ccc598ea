"""The one module that all models share."""

from __future__ import annotations

import pytest
import torch

from fewhot.core.records import Batch, DataSpec, Dense
from fewhot.core.schedules import Constant, Linear
from fewhot.core.seeding import stream
from fewhot.data import as_dataset
from fewhot.features import StochasticBinarise
from fewhot.models import vae, vsc
from fewhot.models.gating import JOINT_UNITS
from tests.parts import FAMILIES, bank_of, batch_of, exact_pass, rows, small_model


@pytest.mark.parametrize("family", FAMILIES)
def test_the_bound_is_likelihood_minus_divergence(family: str) -> None:
    model, x = small_model(family), rows()
    (noise,) = bank_of(model, 1)
    result = exact_pass(model, x, noise)
    expected = result.px.log_prob(Dense(x)) - sum(model.divergence(result).values())
    torch.testing.assert_close(model.bound(result), expected)
    torch.testing.assert_close(model.terms(result, model.knobs(torch.tensor(0))).bound, expected)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_pass_depends_on_its_arguments_alone(family: str) -> None:
    model, x = small_model(family), rows()
    (noise,) = bank_of(model, 1)
    first = model.bound(exact_pass(model, x, noise))
    torch.manual_seed(99)
    before = torch.get_rng_state()
    assert torch.equal(model.bound(exact_pass(model, x, noise)), first)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("family", FAMILIES)
def test_two_copies_of_a_batch_have_the_loss_of_one(family: str) -> None:
    model, x = small_model(family), rows()
    (phase,) = model.inference.phases(model)
    knobs, noise = model.knobs(torch.tensor(0)), model.noise(len(x), stream(0))
    twice = {name: torch.cat([value, value]) for name, value in noise.items()}
    one = phase.loss(batch_of(x), knobs, noise, {}).loss
    two = phase.loss(batch_of(torch.cat([x, x])), knobs, twice, {}).loss
    torch.testing.assert_close(one, two)


def test_noise_of_the_observation_travels_with_the_latents() -> None:
    spec = DataSpec(n_columns=5, n_rows=6)
    model = vae(spec, n_latent=2, hidden_layer_sizes=(3,), observation="stochastic-binarise")
    noise = model.noise(4, stream(0))
    assert noise["observation"].shape == (4, 5)
    x = rows("grey", n_rows=4)
    seen = model.observe(batch_of(x), noise).x.x
    assert torch.equal(seen, StochasticBinarise()(Dense(x), noise["observation"]).x)
    assert "observation" not in vae(spec, n_latent=2, hidden_layer_sizes=(3,)).noise(4, stream(0))


def test_knobs_are_the_schedules_at_the_step_as_tensors() -> None:
    model = vsc(DataSpec(n_columns=5, n_rows=6), n_latent=2, hidden_layer_sizes=(3,), l0=1, n_steps=100)
    knobs = model.knobs(torch.tensor(50 * JOINT_UNITS.warm_up))
    assert knobs.gates == "relaxed"
    assert knobs.values["kl_weight"].item() == pytest.approx(0.5)
    assert isinstance(knobs.values["kl_weight"], torch.Tensor)


def test_a_model_settles_with_the_last_of_its_schedules_and_controllers() -> None:
    model = small_model("gaussian")
    assert model.settled_at == 0
    model.schedules = {"kl_weight": Linear(0.0, 1.0, 30), "learning_rate": Linear(1.0, 0.0, 900), "x": Constant(1.0)}
    assert model.settled_at == 30
    dialled = vsc(DataSpec(n_columns=5, n_rows=6), n_latent=4, hidden_layer_sizes=(3,), l0=2, n_steps=1000)
    assert dialled.settled_at == int(1000 * JOINT_UNITS.freeze)


def test_fitted_state_reaches_encoder_and_decoder() -> None:
    x = rows("real", n_rows=50)
    data = as_dataset(x.numpy())
    model = vae(data.spec, n_latent=2, hidden_layer_sizes=(3,))
    moments = data.moments(model.observation)
    model.fit_features(moments)
    torch.testing.assert_close(model.encoder.features.loc, moments.mean)
    torch.testing.assert_close(model.decoder.head.loc, moments.mean)
    with torch.no_grad():
        model.decoder.output.weight.zero_()
    torch.testing.assert_close(model.decoder.generate(torch.zeros(1, 2)).mean[0], moments.mean)


def test_the_posterior_of_rows_is_exact() -> None:
    model, x = small_model("spike-slab"), rows()
    q = model.posterior_of(Dense(x))
    assert set(q.draw().gate.unique().tolist()) <= {0.0, 1.0}
    torch.testing.assert_close(q.loc, model.psi(Batch(Dense(x)))["loc"])
