"""VSC with a prior of pseudo-inputs, through the estimator."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from sklearn.base import clone

import fewhot as fh
from fewhot import VSC
from fewhot.core.errors import InvalidParameterError
from fewhot.priors import PseudoInputPrior
from tests.estimators.cases import count_rows, dense, grey_rows, same_weights, small
from tests.training.test_planted import MEAN_ON, bars, matched

PSEUDO: dict[str, Any] = {"prior": "pseudo-inputs", "n_pseudo_inputs": 4}
every_bound = pytest.mark.parametrize("trained", ["mixture", "corrected", "paper"])


def pseudo(**changes: Any) -> VSC:
    return small(VSC, **(PSEUDO | changes))


@pytest.fixture(scope="module")
def fitted() -> VSC:
    return pseudo(trained_bound="paper", alpha=0.2).fit(grey_rows())


def test_the_prior_has_as_many_rows_as_were_asked_for() -> None:
    prior = pseudo().fit(grey_rows()).module_.prior
    assert isinstance(prior, PseudoInputPrior)
    assert prior.rows().x.shape == (4, 7)
    assert not isinstance(small(VSC).fit(grey_rows()).module_.prior, PseudoInputPrior)


@every_bound
@pytest.mark.parametrize("sparsity", [{"l0": 3}, {"alpha": 0.2}], ids=str)
def test_training_moves_pseudo_inputs_and_selection(trained: str, sparsity: dict[str, Any]) -> None:
    before, after = (pseudo(trained_bound=trained, max_steps=n, **sparsity).fit(grey_rows()).module_ for n in (1, 30))
    assert not torch.equal(before.prior.inputs, after.prior.inputs)
    network = {name: value for name, value in after.objective.named_parameters() if "scores" in name}
    assert bool(network) == (trained != "mixture")
    for name, value in network.items():
        assert not torch.equal(value, before.objective.get_parameter(name))


@every_bound
def test_scores_are_those_of_the_mixture_with_the_others_beside_them(trained: str) -> None:
    rows = grey_rows()
    estimator = pseudo(trained_bound=trained).fit(rows)
    bounds = estimator.bounds(rows)
    assert list(bounds) == ["mixture", "corrected", "paper"]
    np.testing.assert_allclose(bounds["mixture"], estimator.score_samples(rows), rtol=1e-5)
    assert (bounds["mixture"] >= bounds["corrected"] - 1e-4).all()
    assert (bounds["paper"] >= bounds["corrected"] - 1e-4).all()
    assert (bounds["paper"] - bounds["corrected"] <= math.log(4) + 1e-4).all()
    assert estimator.log_likelihood(rows, n_draws=200).mean() > bounds["mixture"].mean()


def test_bounds_of_refined_codes_are_refined(fitted: VSC) -> None:
    rows = grey_rows()
    estimator = pseudo(trained_bound="paper", alpha=0.2).fit(rows).set_params(refine_steps=30)
    assert estimator.bounds(rows)["mixture"].mean() > fitted.bounds(rows)["mixture"].mean()
    np.testing.assert_allclose(estimator.bounds(rows)["mixture"], estimator.score_samples(rows), rtol=1e-5)


@pytest.mark.parametrize(
    ("options", "prior"),
    [({"l0": 3}, "joint"), ({"l0": 3, "prior": "fixed"}, "fixed"), ({"alpha": 0.2}, "fixed")],
    ids=str,
)
def test_a_prior_without_pseudo_inputs_has_one_bound_and_is_named(options: dict[str, Any], prior: str) -> None:
    estimator = small(VSC, **options).fit(grey_rows()).set_params(prior="auto", l0=None, alpha=None)
    with pytest.raises(InvalidParameterError, match=rf"with prior='{prior}', which has one bound; call score_samples"):
        estimator.bounds(grey_rows())


def test_the_history_names_every_bound(fitted: VSC) -> None:
    named = {"kl_gate", "kl_slab", "kl_choice", "kl_corrected", "kl_paper", "prior_sparsity"}
    assert named <= set(fitted.history_[-1]["terms"])


def test_rows_can_be_drawn_from_it_and_like_others(fitted: VSC) -> None:
    rows = grey_rows()
    assert fitted.sample(5, random_state=0).shape == (5, 7)
    seen: list[torch.Tensor] = []
    estimator = pseudo(l0=3).fit(rows)
    generate = estimator.module_.decoder.generate
    estimator.module_.decoder.generate = lambda z: seen.append(z) or generate(z)
    estimator.sample_like(rows, random_state=0)
    np.testing.assert_array_equal(seen[0].numpy() != 0, dense(estimator.transform(rows)) != 0)


@every_bound
def test_a_saved_one_is_the_same_when_loaded(trained: str, tmp_path: Path) -> None:
    rows = grey_rows()
    estimator = pseudo(trained_bound=trained, selection="relu", prior_sharpness=None, pretrain_spikes=0.2).fit(rows)
    estimator.save(tmp_path / "run")
    again = fh.load(tmp_path / "run")
    assert again.get_params() == estimator.get_params()
    for name, value in estimator.bounds(rows).items():
        np.testing.assert_array_equal(again.bounds(rows)[name], value)
    np.testing.assert_array_equal(again.sample(3, random_state=0), estimator.sample(3, random_state=0))


def test_a_clone_fits_alike() -> None:
    whole = pseudo(trained_bound="corrected", pretrain_spikes=0.3).fit(grey_rows())
    assert same_weights(whole, clone(whole).fit(grey_rows()))


@pytest.mark.parametrize("trained", ["mixture", "paper"])
def test_sparse_counts_are_fitted_as_dense_ones(trained: str) -> None:
    counts = count_rows()
    one, other = (pseudo(trained_bound=trained).fit(given) for given in (counts, sp.csr_array(counts)))
    assert (one.module_.prior.rows().x >= 0).all()
    np.testing.assert_allclose(one.score_samples(counts), other.score_samples(sp.csr_array(counts)), rtol=0.02)


def test_the_later_recipe_has_its_prior_its_rate_and_its_schedules() -> None:
    estimator = small(VSC, recipe="uai2019", alpha=None, hidden_layer_sizes=None)
    estimator.set_params(l0=None, max_steps=2, hidden_layer_sizes=(8,))
    module = estimator.fit(grey_rows()).module_
    term = module.objective.terms[1]
    assert (module.prior.n_pseudo_inputs, term.bound, term.selection, term.alpha) == (20, "paper", "softmax", 0.01)
    assert {"slab_share", "sharpness", "learning_rate"} == set(module.schedules)
    assert estimator.likelihood_ == "gaussian"
    recipe = VSC.recipes["uai2019"]
    assert (recipe.hidden_layer_sizes, recipe.batch_size, recipe.max_steps) == ((3000,), 500, 70_000)


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"prior": "fixed"}, lambda m: not isinstance(m.prior, PseudoInputPrior)),
        ({"n_pseudo_inputs": 3}, lambda m: m.prior.n_pseudo_inputs == 3),
        ({"trained_bound": "mixture"}, lambda m: m.objective.terms[1].bound == "mixture"),
        ({"pretrain_spikes": 0.0}, lambda m: "slab_share" not in m.schedules),
        ({"alpha": 0.3}, lambda m: m.objective.terms[1].alpha == 0.3),
        ({"l0": 2}, lambda m: len(m.objective.terms) == 3 and m.objective.terms[1].alpha is None),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_what_is_stated_overrides_the_recipe(change: dict[str, Any], found: Any) -> None:
    estimator = VSC(6, recipe="uai2019", hidden_layer_sizes=(8,), max_steps=2, random_state=0, device="cpu", **change)
    assert found(estimator.fit(grey_rows()).module_)


def test_the_first_recipe_refuses_pseudo_inputs() -> None:
    with pytest.raises(InvalidParameterError, match=r"has a fixed prior, and .* was given; give recipe='uai2019'\.$"):
        pseudo(recipe="iclr2019", alpha=0.1).fit(grey_rows())


@pytest.fixture(scope="module")
def on_bars() -> VSC:
    X, _ = bars(2000, seed=0)
    return VSC(
        16,
        l0=MEAN_ON,
        prior="pseudo-inputs",
        max_steps=1500,
        batch_size=50,
        hidden_layer_sizes=(128,),
        learning_rate=3e-3,
        n_iter_no_change=None,
        random_state=0,
        device="cpu",
    ).fit(X)


def test_a_fit_gains_nats_and_finds_planted_patterns(on_bars: VSC) -> None:
    """Independent pixels explain these rows with about -28 nats; one unit that is always on would find no bar."""
    X, present = bars(1000, seed=1)
    share = np.clip(X.mean(0), 1e-3, 1 - 1e-3)
    independent = (X * np.log(share) + (1 - X) * np.log(1 - share)).sum(1).mean()
    assert on_bars.score(X) > independent + 10
    assert (matched(on_bars.transform(X), present) > 0.7).sum() >= 6
    assert on_bars.transform(X).count_nonzero() / len(X) == pytest.approx(MEAN_ON, rel=0.25)


def test_the_last_turn_of_the_dial_leaves_the_prior_alone(on_bars: VSC) -> None:
    module, shift = on_bars.module_, on_bars.gate_shift_
    told = module.posterior_of(module.prior.rows()).logits
    assert shift != 0
    law = module.prior(module.posterior_of)
    torch.testing.assert_close(law.components.logits, 10 * (torch.sigmoid(told - shift) - 0.5))


def test_pseudo_inputs_stay_in_the_unit_interval_and_apart(on_bars: VSC) -> None:
    x = on_bars.module_.prior.rows().x.detach()
    assert ((x >= 0) & (x <= 1)).all()
    assert torch.pdist(x).min() > 0.1
