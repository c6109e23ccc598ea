"""SDLGM: what its own arguments do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits

import fewhot as fh
from fewhot.core.errors import FewhotError
from fewhot.core.records import Knobs
from tests.estimators.cases import assert_one_sentence

X = (load_digits().data / 16).astype(np.float32)
SMALL: dict[str, Any] = {
    "n_components": 16,
    "l0": 3,
    "hidden_layer_sizes": (32,),
    "max_steps": 400,
    "learning_rate": 3e-3,
    "n_iter_no_change": None,
    "random_state": 0,
    "device": "cpu",
}


@pytest.mark.parametrize("slots", ["shared", "independent"])
def test_a_joint_prior_explains_rows_better(slots: str, tmp_path: Path) -> None:
    alone, joint = (fh.SDLGM(**SMALL, slots=slots, prior=prior).fit(X) for prior in ("fixed", "joint"))
    assert joint.score(X) > alone.score(X) + 0.2
    joint.save(tmp_path / "run")
    assert fh.load(tmp_path / "run", device="cpu").score(X[:50]) == joint.score(X[:50])
    drawn = joint.sample(20)
    assert drawn.shape == (20, X.shape[1])


@pytest.mark.parametrize(
    "arguments",
    [
        {"prior": "learned"},
        {"prior": "joint", "alpha": 0.3, "l0": None},
        {"prior": "joint", "estimator": "vimco"},
        {"learn_temperatures": True},
        {"learn_temperatures": True, "estimator": "score-function"},
        {"n_slots": 2},
        {"slots": "own"},
    ],
    ids=str,
)
def test_other_arguments_are_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(FewhotError) as caught:
        fh.SDLGM(**SMALL | arguments).fit(X[:20])
    assert_one_sentence(caught.value)


@pytest.mark.parametrize(("prior", "told"), [("fixed", {"slots"}), ("joint", {"choices"})])
def test_single_choices_are_drawn_only_where_the_prior_looks_at_them(prior: str, told: set[str]) -> None:
    module = fh.SDLGM(**SMALL | {"max_steps": 2}, prior=prior).fit(X).module_
    noise = module.latent.noise(len(X), torch.Generator().manual_seed(0))
    psi = module.latent.psi(torch.zeros(len(X), module.latent.n_in))
    draw = module.latent.draw(module.latent.posterior(psi, Knobs(gates="relaxed")), noise)
    assert set(draw.auxiliary) == told
    assert draw.z.requires_grad


def test_a_recipe_that_learns_temperatures_takes_other_estimators() -> None:
    fh.SDLGM(**SMALL | {"max_steps": 2, "l0": None}, recipe="xu", estimator="second-order").fit(X[:20])
