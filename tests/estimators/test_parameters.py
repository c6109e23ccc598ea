"""Every constructor argument does what its line of the documentation says."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone
from torch import nn

from fewhot import HSVAE, MATVAE, VAE, VSC, FewhotError, load
from fewhot.core.errors import InvalidParameterError
from fewhot.likelihoods import GaussianLikelihood
from fewhot.objectives import MMD, Dial
from fewhot.training.trainer import Trainer
from tests.estimators.cases import BOTH, SMALL, assert_one_sentence, grey_rows, same_weights, small, weights

SHARED = {
    "n_components", "hidden_layer_sizes", "likelihood", "encoder", "max_steps", "max_epochs", "batch_size",
    "learning_rate", "validation_fraction", "n_iter_no_change", "warm_start", "refine_steps", "recipe", "device",
    "precision", "compile", "random_state", "verbose", "callbacks",
}  # fmt: skip
OWN = {
    VAE: {"beta", "penalty", "penalty_weight"},
    VSC: {"alpha", "density", "l0", "max_active", "prior", "sparse_output"},
}


@BOTH
def test_the_promised_arguments_exist_and_are_documented(cls: type) -> None:
    names = set(inspect.signature(cls).parameters)
    assert names >= SHARED | OWN[cls]
    for name in names:
        assert f"\n    {name} : " in cls.__doc__, f"{name} is not documented"


@pytest.mark.parametrize(
    ("cls", "change"),
    [
        (VAE, {"beta": 4.0}),
        (VAE, {"penalty": "l1", "penalty_weight": 1.0}),
        (VAE, {"penalty": "l2", "penalty_weight": 1.0}),
        (VSC, {"alpha": 0.3}),
        (VSC, {"density": 0.3}),
        (VSC, {"l0": 1}),
        (VSC, {"learning_rate": 1e-2}),
        (VSC, {"batch_size": 10}),
        (VSC, {"max_steps": 7}),
        (VSC, {"max_epochs": 2}),
        (VSC, {"likelihood": "gaussian"}),
        (VSC, {"observation": "stochastic-binarise"}),
        (VSC, {"observation": "unit-norm"}),
        (VSC, {"recipe": "iclr2019", "alpha": 0.3}),
        (VSC, {"prior": "pseudo-inputs"}),
        (VSC, {"pretrain_spikes": 0.3}),
        (VSC, {"dense_start": 0.3}),
        (VSC, {"decoder_sees_gates": True}),
        (HSVAE, {"dense_start": 0.3}),
        (VSC, {"random_state": 1}),
        (VSC, {"n_iter_no_change": 3, "validation_fraction": 0.3}),
        (VSC, {"encoder": nn.Linear(7, 8)}),
        (VSC, {"hidden_layer_sizes": (8, 8)}),
        (VSC, {"precision": "bf16"}),
    ],
    ids=str,
)
def test_the_argument_changes_the_fit(cls: type, change: dict[str, Any], rows: np.ndarray) -> None:
    torch.manual_seed(0)
    assert not same_weights(small(cls).fit(rows), small(cls, **change).fit(rows))


@pytest.mark.parametrize("change", [{"device": "auto"}, {"compile": False}, {"compile": "graph"}], ids=str)
def test_the_argument_changes_nothing_on_a_cpu(change: dict[str, Any], rows: np.ndarray) -> None:
    if torch.cuda.is_available():
        pytest.skip("with a CUDA device these arguments choose it")
    assert same_weights(small(VSC).fit(rows), small(VSC, **change).fit(rows))


def test_layer_sizes_are_mirrored_in_the_decoder(rows: np.ndarray) -> None:
    module = small(VSC, hidden_layer_sizes=(9, 5)).fit(rows).module_
    assert module.encoder.body.hidden_layer_sizes == [9, 5]
    assert module.decoder.hidden_layer_sizes == [5, 9]


@pytest.mark.parametrize(
    ("options", "weight"),
    [({}, 3.0), ({"recipe": "mathieu2019"}, 100.0), ({"recipe": "mathieu2019", "mmd_weight": 7.0}, 7.0)],
)
def test_the_weight_of_the_discrepancy_comes_from_the_recipe(options: dict, weight: float, rows: np.ndarray) -> None:
    terms = MATVAE(**SMALL, **options, encoder="mlp").fit(rows).module_.objective.terms
    assert [term.weight for term in terms if isinstance(term, MMD)] == [weight]


def test_open_choices_come_from_the_recipe() -> None:
    estimator = VSC(recipe="iclr2019")
    assert estimator._chosen("batch_size") == 100
    assert estimator._chosen("observation") == "unit-norm"
    assert VSC(recipe="iclr2019", batch_size=7)._chosen("batch_size") == 7
    assert VSC()._chosen("max_steps") == 20_000


def test_a_configured_likelihood_is_copied(rows: np.ndarray) -> None:
    part = GaussianLikelihood(7, floor=0.5)
    estimator = small(VSC, likelihood=part).fit(rows)
    assert estimator.module_.decoder.head.floor == 0.5
    assert estimator.module_.decoder.head is not part
    assert (part.loc == 0).all()


@pytest.mark.parametrize(("max_steps", "max_epochs", "taken"), [(None, 2, 6), (4, 2, 4), (9, 2, 6), (5, None, 5)])
def test_steps_and_epochs_whichever_ends_first(max_steps: int | None, max_epochs: int | None, taken: int) -> None:
    estimator = small(VAE, max_steps=max_steps, max_epochs=max_epochs).fit(grey_rows(50))  # three batches of 20
    assert estimator.n_iter_ == taken
    assert estimator.history_[-1]["step"] == taken


def test_a_batch_is_never_larger_than_the_data() -> None:
    assert np.isfinite(small(VSC, batch_size=10_000).fit(grey_rows(12)).score(grey_rows(12)))


@pytest.mark.parametrize("precision", ["bf16", "tf32", "float32"])
def test_reported_bounds_do_not_depend_on_the_training_precision(precision: str, rows: np.ndarray) -> None:
    before = torch.get_float32_matmul_precision()
    estimator = small(VSC, precision=precision).fit(rows)
    bounds = estimator.score_samples(rows)
    np.testing.assert_array_equal(estimator.set_params(precision="float32").score_samples(rows), bounds)
    assert bounds.dtype == np.float32
    assert all(value.dtype == np.float32 for value in weights(estimator).values() if value.dtype.kind == "f")
    assert torch.get_float32_matmul_precision() == before


# ------------------------------------------------------------------------------------------------- the dial


@pytest.mark.parametrize(
    ("n_components", "change", "asked"),
    [
        (100, {}, 5.0),
        (200, {}, 10.0),
        (20, {}, 4.0),  # at least four units
        (3, {}, 3.0),  # of those there are
        (50, {"density": 0.1}, 5.0),
        (50, {"density": 0.02}, 1.0),
        (50, {"l0": 2.5}, 2.5),
    ],
)
def test_the_dial_is_set_to_what_was_asked(n_components: int, change: dict[str, float], asked: float) -> None:
    estimator = VSC(n_components, max_steps=1, hidden_layer_sizes=(4,), device="cpu", **change)
    (dial,) = [term for term in estimator.fit(grey_rows(10)).module_.objective.terms if isinstance(term, Dial)]
    assert dial.l0 == pytest.approx(asked)


def test_alpha_fixes_the_prior_and_sets_no_dial(rows: np.ndarray) -> None:
    module = small(VSC, alpha=0.2).fit(rows).module_
    assert not any(isinstance(term, Dial) for term in module.objective.terms)
    np.testing.assert_allclose(module.prior.logits.sigmoid().numpy(), 0.2, rtol=1e-5)
    assert not any(name.startswith("prior") for name, _ in module.named_parameters())


@pytest.mark.parametrize(
    "given", [{"alpha": 0.1, "density": 0.1}, {"alpha": 0.1, "l0": 2}, {"density": 0.1, "l0": 2}], ids=str
)
def test_two_ways_to_ask_for_sparsity_are_refused(given: dict[str, float], rows: np.ndarray) -> None:
    with pytest.raises(FewhotError, match=" and ".join(given)) as error:
        small(VSC, **given).fit(rows)
    assert_one_sentence(error.value)


def test_a_published_recipe_has_no_dial(rows: np.ndarray) -> None:
    with pytest.raises(FewhotError, match="l0") as error:
        small(VSC, recipe="iclr2019", l0=2).fit(rows)
    assert_one_sentence(error.value)


@pytest.mark.parametrize("given", [np.array([4.0, 1.0]), np.array([4, 1]), [4, 1]], ids=repr)
def test_the_prior_of_gates_may_be_an_array(given: Any, rows: np.ndarray, tmp_path: Path) -> None:
    estimator = clone(HSVAE(**SMALL, gate_prior=given)).fit(rows)
    assert type(estimator.gate_prior) is type(given)
    assert same_weights(estimator, HSVAE(**SMALL, gate_prior=(4, 1)).fit(rows))
    estimator.save(tmp_path / "model")
    assert load(tmp_path / "model").gate_prior == (4, 1)


@pytest.mark.parametrize(
    "given", [np.array(4.0), np.array([4.0]), np.ones((1, 2)), np.ones((2, 2)), np.array([4.0, 0.0]), "ab"], ids=repr
)
def test_a_prior_of_gates_is_two_numbers(given: Any, rows: np.ndarray) -> None:
    with pytest.raises(InvalidParameterError, match=r"gate_prior is .*; it must be .*numbers? above 0") as error:
        HSVAE(**SMALL, gate_prior=given).fit(rows)
    assert_one_sentence(error.value)


def test_slabs_that_see_gamma_have_it_drawn(rows: np.ndarray) -> None:
    assert HSVAE(**SMALL, slab_sees_gamma=True).fit(rows).module_.latent.form == "hierarchical"
    with pytest.raises(FewhotError, match="form is 'collapsed'") as error:
        HSVAE(**SMALL, slab_sees_gamma=True, form="collapsed").fit(rows)
    assert_one_sentence(error.value)


def test_max_active_keeps_the_most_probable_units(vsc: VSC, rows: np.ndarray) -> None:
    free = vsc.codes(rows)
    assert (free.values != 0).sum(axis=1).max() > 1
    p_active = free.p_active.toarray()
    try:
        vsc.set_params(max_active=1)
        held = vsc.codes(rows)
        np.testing.assert_array_equal(vsc.transform(rows).toarray(), held.values.toarray())
    finally:
        vsc.set_params(max_active=None)
    for row, (few, many) in enumerate(zip(held.values.toarray(), free.values.toarray(), strict=True)):
        (kept,), (active,) = few.nonzero(), many.nonzero()
        assert len(kept) == min(1, len(active))
        assert (p_active[row, kept] == p_active[row, active].max(initial=0)).all()
        assert few[kept].tolist() == many[kept].tolist()


def test_a_generous_ceiling_changes_nothing(vsc: VSC, rows: np.ndarray) -> None:
    free = vsc.transform(rows).toarray()
    try:
        np.testing.assert_array_equal(vsc.set_params(max_active=100).transform(rows).toarray(), free)
    finally:
        vsc.set_params(max_active=None)


# -------------------------------------------------------------------------------------------- what the trainer is told


def test_settings_reach_the_trainer(rows: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Trainer] = []
    fit = Trainer.fit
    monkeypatch.setattr(Trainer, "fit", lambda self, *args: seen.append(self) or fit(self, *args))
    small(VAE, learning_rate=0.02, n_iter_no_change=4, precision="tf32", compile=False, random_state=9).fit(rows)
    settings = seen[0].settings
    assert (settings.learning_rate, settings.patience, settings.precision) == (0.02, 4, "tf32")
    assert (settings.compile, settings.seed, settings.batch_size) == (False, 9, 20)


def test_bounds_count_once_the_dial_has_settled(rows: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    fit = Trainer.fit
    monkeypatch.setattr(Trainer, "fit", lambda self, *args: seen.append(self.settings.settled_at) or fit(self, *args))
    small(VSC, warm_start=True, max_steps=50).fit(rows).fit(rows)
    assert seen == [40, 50]  # four fifths of the steps; a second fit counts from its own start
