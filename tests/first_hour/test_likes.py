"""Likes: the line of the README recommends, without a manual."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import fewhot as fh
from fewhot.baselines import Popularity
from fewhot.data import StrongGeneralisation, describe, load_dataset, strong_generalisation
from fewhot.metrics import evaluate_recommender

pytestmark = pytest.mark.filterwarnings("error")
WHOLE, SAMPLE = "movielens_1m_implicit", "movielens_100k"


def on_disk(name: str) -> pytest.MarkDecorator:
    """Skip a test whose data are not there."""
    reason = f"needs the published files of {name}: set FEWHOT_DATA to a folder that has them"
    return pytest.mark.skipif(not describe(name).on_disk, reason=reason)


def ndcg(model: Any, split: StrongGeneralisation) -> float:
    """Return NDCG@100 on the test users."""
    return evaluate_recommender(model, split.test.fold_in, split.test.held_out)["ndcg@100"].mean


def four_tastes(n_users: int = 300, n_items: int = 60, seed: int = 0) -> sp.csr_array:
    """Return users of four tastes, with fifteen items to each; every seventh item is liked twice as often."""
    rng = np.random.default_rng(seed)
    chance = np.where(np.repeat(np.arange(4), n_items // 4) == rng.integers(4, size=n_users)[:, None], 0.4, 0.03)
    chance[:, ::7] *= 2
    return sp.csr_array((rng.random((n_users, n_items)) < chance).astype(np.float32))


def test_planted_tastes_are_found() -> None:
    split = strong_generalisation(four_tastes(), n_validation=60, n_test=60, users=range(300))
    model = fh.NFA(200, random_state=0).fit(split.train)
    assert ndcg(model, split) > 1.3 * ndcg(Popularity().fit(split.train), split)


@on_disk(SAMPLE)
@pytest.mark.parametrize("stars", [False, True])
def test_a_sample_of_films(stars: bool) -> None:
    X: Any = load_dataset(SAMPLE, "all").X[:400]
    if stars:
        X = X * np.float32(4)  # films of four stars
        X.data[::2] += 1
    split = strong_generalisation(X, n_validation=50, n_test=100)
    model = fh.NFA(200, random_state=0).fit(split.train)
    assert model.recipe_ == "likes"
    assert ndcg(model, split) > 1.3 * ndcg(Popularity().fit(split.train), split)


@pytest.mark.slow
@on_disk(WHOLE)
def test_the_line_of_the_readme_on_a_million_ratings() -> None:
    split = strong_generalisation(load_dataset(WHOLE, "all").X, n_validation=600, n_test=600)
    began = time.perf_counter()
    model = fh.NFA(200).fit(split.train)
    seconds = time.perf_counter() - began
    assert ndcg(model, split) >= 0.46
    assert seconds <= 180
