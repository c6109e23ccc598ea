"""What every registered estimator does, whichever model is inside."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import fewhot as fh
from fewhot.core.registry import ESTIMATORS
from fewhot.metrics import summarise
from tests.estimators.cases import OWN, SMALL, UNLABELLED, count_rows, dense, grey_rows, same_weights

FORMS: dict[str, tuple[str, dict[str, Any]]] = {
    "hierarchical HSVAE": ("HSVAE", {"form": "hierarchical"}),
    "published HSVAE": ("HSVAE", {"recipe": "prokhorov2021"}),
    "HSVAE whose slabs see gamma": ("HSVAE", {"slab_sees_gamma": True}),
    "published HSVAE whose slabs see gamma": ("HSVAE", {"recipe": "prokhorov2021", "slab_sees_gamma": True}),
    "joint VSC": ("VSC", {"prior": "joint", "l0": 2}),
    "VSC of pseudo-inputs": ("VSC", {"prior": "pseudo-inputs", "n_pseudo_inputs": 3, "alpha": 0.3}),
}
COUNTS = {
    "refined NFA": ("NFA", {"inference": "refined", "inner_steps": 5}),
    "NFA with dropout": ("NFA", {"dropout": 0.3, "features": "norm"}),
    "NFA without an encoder": ("NFA", {"inference": "svi", "inner_steps": 5}),
    "sparse NFA": ("NFA", {"latent": "spike-slab", "l0": 2, "idf": "smooth"}),
    "NFA that switches": (
        "NFA",
        {"inference": "refined", "refined_epochs": (2, 4), "inner_steps": 3, "kl_annealing": "linear"},
    ),
    "NVDM": ("NFA", {"recipe": "miao2016"}),
}
DISCRETE = {
    "published SDLGM": ("SDLGM", {"recipe": "xu", "hidden_layer_sizes": (8,), "n_slots": 3}),
    "SDLGM of shared slots": ("SDLGM", {"slots": "shared", "l0": 2, "share_trunk": False, "prior": "joint"}),
    "Bernoulli VAE": ("GumbelVAE", {"kind": "bernoulli", "learn_prior": True}),
    **{
        f"SDLGM by {how}": ("SDLGM", {"estimator": how, "l0": 2})
        for how in ("score-function", "leave-one-out", "vimco", "rao-blackwellised")
    },
}
FORMS |= COUNTS | DISCRETE
every_estimator = pytest.mark.parametrize("name", UNLABELLED)
every_form = pytest.mark.parametrize("name", [*UNLABELLED, *FORMS])


def rows_for(name: str) -> np.ndarray:
    """Return rows in [0, 1], or counts where they are asked for."""
    return count_rows() if name == "NFA" or name in COUNTS else grey_rows()


def fitted(name: str, rows: np.ndarray, **changes: Any) -> Any:
    kind, options = FORMS.get(name, (name, OWN.get(name, {})))
    return ESTIMATORS[kind](**(SMALL | options | changes)).fit(rows)


@every_estimator
def test_it_stands_at_the_top_level(name: str) -> None:
    assert getattr(fh, name) is ESTIMATORS[name]
    assert name in fh.__all__


@every_estimator
def test_the_shared_arguments_have_their_shared_defaults(name: str) -> None:
    shared = {n: p.default for n, p in inspect.signature(fh.VAE).parameters.items()}
    own = {n: p.default for n, p in inspect.signature(ESTIMATORS[name]).parameters.items()}
    assert shared.keys() - own.keys() <= {"beta", "penalty", "penalty_weight"}
    assert {n: own[n] for n in shared.keys() & own.keys() - {"beta"}} == {
        n: shared[n] for n in shared.keys() & own.keys() - {"beta"}
    }


@every_form
def test_codes_bounds_samples_and_a_round_trip(name: str, tmp_path: Path) -> None:
    rows = rows_for(name)
    estimator = fitted(name, rows)
    codes = dense(estimator.transform(rows))
    assert codes.shape == (len(rows), SMALL["n_components"])
    assert np.isfinite(codes).all()
    bound, tighter = estimator.score_samples(rows), estimator.log_likelihood(rows, n_draws=200)
    assert np.isfinite(bound).all()
    assert tighter.mean() > bound.mean()
    assert estimator.sample(3, random_state=0).shape == (3, rows.shape[1])
    assert estimator.sample_like(rows[:3], random_state=0).shape == (3, rows.shape[1])
    estimator.save(tmp_path / "run")
    again = fh.load(tmp_path / "run")
    np.testing.assert_array_equal(dense(again.transform(rows)), codes)
    np.testing.assert_array_equal(again.score_samples(rows), bound)


@every_form
def test_one_seed_in_everything_reproducible(name: str) -> None:
    rows = rows_for(name)
    one = fitted(name, rows)
    assert same_weights(one, clone(one).fit(rows))
    assert not same_weights(one, clone(one).set_params(random_state=1).fit(rows))


@every_form
def test_refinement_gains_and_says_how_much(name: str) -> None:
    rows = rows_for(name)
    codes = fitted(name, rows).set_params(refine_steps=60).codes(rows)
    assert codes.gap.mean() > 0


@every_form
def test_every_number_can_be_taken(name: str) -> None:
    rows = rows_for(name)
    estimator = fitted(name, rows)
    numbers = {number.name: number.value for number in summarise(estimator, rows).numbers}
    assert np.isfinite([numbers["bound"], numbers["information"]]).all()
