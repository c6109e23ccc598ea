"""The contract, on every registered model, with every likelihood, and on every inference procedure."""

from __future__ import annotations

import json

import pytest
import torch

from fewhot.core.parts import Configurable, Part
from fewhot.core.records import Batch, Rows
from fewhot.core.registry import INFERENCES, LIKELIHOODS, MODELS, OBSERVATIONS
from fewhot.core.seeding import stream
from fewhot.data import as_dataset
from fewhot.inference import exact_bound, importance_bound, refine
from fewhot.models import LatentModel
from tests.parts import KINDS_OF_DATA, N_LATENT, N_ROWS, bank_of, batch_of, both_kinds, refinement_noise_of, spec_of

from .examples import EVERY_LIKELIHOOD_WITH_DATA, build, build_model, every, identify, rows_for

every_model = pytest.mark.parametrize(("name", "options"), every(MODELS), ids=identify)
every_inference = pytest.mark.parametrize(("inference", "how"), every(INFERENCES), ids=identify)
every_data = pytest.mark.parametrize(("likelihood", "kind"), EVERY_LIKELIHOOD_WITH_DATA)


def fitted(name: str, options: dict, kind: str, **more: object) -> LatentModel:
    model = build_model(name, kind, **options, **more)
    model.fit_features(as_dataset(rows_for(options, kind).numpy()).moments(model.observation))
    return model


def training_loss(model: LatentModel, x: Rows, step: int = 10) -> torch.Tensor:
    (phase, *_) = model.inference.phases(model)
    return phase.loss(Batch(x), model.knobs(torch.tensor(step)), phase.noise(x.n_rows, stream(0)), {}).loss


def test_every_likelihood_accepts_some_data_and_all_data_have_a_likelihood() -> None:
    assert {name for name, _ in EVERY_LIKELIHOOD_WITH_DATA} == set(LIKELIHOODS)
    assert {kind for _, kind in EVERY_LIKELIHOOD_WITH_DATA} == set(KINDS_OF_DATA)


@every_model
@every_data
@pytest.mark.parametrize("sparse", [False, True], ids=["for-dense", "for-sparse"])
def test_dense_and_ragged_batches_have_the_same_bound(
    name: str, options: dict, likelihood: str, kind: str, sparse: bool
) -> None:
    model, x = fitted(name, options, kind, likelihood=likelihood, sparse=sparse), rows_for(options, kind)
    bank = bank_of(model, 2)
    for bound in (exact_bound, importance_bound):
        dense, ragged = (bound(model, Batch(given), bank) for given in both_kinds(x))
        assert dense.isfinite().all()
        torch.testing.assert_close(dense, ragged, rtol=1e-4, atol=1e-3)


@every_model
@every_data
def test_dense_and_ragged_batches_have_the_same_training_gradients(
    name: str, options: dict, likelihood: str, kind: str
) -> None:
    model, x = fitted(name, options, kind, likelihood=likelihood), rows_for(options, kind)
    parameters = [p for p in model.parameters() if p.requires_grad]
    dense, ragged = (
        torch.autograd.grad(training_loss(model, given), parameters, allow_unused=True) for given in both_kinds(x)
    )
    for one, other in zip(dense, ragged, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            assert one.isfinite().all()
            torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-3)


@every_model
@pytest.mark.parametrize("observation", OBSERVATIONS)
def test_dense_and_ragged_batches_agree_under_every_observation(name: str, options: dict, observation: str) -> None:
    model, x = fitted(name, options, "grey", observation=observation), rows_for(options, "grey")
    bank = bank_of(model, 3)
    dense, ragged = (exact_bound(model, Batch(given), bank) for given in both_kinds(x))
    torch.testing.assert_close(dense, ragged, rtol=1e-4, atol=1e-4)


@every_model
@every_data
def test_a_rebuilt_model_has_the_same_bound_and_loss(name: str, options: dict, likelihood: str, kind: str) -> None:
    model = fitted(name, options, kind, likelihood=likelihood)
    config = model.to_config()
    again = Part.from_config(json.loads(json.dumps(config)))
    again.load_state_dict(model.state_dict())
    assert again.to_config() == config
    assert again.settled_at == model.settled_at
    x = rows_for(options, kind)
    assert torch.equal(
        exact_bound(again, batch_of(x), bank_of(again, 2)), exact_bound(model, batch_of(x), bank_of(model, 2))
    )
    assert torch.equal(training_loss(again, batch_of(x).x), training_loss(model, batch_of(x).x))


@every_model
def test_a_bound_depends_neither_on_neighbours_nor_on_their_order(name: str, options: dict) -> None:
    model, x = fitted(name, options, "binary"), rows_for(options)
    bank = bank_of(model, 3)
    whole = exact_bound(model, batch_of(x), bank)
    alone = torch.cat([exact_bound(model, batch_of(row[None]), bank) for row in x.flip(0)])
    torch.testing.assert_close(alone.flip(0), whole, rtol=1e-5, atol=1e-4)


@every_model
@pytest.mark.parametrize("ragged", [False, True], ids=["dense", "ragged"])
def test_the_training_loss_is_one_compiled_graph(name: str, options: dict, ragged: bool) -> None:
    torch.compiler.reset()
    model, x = fitted(name, options, "binary"), both_kinds(rows_for(options))[ragged]
    (phase, *_) = model.inference.phases(model)
    noise = phase.noise(N_ROWS, stream(0))

    def loss(step: torch.Tensor) -> torch.Tensor:
        return phase.loss(Batch(x), model.knobs(step), noise, {}).loss

    compiled = torch.compile(loss, fullgraph=True, backend="eager")
    for step in (0, 17):
        torch.testing.assert_close(compiled(torch.tensor(step)), loss(torch.tensor(step)))


@every_model
def test_refinement_never_makes_a_row_worse(name: str, options: dict) -> None:
    model, x = fitted(name, options, "binary"), rows_for(options)
    noise = refinement_noise_of(model, 2)
    with torch.no_grad():
        psi = model.psi(batch_of(x))
    better = refine(model, batch_of(x), psi, noise, 5, learning_rate=0.5)
    before, after = (exact_bound(model, batch_of(x), noise.judges, p) for p in (psi, better))
    assert (after >= before - 1e-5 * before.abs()).all()


@every_model
def test_codes_drawn_from_the_prior_become_rows(name: str, options: dict) -> None:
    model = fitted(name, options, "binary")
    z = model.prior.sample(4, model.posterior_of, stream(0))
    assert z.shape == (4, N_LATENT)
    assert model.decoder.generate(z).mean.shape == (4, rows_for(options).shape[1])


@every_model
def test_a_model_fitted_to_the_start_explains_the_mean(name: str, options: dict) -> None:
    x = rows_for(options, "binary", n_rows=200)
    model = MODELS[name](spec_of(x), n_latent=N_LATENT, hidden_layer_sizes=(7,), **options)
    model.fit_features(as_dataset(x.numpy()).moments())
    mean = model.decoder.generate(torch.zeros(1, N_LATENT)).mean[0]
    if model.decoder.starts_at_mean:
        torch.testing.assert_close(mean, x.mean(0), rtol=0, atol=0.15)
    else:  # as published
        assert name in ("sdlgm", "gumbel-vae")
        assert options["faithful"]


@every_model
@every_inference
def test_phases_cover_every_trainable_parameter_with_finite_losses(
    name: str, options: dict, inference: str, how: dict
) -> None:
    model = fitted(name, options, "binary")
    model.inference = build(INFERENCES, inference, **how)
    phases = model.inference.phases(model, model.inference.n_stages - 1)
    covered = {id(p) for phase in phases for p in phase.parameters}
    amortised = {id(p) for part in (model.encoder, model.latent) for p in part.parameters()}
    every_one = {id(p) for p in model.parameters() if p.requires_grad}
    assert covered == (every_one - amortised if inference == "svi" else every_one)
    memo: dict = {}
    knobs = model.knobs(torch.tensor(30))
    for phase in phases:
        loss = phase.loss(batch_of(rows_for(options)), knobs, phase.noise(N_ROWS, stream(0)), memo).loss
        gradients = torch.autograd.grad(loss, list(phase.parameters), allow_unused=True)
        assert loss.isfinite()
        assert any(g is not None and g.abs().sum() > 0 for g in gradients)
        assert all(g is None or g.isfinite().all() for g in gradients)


@every_inference
def test_a_rebuilt_inference_procedure_is_the_same(inference: str, how: dict) -> None:
    procedure = build(INFERENCES, inference, **how)
    rebuilt = Configurable.from_config(json.loads(json.dumps(procedure.to_config())))
    assert type(rebuilt) is type(procedure)
    assert vars(rebuilt) == vars(procedure)


@every_inference
def test_the_stages_of_a_procedure_have_the_same_phases(inference: str, how: dict) -> None:
    model = fitted("vae", {}, "binary")
    procedure = build(INFERENCES, inference, **how)
    first, *others = (procedure.phases(model, stage) for stage in range(procedure.n_stages))
    for other in others:
        for one, two in zip(first, other, strict=True):
            assert (one.name, one.optimiser, one.controls) == (two.name, two.optimiser, two.controls)
            assert [id(p) for p in one.parameters] == [id(p) for p in two.parameters]
    assert 0 <= procedure.stage(0) < procedure.n_stages
