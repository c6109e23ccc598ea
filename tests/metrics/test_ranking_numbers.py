"""What a recommender finds of hidden items stands beside what popularity finds, and is told when it is no more."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import fewhot as fh
from fewhot.baselines import Popularity
from fewhot.data import Loaded
from fewhot.metrics import alarms, evaluate_recommender, summarise
from fewhot.metrics.ranking_numbers import HIDDEN_SHARE, LIST_LENGTH, hide_items
from fewhot.report import build_report


def tastes(n_users: int, rng: np.random.Generator) -> sp.csr_array:
    """Return users of one of five tastes, each of which likes twelve items of sixty much more than the others."""
    taste = rng.integers(5, size=n_users)
    likes = np.where(np.arange(60)[None] // 12 == taste[:, None], 0.7, 0.05)
    return sp.csr_array((rng.random(likes.shape) < likes).astype(np.float32))


@pytest.fixture(scope="module")
def users() -> tuple[sp.csr_array, sp.csr_array]:
    rng = np.random.default_rng(0)
    return tastes(150, rng), tastes(60, rng)


@pytest.fixture(scope="module")
def nfa(users: tuple[sp.csr_array, sp.csr_array]) -> fh.NFA:
    return fh.NFA(10, device="cpu", random_state=0).fit(users[0])


def test_a_fifth_of_each_users_items_is_hidden() -> None:
    rows = sp.csr_array(np.tril(np.ones((12, 12))))
    shown, hidden = hide_items(rows, 0.2, 0)
    assert ((shown + hidden) != rows).nnz == 0
    assert np.diff(hidden.indptr).tolist() == [n // 5 for n in range(1, 13)]


def test_numbers_are_those_of_the_evaluation_of_recommenders(
    nfa: fh.NFA, users: tuple[sp.csr_array, sp.csr_array]
) -> None:
    train, test = users
    summary = summarise(nfa, test)
    shown, hidden = hide_items(test.astype(np.float64), HIDDEN_SHARE, 0)
    for name, model in (("ndcg", nfa), ("ndcg_popularity", Popularity().fit(train))):
        known = evaluate_recommender(model, shown, hidden, ndcg=[LIST_LENGTH])[f"ndcg@{LIST_LENGTH}"]
        assert summary.value(name) == pytest.approx(known.mean, abs=0.01)  # one was held out of the references
    assert summary.value("ndcg") > summary.value("ndcg_popularity") + 0.1
    assert summary.verdict("ndcg") == "good"


def test_what_users_have_are_items_and_no_words(nfa: fh.NFA, users: tuple[sp.csr_array, sp.csr_array]) -> None:
    summary = summarise(nfa, users[1])
    number = summary.get("coherence")
    assert number is not None
    assert "two of a unit's 10 items" in number.meaning
    data = Loaded(
        X=users[1], y=None, name="likes", split=None, image_shape=None, feature_names=None, licence="", digest="d"
    )
    page = build_report(nfa, data, summary=summary, alarms=[])
    assert "Units in items</h2>" in page
    assert '<a href="#words">Units in items</a>' in page
    assert "Beside each unit, the items of the rows of the fit" in page
    assert "Units in words" not in page


def test_lists_that_are_no_better_than_popularity_are_told(users: tuple[sp.csr_array, sp.csr_array]) -> None:
    train, test = users
    mute = fh.NFA(10, max_steps=1, learning_rate=1e-6, device="cpu", random_state=0).fit(train)
    assert "as_popular" in {alarm.name for alarm in alarms(summarise(mute, test))}


def test_words_have_no_such_number(users: tuple[sp.csr_array, sp.csr_array]) -> None:
    nfa = fh.NFA(5, recipe="counts", max_steps=5, device="cpu", random_state=0).fit(users[0])
    assert summarise(nfa, users[1]).get("ndcg") is None
