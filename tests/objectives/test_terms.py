"""Terms: the loss is weighted, the bound never is."""

from __future__ import annotations

import pytest
import torch

from fewhot.core.errors import InvalidParameterError
from fewhot.core.records import Knobs, Params, Pass, Terms
from fewhot.objectives import KL, ActivationNorm, Objective, Reconstruction
from fewhot.objectives.objective import Term
from tests.parts import FAMILIES, bank_of, exact_pass, rows, small_model

KNOBS = Knobs()


def terms_of(objective: torch.nn.Module, family: str = "gaussian", knobs: Knobs = KNOBS, x=None) -> Terms:
    model, x = small_model(family), rows() if x is None else x
    (noise,) = bank_of(model, 1)
    result = exact_pass(model, x, noise)
    return objective(result, model.divergence(result), knobs)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_loss_is_minus_the_mean_bound(family: str) -> None:
    terms = terms_of(Objective([Reconstruction(), KL()]), family)
    torch.testing.assert_close(terms.loss, -terms.bound.mean())


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("beta", [0.0, 0.3, 4.0])
def test_beta_weighs_the_loss_and_leaves_the_bound(family: str, beta: float) -> None:
    plain, weighted = (terms_of(Objective([Reconstruction(), KL(weight=w)]), family) for w in (1.0, beta))
    kl = sum(v.mean() for k, v in plain.per_example.items() if k.startswith("kl"))
    assert torch.equal(plain.bound, weighted.bound)
    torch.testing.assert_close(weighted.loss, -plain.per_example["reconstruction"].mean() + beta * kl)


def test_the_scheduled_weight_multiplies_beta() -> None:
    half = terms_of(KL(weight=4.0), knobs=Knobs({"kl_weight": torch.tensor(0.5)}))
    plain = terms_of(KL(weight=2.0))
    assert torch.equal(half.loss, plain.loss)
    assert torch.equal(half.bound, plain.bound)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_parts_of_the_bound_are_reported_by_name(family: str) -> None:
    terms = terms_of(Objective([Reconstruction(), KL()]), family)
    gated = {"kl_gate", "kl_slab"}
    names = {"gaussian": {"kl"}, "spike-slab": gated, "pseudo-inputs": gated | {"kl_choice"}}[family]
    assert set(terms.per_example) == {"reconstruction", *names}
    total = terms.per_example["reconstruction"] - sum(terms.per_example[name] for name in names)
    torch.testing.assert_close(total, terms.bound)


@pytest.mark.parametrize("order", ["l1", "l2"])
def test_penalties_are_the_norms_of_the_activations(order: str) -> None:
    model = small_model("gaussian")
    (noise,) = bank_of(model, 1)
    result = exact_pass(model, rows(), noise)
    loc, scale = result.psi["loc"], (0.5 * result.psi["logvar"]).exp()
    norm = (loc.abs() + scale if order == "l1" else loc**2 + scale**2).sum(1).mean()
    terms = ActivationNorm(order, 0.25)(result, {}, KNOBS)
    torch.testing.assert_close(terms.loss, 0.25 * norm)
    torch.testing.assert_close(terms.per_batch[f"penalty_{order}"], norm)
    assert terms.bound == 0


@pytest.mark.parametrize("order", ["l1", "l2"])
def test_penalties_shrink_deviations(order: str) -> None:
    model = small_model("gaussian")
    psi = {"loc": torch.zeros(3, 4), "logvar": torch.zeros(3, 4, requires_grad=True)}
    (noise,) = bank_of(model, 1)
    ActivationNorm(order)(exact_pass(model, rows(n_rows=3), noise, psi), {}, KNOBS).loss.backward()
    assert (psi["logvar"].grad > 0).all()


def test_a_penalty_of_weight_zero_is_no_penalty() -> None:
    beta = terms_of(Objective([Reconstruction(), KL(2.0)]))
    penalised = terms_of(Objective([Reconstruction(), KL(2.0), ActivationNorm("l1", weight=0.0)]))
    assert torch.equal(beta.loss, penalised.loss)
    assert torch.equal(beta.bound, penalised.bound)


def test_an_objective_is_the_sum_of_its_terms() -> None:
    terms = [Reconstruction(), KL(3.0), ActivationNorm("l2", 0.1)]
    whole, pieces = terms_of(Objective(terms)), [terms_of(term) for term in terms]
    torch.testing.assert_close(whole.loss, sum(piece.loss for piece in pieces))
    torch.testing.assert_close(whole.bound, sum(piece.bound for piece in pieces))


def test_every_controller_sees_the_signals_of_the_step() -> None:
    seen = []

    class Listener(Term):
        settled_at = 7

        def update(self, signals: dict, step: torch.Tensor) -> None:
            seen.append((signals["x"], int(step)))

    objective = Objective([Listener(), KL(), Listener()])
    objective.update({"x": 1}, torch.tensor(3))
    assert seen == [(1, 3), (1, 3)]
    assert objective.settled_at == 7
    assert objective.controlled
    assert not Objective([KL()]).controlled


def test_a_constraint_adds_its_loss_and_nothing_to_the_bound() -> None:
    class Held(Term):
        constraint = True

        def forward(self, result: Pass, divergence: Params, knobs: Knobs) -> Terms:
            return Terms(torch.zeros(()), torch.tensor(2.0), per_batch={"held": torch.tensor(2.0)})

    without, held = terms_of(Objective([Reconstruction(), KL()])), terms_of(Objective([Held(), Reconstruction(), KL()]))
    torch.testing.assert_close(held.loss, without.loss + 2)
    assert torch.equal(held.bound, without.bound)
    assert held.per_batch["held"] == 2
    assert terms_of(Objective([Held(), Held()])).loss == 4


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: ActivationNorm("l3"), "penalty is 'l3'"),
        (lambda: ActivationNorm("l1", -1.0), "penalty_weight is -1.0"),
        (lambda: KL(-0.5), "weight is -0.5"),
    ],
)
def test_wrong_arguments_are_named(make: object, sentence: str) -> None:
    with pytest.raises(InvalidParameterError, match=sentence):
        make()
