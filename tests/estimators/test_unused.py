"""A fit whose codes say nothing warns, whatever the estimator."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.exceptions import ConvergenceWarning

import fewhot as fh
from fewhot.data import as_dataset
from fewhot.estimators.unused import warn_if_unused

from .cases import one_of_four

NOISE = (np.random.default_rng(0).random((150, 12)) < 0.5).astype(np.float32)  # nothing to say of its rows
FITS: dict[str, Any] = {"hidden_layer_sizes": (8,), "max_steps": 600, "random_state": 0, "device": "cpu"}
COLLAPSES = {
    "VAE": lambda: fh.VAE(3, **FITS),
    "BetaTCVAE": lambda: fh.BetaTCVAE(3, beta=50.0, **FITS),
    "NFA": lambda: fh.NFA(3, kl_weight=50.0, **FITS),
}


@pytest.mark.parametrize("name", COLLAPSES)
def test_a_collapse_is_told_once(name: str) -> None:
    with pytest.warns(ConvergenceWarning, match="None of the 3 units") as caught:
        COLLAPSES[name]().fit(NOISE)
    assert len([w for w in caught if "None of the" in str(w.message)]) == 1
    assert caught[0].filename == __file__


def test_gates_that_are_all_shut_are_told() -> None:
    model = fh.VSC(3, alpha=0.3, **FITS | {"max_steps": 3}).fit(NOISE)
    with torch.no_grad():
        for parameter in model.module_.latent.parameters():
            parameter -= 100.0
    with pytest.warns(ConvergenceWarning, match="None of the 3 units is active in more than a few rows"):
        warn_if_unused(model, as_dataset(NOISE))


@pytest.mark.parametrize("model", [fh.VAE(4, **FITS), fh.VSC(6, l0=2, **FITS), fh.NFA(4, **FITS)], ids=str)
def test_a_fit_that_learned_something_is_silent(model: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", ".* active units a row were asked for")
        model.fit(one_of_four())
