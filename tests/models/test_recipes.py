"""The models' own choices, and choosing parts from a description of the data."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from fewhot.core.errors import InvalidInputError, InvalidParameterError, UnknownNameError
from fewhot.core.records import DataSpec, Dense
from fewhot.distributions import JointSpikeSlab
from fewhot.features import Identity, Log1p, Standardise
from fewhot.latents import BinaryConcrete, SharpSigmoid
from fewhot.likelihoods import BernoulliLikelihood, GaussianLikelihood
from fewhot.models import encoder_for, hsvae, likelihood_for, mat_vae, observation_for, vae, vsc
from fewhot.models.defaults import features_for
from fewhot.models.gating import INDEPENDENT_UNITS, JOINT_UNITS, GatingPolicy
from fewhot.models.vsc import LONGEST_PRETRAINING
from fewhot.nn import RowsMLP, UserBody
from fewhot.objectives import Dial
from tests.parts import batch_of, rows, spec_of

SPEC = DataSpec(n_columns=5, n_rows=6)


@pytest.mark.parametrize(
    ("kind", "likelihood", "features"),
    [
        ("binary", "BernoulliLikelihood", Identity),
        ("grey", "BernoulliLikelihood", Identity),
        ("counts", "NegativeBinomialLikelihood", Log1p),
        ("real", "GaussianLikelihood", Standardise),
    ],
)
def test_parts_follow_the_values(kind: str, likelihood: str, features: type) -> None:
    spec = spec_of(rows(kind))
    assert type(likelihood_for(spec)).__name__ == likelihood
    assert type(features_for(spec)) is features


@pytest.mark.parametrize("sparse", [False, True])
def test_only_dense_rows_are_centred(sparse: bool) -> None:
    assert features_for(spec_of(rows("real"), sparse=sparse)).centre is not sparse


def test_a_likelihood_of_the_users_is_copied_and_checked() -> None:
    mine = BernoulliLikelihood(5)
    assert likelihood_for(SPEC, mine) is not mine
    with pytest.raises(
        InvalidParameterError, match=r"made for 4 columns and the data have 5; build it with n_columns=5"
    ):
        likelihood_for(SPEC, GaussianLikelihood(4))
    with pytest.raises(InvalidInputError):
        likelihood_for(spec_of(rows("real")), "bernoulli")
    with pytest.raises(UnknownNameError, match="Did you mean 'gaussian'"):
        likelihood_for(SPEC, "gausian")
    with pytest.raises(InvalidParameterError, match="likelihood is 5"):
        likelihood_for(SPEC, 5)


def test_an_observation_is_checked_against_the_data() -> None:
    with pytest.raises(InvalidInputError):
        observation_for(spec_of(rows("real")), "stochastic-binarise")


def test_encoders_by_name_by_default_and_by_module() -> None:
    assert isinstance(encoder_for(SPEC, (4, 3)).body, RowsMLP)
    assert encoder_for(SPEC, (4, 3), "rows-mlp", "tanh").body.activation == "tanh"
    mine = nn.Sequential(nn.Linear(5, 8), nn.ReLU())
    encoder = encoder_for(SPEC, (4,), mine)
    assert isinstance(encoder.body, UserBody)
    assert encoder.n_out == 8
    assert encoder.body.module is not mine
    x = rows()
    assert torch.equal(encoder(Dense(x)), mine(x))


def test_a_part_of_the_users_reads_rows() -> None:
    mine = RowsMLP(5, [4])
    encoder = encoder_for(SPEC, (9,), mine)
    assert type(encoder.body) is RowsMLP
    assert encoder.n_out == 4


def test_asking_a_module_for_its_width_leaves_its_mode() -> None:
    mine = nn.Sequential(nn.Linear(5, 8), nn.BatchNorm1d(8))
    body = encoder_for(SPEC, (4,), mine).body
    assert body.module.training
    assert body.module[1].num_batches_tracked == 0


@pytest.mark.parametrize(
    ("encoder", "sentence"),
    [
        (nn.Linear(4, 2), "could not read rows of 5 columns"),
        (nn.Flatten(0), r"maps 2 rows to \(10,\)"),
        (5, "encoder is 5"),
    ],
)
def test_encoders_that_cannot_work_are_refused(encoder: object, sentence: str) -> None:
    with pytest.raises(InvalidParameterError, match=sentence):
        encoder_for(SPEC, (4,), encoder)


def test_the_decoder_mirrors_the_encoder() -> None:
    model = vae(SPEC, n_latent=2, hidden_layer_sizes=(7, 3))
    assert model.encoder.body.hidden_layer_sizes == [7, 3]
    assert model.decoder.hidden_layer_sizes == [3, 7]


def test_alpha_fixes_the_prior_and_l0_learns_it_under_a_dial() -> None:
    fixed = vsc(SPEC, n_latent=8, hidden_layer_sizes=(3,), alpha=0.2)
    asked = vsc(SPEC, n_latent=8, hidden_layer_sizes=(3,), l0=2.0, n_steps=100)
    assert not fixed.prior.learned
    assert not any(isinstance(term, Dial) for term in fixed.objective.terms)
    assert asked.prior.learned
    assert asked.prior.rate == 0.25
    (dial,) = [term for term in asked.objective.terms if isinstance(term, Dial)]
    assert (dial.l0, dial.freeze_at) == (2.0, int(100 * INDEPENDENT_UNITS.freeze))


@pytest.mark.parametrize("options", [{"l0": 3.0}, {"alpha": 1.0}, {"n_latent": 1}])
def test_models_whose_every_unit_is_wanted_have_finite_bounds(options: dict) -> None:
    model = vsc(SPEC, **{"n_latent": 3, "hidden_layer_sizes": (3,), "n_steps": 10, **options})
    batch = batch_of(rows())
    knobs = model.knobs(torch.tensor(5))
    terms = model.terms(model.run(model.psi(batch), batch, knobs, model.noise(6, torch.Generator())), knobs)
    terms.loss.backward()
    assert terms.bound.isfinite().all()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())


def test_the_published_training_and_ours() -> None:
    ours = vsc(SPEC, n_latent=8, hidden_layer_sizes=(3,), alpha=0.1, n_steps=1000)
    theirs = vsc(SPEC, n_latent=8, hidden_layer_sizes=(3,), alpha=0.1, n_steps=1000, faithful=True)
    assert isinstance(ours.latent.relaxation, BinaryConcrete)
    assert ours.latent.gate_head == "logit"
    assert ours.schedules["kl_weight"](torch.tensor(0)) == 0
    assert ours.schedules["kl_weight"](torch.tensor(1000)) == 1
    assert isinstance(theirs.latent.relaxation, SharpSigmoid)
    assert (theirs.latent.relaxation.estimator, theirs.latent.gate_head) == ("soft", "relu")
    assert "kl_weight" not in theirs.schedules
    sharpness = theirs.schedules["sharpness"]
    assert [sharpness(torch.tensor(t)).item() for t in (0, 500, 1000)] == [50.0, 125.0, 200.0]


def test_the_published_training_of_a_mat_vae_and_ours() -> None:
    ours = mat_vae(SPEC, n_latent=8, hidden_layer_sizes=(3,), n_steps=1000)
    theirs = mat_vae(SPEC, n_latent=8, hidden_layer_sizes=(3,), n_steps=1000, faithful=True)
    assert (ours.latent.start_scale, theirs.latent.start_scale) == (0.1, 1.0)
    assert [ours.schedules["kl_weight"](torch.tensor(t)).item() for t in (0, 100, 200)] == [0.0, 0.5, 1.0]
    assert ours.settled_at == 200
    assert not theirs.schedules


@pytest.mark.parametrize(("prior", "start"), [({"spike_weight": 0.0}, 1.0), ({"spike_std": 0.9}, 1.0)])
def test_posteriors_begin_no_wider_than_the_slab(prior: dict, start: float) -> None:
    assert mat_vae(SPEC, n_latent=2, hidden_layer_sizes=(3,), **prior).latent.start_scale == start


@pytest.mark.parametrize("n_latent", [8, 64, 512])
@pytest.mark.parametrize("share", [0.01, 0.05, 0.2, 0.3, 0.31, 0.6, 1.0])
@pytest.mark.parametrize("policy", [INDEPENDENT_UNITS, JOINT_UNITS])
def test_the_cap_leaves_room_for_the_mean_and_is_a_share(n_latent: int, share: float, policy: GatingPolicy) -> None:
    (dial,) = policy.dial(share * n_latent, n_latent, 1000)
    assert share <= dial.cap <= 1
    assert dial.cap < 0.5 or share > 0.3


def test_a_largest_share_that_is_given_overrules_the_policy() -> None:
    for model in (vsc, hsvae):
        built = model(SPEC, n_latent=20, hidden_layer_sizes=(3,), l0=2.0, max_share=0.7, n_steps=100)
        (dial,) = (term for term in built.objective.terms if isinstance(term, Dial))
        assert dial.cap == 0.7


@pytest.mark.parametrize(("model", "options"), [(vsc, {"joint": True}), (vsc, {}), (hsvae, {})])
def test_a_dense_start_begins_open_and_closes_under_the_dial(model: Any, options: dict[str, Any]) -> None:
    built = model(SPEC, n_latent=20, hidden_layer_sizes=(3,), l0=2.0, dense_start=0.5, n_steps=1000, **options)
    weights = [built.knobs(torch.tensor(step)).values for step in (0, 10, 500, 550, 600)]
    assert [w["kl_weight"].item() for w in weights] == [0, 1, 1, 1, 1]
    assert [w["dial_weight"].item() for w in weights] == [0, 0, 0, 0.5, 1]
    (dial,) = (term for term in built.objective.terms if isinstance(term, Dial))
    assert (dial.begin, dial.freeze_at) == (500, 800)
    x = torch.rand(50, SPEC.n_columns)
    q = built.posterior_of(Dense(x))
    p = built.prior(built.posterior_of)
    p = p.given(torch.zeros(20)) if isinstance(p, JointSpikeSlab) else p
    torch.testing.assert_close(p.probs, torch.full((20,), 0.95))
    assert q.probs.mean() > 0.9
    usual = model(SPEC, n_latent=20, hidden_layer_sizes=(3,), l0=2.0, n_steps=1000, **options)
    assert "dial_weight" not in usual.schedules
    assert 0.4 < usual.posterior_of(Dense(x)).probs.mean() < 0.6


@pytest.mark.parametrize(
    ("model", "options"), [(vsc, {"alpha": 0.1}), (vsc, {"alpha": 0.1, "n_pseudo_inputs": 3}), (hsvae, {})]
)
def test_a_dense_start_begins_open_and_closes_under_a_fixed_prior(model: Any, options: dict[str, Any]) -> None:
    built = model(SPEC, n_latent=20, hidden_layer_sizes=(3,), dense_start=0.5, n_steps=1000, **options)
    weights = [built.knobs(torch.tensor(step)).values["kl_weight"].item() for step in (0, 500, 600, 700, 1000)]
    assert weights == [0, 0, 0.5, 1, 1]
    assert "dial_weight" not in built.schedules
    assert built.posterior_of(Dense(torch.rand(50, SPEC.n_columns))).probs.mean() > 0.9


def test_pseudo_inputs_replace_the_fixed_law_and_alpha_is_their_aggregate_rate() -> None:
    fixed = vsc(SPEC, n_latent=8, hidden_layer_sizes=(3,), n_pseudo_inputs=4, alpha=0.2)
    asked = vsc(SPEC, n_latent=8, hidden_layer_sizes=(3,), n_pseudo_inputs=4, l0=2.0, n_steps=100)
    assert (fixed.prior.n_pseudo_inputs, fixed.objective.terms[1].alpha) == (4, 0.2)
    assert (asked.prior.n_pseudo_inputs, asked.objective.terms[1].alpha) == (4, None)
    assert [type(term).__name__ for term in asked.objective.terms] == ["Reconstruction", "PseudoInputKL", "Dial"]


@pytest.mark.parametrize(
    ("kind", "low", "high"), [("binary", 0.0, 1.0), ("grey", 0.0, 1.0), ("counts", 0.0, None), ("real", None, None)]
)
def test_pseudo_inputs_stay_where_the_data_are(kind: str, low: float | None, high: float | None) -> None:
    prior = vsc(spec_of(rows(kind)), n_latent=2, hidden_layer_sizes=(3,), n_pseudo_inputs=50, alpha=0.2).prior
    assert (prior.low, prior.high) == (low, high)
    x = prior.rows().x
    assert (x >= (-torch.inf if low is None else low)).all()
    assert (x <= (torch.inf if high is None else high)).all()


def test_the_schedules_of_the_later_paper_in_proportion() -> None:
    """15,000 steps of gates alone, 5,000 in which the slabs come in, then a tenth of the rate, of 70,000."""
    model = vsc(
        SPEC, n_latent=8, hidden_layer_sizes=(3,), alpha=0.1, n_pseudo_inputs=4, pretrain_spikes=15 / 70,
        n_steps=70_000, faithful=True,
    )  # fmt: skip
    share, rate = (
        [model.schedules[name](torch.tensor(step)).item() for step in (0, 15_000, 17_500, 20_000, 70_000)]
        for name in ("slab_share", "learning_rate")
    )
    assert share == pytest.approx([0.0, 0.0, 0.5, 1.0, 1.0], abs=1e-3)
    assert rate == pytest.approx([1.0, 1.0, 1.0, 0.1, 0.1])
    assert share[-1] == 1.0
    assert model.schedules["sharpness"](torch.tensor(70_000)) == 200


@pytest.mark.parametrize("n_steps", [1, 7, 1000])
def test_slabs_are_in_before_the_dial_stands_still(n_steps: int) -> None:
    model = vsc(SPEC, n_latent=8, hidden_layer_sizes=(3,), l0=2.0, pretrain_spikes=LONGEST_PRETRAINING, n_steps=n_steps)
    assert model.schedules["slab_share"].settled_at <= max(model.objective.settled_at, 1) + 1
