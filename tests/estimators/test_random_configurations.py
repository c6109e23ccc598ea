"""Two hundred configurations drawn at random: none crashes, none ends in a number that is not finite."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from fewhot.core.devices import PRECISIONS
from fewhot.core.registry import ESTIMATORS
from fewhot.estimators.local_parameters import INFERENCES
from fewhot.estimators.nfa import ANNEALINGS
from fewhot.inference.refined import KEPT, ORDERS, TEACHERS
from fewhot.latents.beta_spike_slab import FORMS
from fewhot.models.discrete import BY_SCORE
from fewhot.models.discrete import ESTIMATORS as WAYS
from fewhot.models.nfa import INPUTS
from fewhot.nn.mlp import ACTIVATIONS
from tests.estimators.cases import UNLABELLED

N_CONFIGURATIONS = 200
N_STEPS = 200

LIKELIHOODS = {
    "binary": ["auto", "bernoulli", "gaussian"],
    "grey": ["auto", "bernoulli", "gaussian", "laplace"],
    "counts": ["auto", "poisson", "negative-binomial", "multinomial"],
    "real": ["auto", "gaussian", "laplace"],
}


def draw_rows(rng: np.random.Generator, kind: str) -> Any:
    """Return rows of a kind, of random size and scale, perhaps with a constant column, counts perhaps sparse."""
    n_rows, n_columns = int(rng.integers(2, 300)), int(rng.integers(1, 60))
    grey = rng.beta(0.3, 0.6, (n_rows, n_columns))
    X = {
        "binary": np.round(grey),
        "grey": grey,
        "counts": rng.poisson(rng.gamma(0.3, 10 ** rng.uniform(-1, 2), (n_rows, n_columns))).astype(float),
        "real": rng.normal(rng.uniform(-10, 10), 10 ** rng.uniform(-3, 3), (n_rows, n_columns)),
    }[kind]
    if rng.random() < 0.3:
        X[:, 0] = X[0, 0]
    return sp.csr_array(X) if kind == "counts" and rng.random() < 0.5 else X.astype(rng.choice(["float32", "float64"]))


def draw_sparsity(rng: np.random.Generator, n_components: int) -> dict[str, Any]:
    """Return one of the ways to say how sparse."""
    way = rng.choice(["none", "alpha", "density", "l0"])
    if way == "none":
        return {}
    if way == "l0":
        return {"l0": float(rng.uniform(0.1, 1.0) * n_components)}
    return {str(way): float(10 ** rng.uniform(-3, -0.05))}


def draw_start(rng: np.random.Generator, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a gated model, some with a dense start."""
    return options if rng.random() < 0.5 else {**options, "dense_start": rng.uniform(0, 0.6)}


def draw_counts_options(rng: np.random.Generator, n_components: int) -> dict[str, Any]:
    """Return arguments that only NFA has."""
    options = {
        "n_layers": int(rng.integers(1, 4)),
        "inference": str(rng.choice(INFERENCES)),
        "inner_steps": int(rng.integers(1, 6)),
        "inner_keep": str(rng.choice(KEPT)),
        "features": str(rng.choice(list(INPUTS))),
        "activation": str(rng.choice(list(ACTIVATIONS))),
        "dropout": float(rng.uniform(0, 0.9)),
        "kl_annealing": str(rng.choice(["auto", "none", *ANNEALINGS])),
    }
    if rng.random() < 0.5:
        sparsity = draw_sparsity(rng, n_components)
        sparsity.pop("alpha", None)
        with_network = {"inference": str(rng.choice([name for name in INFERENCES if name != "svi"]))}
        options |= {**with_network, "latent": "spike-slab", **sparsity}
    if options["inference"] == "refined":
        options |= {"phase_order": str(rng.choice(ORDERS)), "encoder_by": str(rng.choice(TEACHERS))}
    return options


def draw_options(rng: np.random.Generator, name: str, n_components: int) -> dict[str, Any]:
    """Return arguments that only this estimator has."""
    if name == "VAE":
        return {"beta": float(10 ** rng.uniform(-1, 1.5)), "penalty": rng.choice([None, "l1", "l2"])}
    if name == "BetaTCVAE":
        return {"beta": float(10 ** rng.uniform(-1, 1.5))}
    if name == "NFA":
        return draw_counts_options(rng, n_components)
    if name == "HSVAE" and rng.random() < 0.3:
        return {"recipe": "prokhorov2021", "slab_sees_gamma": bool(rng.random() < 0.5)}
    if name == "HSVAE":
        form = {"slab_sees_gamma": True} if rng.random() < 0.3 else {"form": str(rng.choice(FORMS))}
        return draw_start(rng, {**form, **draw_sparsity(rng, n_components)})
    if name in ("SDLGM", "GumbelVAE"):
        return draw_choices(rng, name, n_components)
    if name != "VSC":
        return {}
    prior = str(rng.choice(["fixed", "joint", "pseudo-inputs"]))
    sparsity = draw_sparsity(rng, n_components)
    if prior == "joint":
        sparsity.pop("alpha", None)
    options = {"prior": prior, "decoder_sees_gates": bool(rng.random() < 0.3), **sparsity}
    return draw_start(rng, options) if rng.random() < 0.5 else {"pretrain_spikes": 0.3, **options}


def draw_choices(rng: np.random.Generator, name: str, n_components: int) -> dict[str, Any]:
    """Return options of models whose codes are choices."""
    ways = [way for way in WAYS if name == "SDLGM" or way != "separate-concrete"]
    options = {"estimator": str(rng.choice(ways)), "temperature": float(rng.choice([0.3, 1.0]))}
    if name == "GumbelVAE":
        options |= {"learn_prior": bool(rng.random() < 0.5)}
        return options | ({"n_classes": 2} if n_components % 2 == 0 else {"kind": "bernoulli"})
    sparsity = draw_sparsity(rng, n_components)
    if "alpha" not in sparsity and options["estimator"] not in BY_SCORE and rng.random() < 0.5:
        sparsity["prior"] = "joint"
    return options | sparsity | {"slots": str(rng.choice(["shared", "independent"])), "n_slots": max(2, n_components)}


def draw(seed: int) -> tuple[str, dict[str, Any], Any]:
    """Return an estimator's name, its arguments and rows for it."""
    rng = np.random.default_rng(seed)
    kind, name = str(rng.choice(list(LIKELIHOODS))), str(rng.choice(list(UNLABELLED)))
    kind = "counts" if name == "NFA" else kind
    n_components = int(rng.integers(1, 80))
    arguments = {
        "n_components": n_components,
        "hidden_layer_sizes": tuple(int(size) for size in rng.integers(1, 80, int(rng.integers(1, 3)))),
        "likelihood": str(rng.choice(LIKELIHOODS[kind])),
        "learning_rate": float(10 ** rng.uniform(-4, -1.5)),
        "batch_size": int(rng.integers(1, 200)),
        "precision": str(rng.choice(PRECISIONS)),
        "validation_fraction": float(rng.choice([0.0, 0.1, 0.3])),
        "max_steps": N_STEPS,
        "random_state": seed,
        **draw_options(rng, name, n_components),
    }
    return name, arguments, draw_rows(rng, kind)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(N_CONFIGURATIONS))
def test_a_random_configuration_ends_with_finite_numbers(seed: int) -> None:
    name, arguments, X = draw(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        estimator = ESTIMATORS[name](**arguments).fit(X)
        assert np.isfinite(estimator.score_samples(X)).all()
        assert np.isfinite(estimator.codes(X).bound).all()
        assert np.isfinite(estimator.sample(5, random_state=0)).all()
    assert all(np.isfinite(list(record["terms"].values())).all() for record in estimator.history_)
