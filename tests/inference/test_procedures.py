"""Inference procedures: whose parameters move, by which gradient, from which local parameters."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import Tensor

from fewhot.core.errors import InvalidParameterError
from fewhot.core.records import Batch, Dense, Knobs
from fewhot.core.seeding import stream
from fewhot.inference import SVI, Amortised, Refined, exact_bound
from fewhot.inference.refined import INNER, LOCAL
from fewhot.latents import GaussianLatent
from fewhot.models import LatentModel
from fewhot.priors import StandardPrior
from fewhot.training import Settings
from fewhot.training.step import TrainStep
from tests.parts import FAMILIES, LinearGaussian, batch_of, rows, small_model

TRAINING = Knobs(gates="relaxed")
every_family = pytest.mark.parametrize("family", FAMILIES)


def gradients(loss: Tensor, parameters: Any) -> list[Tensor]:
    found = torch.autograd.grad(loss, list(parameters), allow_unused=True, retain_graph=True)
    return [torch.zeros_like(p) if g is None else g for p, g in zip(parameters, found, strict=True)]


def psi_star(procedure: Refined | SVI, model: LatentModel, x: Tensor, noise: dict[str, Tensor]) -> dict[str, Tensor]:
    batch = batch_of(x)
    psi = {name: value.detach() for name, value in model.psi(batch).items()}
    return procedure._optimised(model, batch, psi, TRAINING, noise)


def noise_for(procedure: Refined | SVI, model: LatentModel, n_rows: int) -> dict[str, Tensor]:
    return procedure._noise(model, n_rows, stream(1, "procedures"))


@every_family
@pytest.mark.parametrize("procedure", [Refined(n_steps=0), Refined(begin=5)], ids=["no steps", "before it begins"])
def test_without_inner_steps_the_model_moves_as_in_amortised_inference(family: str, procedure: Refined) -> None:
    model, x = small_model(family), rows()
    noise = model.noise(len(x), stream(0))
    (joint,) = Amortised().phases(model)
    of_model, of_encoder = procedure.phases(model, 0 if procedure.begin else 1)
    expected = joint.loss(batch_of(x), TRAINING, noise, {}).loss
    for phase in (of_model, of_encoder):
        given = phase.loss(batch_of(x), TRAINING, noise, {}).loss
        torch.testing.assert_close(given, expected)
        if phase is of_encoder or family != "pseudo-inputs":  # whose prior is made by the encoder
            torch.testing.assert_close(gradients(given, phase.parameters), gradients(expected, phase.parameters))


@every_family
@pytest.mark.parametrize(
    "procedure", [SVI(n_steps=3), Refined(n_steps=3), Refined(n_steps=3, keep="best")], ids=["svi", "refined", "best"]
)
def test_inner_steps_touch_nothing_but_local_parameters(family: str, procedure: Any) -> None:
    model, x = small_model(family), rows()
    before = copy.deepcopy(model.state_dict())
    psi_star(procedure, model, x, noise_for(procedure, model, len(x)))
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert all(p.grad is None for p in model.parameters())


@every_family
@pytest.mark.parametrize("keep", ["last", "best"])
def test_rows_do_not_see_each_other(family: str, keep: str) -> None:
    model, x = small_model(family), rows("binary", n_rows=5)
    procedure = Refined(n_steps=7, learning_rate=0.1, keep=keep)
    noise = noise_for(procedure, model, len(x))
    together = psi_star(procedure, model, x, noise)
    for row in range(len(x)):
        own = {n: v[:, [row]] if n.startswith(INNER) else v[[row]] for n, v in noise.items()}
        alone = psi_star(procedure, model, x[[row]], own)
        for name, value in alone.items():
            torch.testing.assert_close(value, together[name][[row]], rtol=1e-4, atol=1e-5)


@every_family
def test_optimised_parameters_have_the_better_bound(family: str) -> None:
    model, x = small_model(family), rows("binary", n_rows=40)
    procedure = Refined(n_steps=60, learning_rate=0.05)
    found = psi_star(procedure, model, x, noise_for(procedure, model, len(x)))
    bank = [model.noise(len(x), stream(7, i)) for i in range(20)]
    before, after = exact_bound(model, batch_of(x), bank), exact_bound(model, batch_of(x), bank, found)
    assert after.mean() > before.mean() + 0.1


@every_family
def test_the_best_of_the_candidates_is_no_worse_than_the_start(family: str) -> None:
    model, x = small_model(family), rows("binary", n_rows=10)
    procedure = Refined(n_steps=8, learning_rate=5.0, keep="best")  # steps that lead astray
    noise = noise_for(procedure, model, len(x))
    outer = [{name: value for name, value in noise.items() if not name.startswith(INNER)}]
    found = psi_star(procedure, model, x, noise)
    before, after = exact_bound(model, batch_of(x), outer), exact_bound(model, batch_of(x), outer, found)
    assert (after >= before - 1e-5).all()
    last = psi_star(Refined(n_steps=8, learning_rate=5.0), model, x, noise)
    assert exact_bound(model, batch_of(x), outer, last).mean() < after.mean()


def test_the_ascent_finds_the_known_posterior() -> None:
    """Codes of a linear Gaussian model: mean and variance of the posterior are known."""
    world = LinearGaussian()
    model = world.model(GaussianLatent(3, 2), StandardPrior(2))
    x = torch.tensor(world.x, dtype=torch.float32)
    procedure = Refined(n_steps=3000, learning_rate=0.01)
    found = psi_star(procedure, model, x, noise_for(procedure, model, len(x)))
    precision = 1 + (world.W**2).sum(0) / world.variance
    mean = (world.x - world.b) @ world.W / world.variance / precision
    torch.testing.assert_close(found["loc"], torch.tensor(mean, dtype=torch.float32), rtol=0, atol=0.1)
    torch.testing.assert_close(
        found["logvar"].exp(), torch.tensor(1 / precision, dtype=torch.float32).expand(len(x), 2), rtol=0.25, atol=0
    )


def step_of(model: LatentModel, **options: Any) -> TrainStep:
    model.inference = Refined(n_steps=2, **options)
    return TrainStep(model, Settings(max_steps=10, learning_rate=0.05), stream(3, "noise"))


@pytest.mark.parametrize("order", ["model-first", "encoder-first"])
def test_the_second_phase_sees_what_the_first_has_done(order: str) -> None:
    model, x = small_model("gaussian"), rows()
    step = step_of(model, order=order)
    seen: dict[str, list[Tensor]] = {}
    for phase, loss in zip(step.stages[1], list(step.losses[1]), strict=True):
        others = next(p for p in step.stages[1] if p.name != phase.name).parameters

        def looked(*given: Any, name: str = phase.name, others: Any = others, loss: Any = loss) -> Any:
            seen[name] = [p.detach().clone() for p in others]
            return loss(*given)

        step.losses[1][step.stages[1].index(phase)] = looked
    before = {p.name: [v.detach().clone() for v in p.parameters] for p in step.stages[1]}
    step(Batch(Dense(x)), 1)
    first, second = order.split("-")[0], {"model-first": "encoder", "encoder-first": "model"}[order]
    assert all(map(torch.equal, seen[first], before[second]))
    assert not all(map(torch.equal, seen[second], before[first]))


def test_the_encoders_order_uses_the_local_parameters_of_the_old_model() -> None:
    model, x = small_model("gaussian"), rows()
    procedure = Refined(n_steps=4, order="encoder-first")
    of_encoder, of_model = procedure.phases(model, 1)
    noise, memo = of_encoder.noise(len(x), stream(0)), {}
    of_encoder.loss(batch_of(x), TRAINING, noise, memo)
    expected = psi_star(procedure, model, x, noise)
    kept = {name.removeprefix(LOCAL): value for name, value in memo.items() if name.startswith(LOCAL)}
    assert all(torch.equal(kept[name], value) for name, value in expected.items())
    with torch.no_grad():
        model.latent.heads.weight.add_(1.0)
    local = of_model.loss(batch_of(x), TRAINING, of_model.noise(len(x), stream(1)), memo)
    assert torch.isfinite(local.loss)
    assert {n: v for n, v in memo.items() if n.startswith(LOCAL)}.keys() == {LOCAL + n for n in expected}


@pytest.mark.parametrize("family", ["gaussian", "spike-slab"])
def test_an_encoder_taught_by_divergence_rests_where_it_is_right(family: str) -> None:
    model, x = small_model(family), rows()
    for n_steps, rests in ((0, True), (20, False)):
        procedure = Refined(n_steps=n_steps, learning_rate=0.1, encoder_by="kl")
        of_model, of_encoder = procedure.phases(model, 1)
        memo: dict[str, Tensor] = {}
        of_model.loss(batch_of(x), TRAINING, of_model.noise(len(x), stream(0)), memo)
        terms = of_encoder.loss(batch_of(x), TRAINING, of_encoder.noise(len(x), stream(1)), memo)
        assert (terms.loss.abs() < 1e-6) == rests
        assert (sum(g.abs().sum() for g in gradients(terms.loss, of_encoder.parameters)) < 1e-4) == rests


def test_stages_follow_the_steps() -> None:
    early, late, whole = Refined(end=10), Refined(begin=10), Refined()
    assert [early.stage(s) for s in (0, 9, 10, 99)] == [1, 1, 0, 0]
    assert [late.stage(s) for s in (0, 9, 10, 99)] == [0, 0, 1, 1]
    assert {whole.stage(s) for s in range(20)} == {1}
    assert {Amortised().stage(s) for s in range(20)} == {0}


def test_noise_of_inner_steps_is_drawn_only_where_there_are_any() -> None:
    model = small_model("gaussian")
    idle, busy = (Refined(n_steps=3).phases(model, stage) for stage in (0, 1))
    assert not any(name.startswith(INNER) for name in idle[0].noise(4, stream(0)))
    assert busy[0].noise(4, stream(0))[INNER + "slab"].shape == (3, 4, 4)
    assert not any(name.startswith(INNER) for name in busy[1].noise(4, stream(0)))


@pytest.mark.parametrize(
    "change",
    [
        {"n_steps": -1}, {"n_steps": 1.5}, {"learning_rate": 0}, {"beta1": 1.0}, {"beta1": -0.1}, {"keep": "first"},
        {"order": "both"}, {"encoder_by": "eye"}, {"begin": -1}, {"begin": 5, "end": 5}, {"weight_decay": -1},
    ],
    ids=str,
)  # fmt: skip
def test_bad_arguments_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameterError):
        Refined(**change)
