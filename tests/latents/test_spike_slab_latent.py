"""The spike-and-slab family; what holds for every family is in conformance."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from fewhot.core.errors import InvalidParameterError
from fewhot.core.records import Draw, Knobs
from fewhot.latents import BinaryConcrete, SharpSigmoid, SpikeSlabLatent
from fewhot.priors import SpikeSlabPrior

EXACT = Knobs()


def psi(rate: float, loc: float = 0.0, scale: float = 1.0, shape: tuple[int, int] = (1, 1)) -> dict[str, Tensor]:
    logit = math.log(rate / (1 - rate))
    values = {"logits": logit, "loc": loc, "logvar": 2 * math.log(scale)}
    return {name: torch.full(shape, value) for name, value in values.items()}


def divergence(rate: float, prior_rate: float) -> dict[str, Tensor]:
    latent = SpikeSlabLatent(3, 1)
    q = latent.posterior(psi(rate, 1.2, 0.6), EXACT)
    return latent.divergence(q, SpikeSlabPrior(1, prior_rate)(None), Draw(q.loc))


def test_the_divergence_has_the_reference_value() -> None:
    parts = divergence(0.3, 0.1)
    assert sum(parts.values()).item() == pytest.approx(0.426911274, abs=1e-6)


def test_with_a_shared_rate_only_the_slab_costs() -> None:
    parts = divergence(0.3, 0.3)
    assert parts["kl_gate"].item() == pytest.approx(0.0, abs=1e-7)
    assert parts["kl_slab"].item() == pytest.approx(0.273247687, abs=1e-6)


@pytest.mark.parametrize("rate", [0.02, 0.5, 0.9])
def test_a_fresh_network_is_on_at_the_rate_asked_for(rate: float) -> None:
    latent = SpikeSlabLatent(64, 200, initial_rate=rate)
    logits = latent.psi(torch.randn(100, 64))["logits"]
    assert logits.mean().item() == pytest.approx(math.log(rate / (1 - rate)), abs=0.1)


@pytest.mark.parametrize("v", [-50.0, -14.5, -3.0, -0.5, -1e-3])
def test_the_relu_head_is_the_papers_rate(v: float) -> None:
    latent = SpikeSlabLatent(3, 1, gate_head="relu")
    with torch.no_grad():
        latent.heads.weight.zero_()
        latent.heads.bias.copy_(torch.tensor([v, 0.0, 0.0]))
    rate = latent.psi(torch.zeros(1, 3))["logits"].sigmoid().item()
    assert rate == pytest.approx(math.exp(max(v, -14.0)), rel=1e-4)


def test_the_relu_head_stays_finite_where_it_is_dead() -> None:
    latent = SpikeSlabLatent(3, 1, gate_head="relu")
    with torch.no_grad():
        latent.heads.bias[0] = 100.0
    logits = latent.psi(torch.zeros(2, 3))["logits"]
    logits.sum().backward()
    assert logits.isfinite().all()
    assert (logits > 13).all()
    assert latent.heads.bias.grad[0] == 0


@pytest.mark.parametrize("logit", [-1e6, 1e6])
def test_extreme_logits_give_finite_divergences_and_live_gradients(logit: float) -> None:
    latent = SpikeSlabLatent(3, 1)
    given = {**psi(0.5), "logits": torch.full((1, 1), logit, requires_grad=True)}
    q = latent.posterior(given, EXACT)
    kl = sum(latent.divergence(q, SpikeSlabPrior(1, 0.1)(None), Draw(q.loc)).values())
    kl.sum().backward()
    assert kl.isfinite().all()
    assert given["logits"].grad.isfinite().all()


def test_exact_gates_switch_units_off_completely() -> None:
    latent = SpikeSlabLatent(3, 5)
    q = latent.posterior(psi(0.5, 1.0, 0.1, (200, 5)), EXACT)
    draw = latent.draw(q, latent.noise(200, torch.Generator().manual_seed(0)))
    assert torch.equal(draw.z == 0, draw.gate == 0)
    assert 0.4 < draw.gate.mean() < 0.6


@pytest.mark.parametrize("relaxation", [BinaryConcrete(0.5), SharpSigmoid(50.0)], ids=["concrete", "sharp"])
def test_refinement_gates_are_exact_in_value_and_soft_in_gradient(relaxation: object) -> None:
    latent = SpikeSlabLatent(3, 50, relaxation)
    given = psi(0.5, 1.0, 0.1, (4, 50))
    given["logits"].requires_grad_()
    noise = latent.noise(4, torch.Generator().manual_seed(0))
    exact = latent.draw(latent.posterior(given, EXACT), noise)
    through = latent.draw(latent.posterior(given, Knobs(gates="straight-through")), noise)
    assert torch.equal(exact.z, through.z)
    through.z.sum().backward()
    assert given["logits"].grad.abs().sum() > 0


@pytest.mark.parametrize(
    ("relaxation", "knob", "soft", "hard"),
    [(BinaryConcrete(0.5, "soft"), "temperature", 5.0, 0.01), (SharpSigmoid(50.0), "sharpness", 1.0, 1e4)],
)
def test_a_scheduled_knob_overrides_the_constant(relaxation: object, knob: str, soft: float, hard: float) -> None:
    latent = SpikeSlabLatent(3, 400, relaxation)
    noise = latent.noise(1, torch.Generator().manual_seed(0))

    def undecided(knobs: Knobs) -> float:
        gate = latent.draw(latent.posterior(psi(0.5, shape=(1, 400)), knobs), noise).gate
        return float(((gate > 0.05) & (gate < 0.95)).float().mean())

    shares = [
        undecided(Knobs(values, gates="relaxed"))
        for values in ({knob: torch.tensor(soft)}, {}, {knob: torch.tensor(hard)})
    ]
    assert shares[0] > shares[1] > shares[2]


def test_the_map_code_keeps_units_more_likely_on_than_off() -> None:
    given = {"logits": torch.tensor([[-1e-3, 1e-3, 30.0]]), "loc": torch.ones(1, 3), "logvar": torch.zeros(1, 3)}
    summary = SpikeSlabLatent(3, 3).summary(given)
    assert summary.active.tolist() == [[False, True, True]]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [({"gate_head": "tanh"}, "gate_head is 'tanh'"), ({"initial_rate": 0.0}, "initial_rate is 0.0")],
)
def test_wrong_arguments_are_named(options: dict, sentence: str) -> None:
    with pytest.raises(InvalidParameterError, match=sentence):
        SpikeSlabLatent(3, 2, **options)
