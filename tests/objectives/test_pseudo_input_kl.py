"""What a code costs under a mixture of pseudo-inputs: three bounds, and the pull on the aggregate rate."""

from __future__ import annotations

import math

import pytest
import torch

from fewhot.core.errors import InvalidParameterError
from fewhot.core.records import Knobs, Pass, Terms
from fewhot.core.seeding import seeded
from fewhot.distributions import component_kl
from fewhot.features import Identity, Standardise
from fewhot.models import LatentModel
from fewhot.objectives import PseudoInputKL
from fewhot.objectives.pseudo_inputs import BOUNDS
from tests.parts import N_COLUMNS, N_PSEUDO_INPUTS, bank_of, batch_of, rows, shake, small_model

RELAXED = Knobs(gates="relaxed")
every_bound = pytest.mark.parametrize("bound", BOUNDS)


def term(**options: object) -> PseudoInputKL:
    with seeded(0, "term"):
        made = PseudoInputKL(Identity(), N_COLUMNS, N_PSEUDO_INPUTS, **options)
    shake(made, size=0.3)
    return made


def passed(knobs: Knobs = RELAXED) -> tuple[LatentModel, Pass]:
    model, batch = small_model("pseudo-inputs"), batch_of(rows())
    return model, model.run(model.psi(batch), batch, knobs, bank_of(model, 1)[0])


def terms_of(made: PseudoInputKL, knobs: Knobs = RELAXED) -> Terms:
    model, result = passed(knobs)
    return made(result, model.divergence(result), knobs)


@every_bound
@pytest.mark.parametrize("gates", ["relaxed", "exact"])
def test_the_bound_is_always_that_of_the_mixture(bound: str, gates: str) -> None:
    model, result = passed(Knobs(gates=gates))
    divergence = model.divergence(result)
    terms = term(bound=bound, alpha=0.2)(result, divergence, Knobs(gates=gates))
    torch.testing.assert_close(terms.bound, -sum(divergence.values()))


@every_bound
def test_the_loss_is_the_bound_that_is_trained_times_its_weight(bound: str) -> None:
    terms = terms_of(term(bound=bound), Knobs({"kl_weight": torch.tensor(0.3)}, gates="relaxed"))
    cost = -terms.bound if bound == "mixture" else terms.per_example[f"kl_{bound}"]
    torch.testing.assert_close(terms.loss, 0.3 * cost.mean())


@pytest.mark.parametrize("selection", ["softmax", "relu", "sigmoid"])
@pytest.mark.parametrize("gates", ["relaxed", "exact"])
def test_the_mixture_is_tightest_and_the_paper_below_the_corrected(selection: str, gates: str) -> None:
    terms = terms_of(term(bound="paper", selection=selection), Knobs(gates=gates))
    paper, corrected = terms.per_example["kl_paper"], terms.per_example["kl_corrected"]
    assert (-terms.bound <= corrected + 1e-5).all()
    assert (paper <= corrected + 1e-6).all()
    assert (corrected - paper <= math.log(N_PSEUDO_INPUTS) + 1e-5).all()


def test_an_exact_pass_takes_the_one_component_that_is_selected() -> None:
    made, (_, result) = term(bound="corrected"), passed(Knobs())
    terms = terms_of(made, Knobs())
    kl = sum(component_kl(result.q, result.p))
    chosen = made.scores(result.batch.x).argmax(-1)
    torch.testing.assert_close(terms.per_example["kl_paper"], kl.gather(1, chosen[:, None])[:, 0])
    cost = terms.per_example["kl_corrected"] - terms.per_example["kl_paper"]
    torch.testing.assert_close(cost, torch.full_like(cost, math.log(N_PSEUDO_INPUTS)))


def test_without_a_network_the_weights_are_the_best_ones() -> None:
    made = term(bound="mixture")
    terms = terms_of(made)
    assert list(made.parameters()) == []
    torch.testing.assert_close(terms.per_example["kl_corrected"], -terms.bound)


@pytest.mark.parametrize("bound", ["corrected", "paper"])
@pytest.mark.parametrize("selection", ["softmax", "relu", "sigmoid"])
def test_gradients_reach_the_network_the_pseudo_inputs_and_the_encoder(bound: str, selection: str) -> None:
    made, (model, result) = term(bound=bound, selection=selection, alpha=0.1), passed()
    loss = made(result, model.divergence(result), RELAXED).loss
    wanted = [model.prior.inputs, made.scores.weight, made.scores.bias, *model.encoder.parameters()]
    for gradient in torch.autograd.grad(loss, wanted):
        assert gradient.isfinite().all()
        assert gradient.abs().sum() > 0


def test_the_aggregate_rate_is_paid_for_by_what_each_row_selects() -> None:
    made, (_, result) = term(bound="paper", alpha=0.05), passed(Knobs())
    cost = terms_of(made, Knobs()).per_example["prior_sparsity"]
    rates = result.p.components.probs  # (U, K)
    for row, u in enumerate(made.scores(result.batch.x).argmax(-1)):
        mean = rates[u].mean()
        slow = mean * (mean / 0.05).log() + (1 - mean) * ((1 - mean) / 0.95).log()
        torch.testing.assert_close(cost[row], rates.shape[1] * slow, rtol=1e-4, atol=1e-4)


@every_bound
def test_the_aggregate_rate_moves_the_loss_and_no_bound(bound: str) -> None:
    free, held = terms_of(term(bound=bound)), terms_of(term(bound=bound, alpha=0.05))
    assert torch.equal(free.bound, held.bound)
    torch.testing.assert_close(held.loss, free.loss + held.per_example["prior_sparsity"].mean())
    assert "prior_sparsity" not in free.per_example


def test_the_network_reads_fitted_features() -> None:
    made = PseudoInputKL(Standardise(N_COLUMNS), N_COLUMNS, N_PSEUDO_INPUTS, bound="paper")
    data_loc = torch.arange(float(N_COLUMNS))
    made.fit(type("Moments", (), {"mean": data_loc, "std": torch.full((N_COLUMNS,), 2.0), "row_total": 0.0})())
    torch.testing.assert_close(made.features.loc, data_loc)


@pytest.mark.parametrize("options", [{"bound": "elbo"}, {"selection": "argmax"}, {"alpha": 0.0}])
def test_unknown_choices_are_refused(options: dict) -> None:
    with pytest.raises(InvalidParameterError, match=r"^(bound|selection|alpha) is .*; it must be"):
        term(**options)
