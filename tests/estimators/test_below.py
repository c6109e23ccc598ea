"""A fit that ends below simple models of its rows says so."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.decomposition import FactorAnalysis
from sklearn.exceptions import ConvergenceWarning

import fewhot as fh
from tests.first_hour.test_likes import four_tastes

SHORT: dict[str, Any] = {"max_steps": 20, "hidden_layer_sizes": (8,), "device": "cpu", "random_state": 0}


def linear_rows(n: int) -> np.ndarray:
    """Return six columns that two factors explain, nearly."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, 2)) @ rng.normal(size=(2, 6)) + 0.1 * rng.normal(size=(n, 6))


def test_a_fit_below_linear_factors_says_by_how_much() -> None:
    train, held_out = np.split(linear_rows(300), [200])
    vae = fh.VAE(2, **SHORT)
    with pytest.warns(ConvergenceWarning, match="The ELBO of held-out rows") as caught:
        vae.fit(train, X_val=held_out)
    told = str(next(w.message for w in caught if "held-out rows" in str(w.message)))
    factors = FactorAnalysis(vae.references_.n_factors).fit(train).score(held_out)
    assert f"({vae.score(held_out):.4g} nats per row) is below that of factor analysis with" in told
    assert float(re.findall(r"factors? \((.*?)\)", told)[0]) == pytest.approx(factors, abs=0.1)


@pytest.mark.parametrize("steps", [1500])
def test_a_fit_above_them_says_nothing(steps: int) -> None:
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 800)
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1) + 0.02 * rng.normal(size=(800, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fh.VAE(2, **SHORT | {"max_steps": steps, "hidden_layer_sizes": (50,)}).fit(ring)


@pytest.mark.parametrize("rows", [linear_rows(60), four_tastes()])
def test_few_held_out_rows_and_likes_are_not_judged_so(rows: Any) -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="The ELBO of held-out rows")
        (fh.VAE(2, **SHORT) if isinstance(rows, np.ndarray) else fh.NFA(4, **SHORT)).fit(rows)
