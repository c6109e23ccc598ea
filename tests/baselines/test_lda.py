"""Latent Dirichlet allocation: what it says of documents, against slow versions and exact sums."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import digamma, gammaln
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from fewhot.baselines import LDA, lda
from fewhot.baselines.lda import infer
from fewhot.core.errors import FewhotError
from fewhot.metrics import topic_coherence

ALPHA = 0.3


def topics_of(seed: int, n_topics: int = 3, n_words: int = 5) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.full(n_words, 0.4), size=n_topics)


def slow_bound(x: np.ndarray, topics: np.ndarray, alpha: float, n_steps: int = 3000) -> float:
    """Return the bound word by word and term by term: log p(w|t), p(t|theta), p(theta), less log q(t), q(theta)."""
    n_topics = len(topics)
    words = [v for v in range(len(x)) for _ in range(x[v])]
    gamma = np.full(n_topics, alpha + len(words) / n_topics)
    q = np.zeros((len(words), n_topics))
    for _ in range(n_steps):
        expected_log = digamma(gamma) - digamma(gamma.sum())
        for i, v in enumerate(words):
            q[i] = np.exp(expected_log) * topics[:, v]
            q[i] /= q[i].sum()
        gamma = alpha + q.sum(axis=0)
    expected_log = digamma(gamma) - digamma(gamma.sum())
    total = 0.0
    for i, v in enumerate(words):
        for k in range(n_topics):
            if q[i, k] > 0:
                total += q[i, k] * (np.log(topics[k, v]) + expected_log[k] - np.log(q[i, k]))
    total += gammaln(n_topics * alpha) - n_topics * gammaln(alpha) + (alpha - 1) * expected_log.sum()
    total -= gammaln(gamma.sum()) - gammaln(gamma).sum() + ((gamma - 1) * expected_log).sum()
    return float(total)


def exact_log_probability(x: np.ndarray, topics: np.ndarray, alpha: float) -> float:
    """Return log p(w) by a sum over every way to give the words topics, the shares integrated out."""
    n_topics = len(topics)
    words = [v for v in range(len(x)) for _ in range(x[v])]
    logs: list[float] = []
    for chosen in product(range(n_topics), repeat=len(words)):
        n = np.bincount(chosen, minlength=n_topics) if chosen else np.zeros(n_topics)
        prior = (
            gammaln(n_topics * alpha)
            - gammaln(n_topics * alpha + len(words))
            + (gammaln(alpha + n) - gammaln(alpha)).sum()
        )
        logs.append(prior + sum(np.log(topics[k, v]) for k, v in zip(chosen, words, strict=True)))
    return float(np.logaddexp.reduce(logs))


@given(arrays(np.int64, 5, elements=st.integers(0, 3)), st.integers(0, 50), st.sampled_from([0.05, 0.3, 1.0, 4.0]))
@settings(max_examples=15, deadline=None)
def test_the_bound_is_that_of_a_plain_loop(x: np.ndarray, seed: int, alpha: float) -> None:
    topics = topics_of(seed)
    assert infer(sp.csr_array(x[None]), topics, alpha).bounds == pytest.approx(slow_bound(x, topics, alpha), abs=1e-5)


@given(arrays(np.int64, 4, elements=st.integers(0, 2)), st.integers(0, 50), st.sampled_from([0.05, 0.3, 1.0, 4.0]))
@settings(max_examples=25, deadline=None)
def test_the_bound_never_exceeds_the_exact_log_probability(x: np.ndarray, seed: int, alpha: float) -> None:
    topics = topics_of(seed, n_topics=2 if x.sum() > 6 else 3, n_words=4)
    exact = exact_log_probability(x, topics, alpha)
    (bound,) = infer(sp.csr_array(x[None]), topics, alpha).bounds
    assert bound <= exact + 1e-9
    assert bound >= slow_bound(x, topics, alpha, n_steps=1) - 1e-9


def test_one_topic_leaves_no_gap() -> None:
    topics, x = topics_of(0, n_topics=1), np.array([[3, 0, 2, 1, 0]])
    assert infer(sp.csr_array(x), topics, ALPHA).bounds == pytest.approx(x @ np.log(topics[0]))


def test_topics_that_share_no_word_leave_no_gap() -> None:
    topics, x = np.array([[0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5]]), np.array([4, 1, 2, 0])
    topics = np.maximum(topics, 1e-300)  # for the logs of the exact sum
    found = infer(sp.csr_array(x[None]), topics, ALPHA)
    assert found.weights[0] == pytest.approx([ALPHA + 5, ALPHA + 2])
    assert found.bounds[0] == pytest.approx(exact_log_probability(x, topics, ALPHA))


def test_documents_do_not_see_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    X = sp.csr_array(np.random.default_rng(0).poisson(0.7, size=(40, 5)))
    together = infer(X, topics_of(1), ALPHA)
    monkeypatch.setattr(lda, "_DOCUMENTS_AT_ONCE", 7)
    assert infer(X, topics_of(1), ALPHA).bounds == pytest.approx(together.bounds, abs=1e-12)
    alone = [infer(X[[row]], topics_of(1), ALPHA).bounds[0] for row in range(40)]
    assert alone == pytest.approx(together.bounds, abs=1e-12)


def test_documents_that_do_not_converge_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lda, "_MOST_STEPS", 2)
    with pytest.warns(ConvergenceWarning, match="1 of 2 documents still moved after 2 steps"):
        infer(sp.csr_array([[3, 1, 2, 5, 1], [0, 0, 0, 0, 0]]), topics_of(2), ALPHA)


@pytest.fixture(scope="module")
def documents() -> np.ndarray:
    """Return documents of two kinds, sorted: words 0 to 3, and words 4 to 7."""
    rng = np.random.default_rng(0)
    return np.block(
        [[rng.poisson(2.0, (40, 4)), np.zeros((40, 4), int)], [np.zeros((40, 4), int), rng.poisson(2.0, (40, 4))]]
    )


@pytest.fixture(scope="module")
def fitted(documents: np.ndarray) -> LDA:
    words = [f"w{column}" for column in range(8)]
    model = LDA(2, topic_word_prior=0.1, learning_method="online", batch_size=20, random_state=0)
    return model.fit(pd.DataFrame(documents, columns=words))


def test_planted_topics_are_found(fitted: LDA, documents: np.ndarray) -> None:
    top = fitted.top_words(4)
    assert {frozenset(words) for words in top.up} == {
        frozenset(["w0", "w1", "w2", "w3"]),
        frozenset(["w4", "w5", "w6", "w7"]),
    }
    assert top.down == [[], []]
    assert str(top).splitlines()[0] == f"unit 0  {' '.join(top.up[0])}"
    assert topic_coherence(top, documents).mean > 0.3
    share = fitted.transform(pd.DataFrame(documents, columns=fitted.feature_names_in_))
    assert share.sum(axis=1) == pytest.approx(np.ones(80))
    assert (share.argmax(axis=1)[:40] == share[0].argmax()).all()
    assert (share.argmax(axis=1)[40:] != share[0].argmax()).all()


def test_topics_at_their_geometric_mean_give_looser_bounds(fitted: LDA, documents: np.ndarray) -> None:
    words = pd.DataFrame(documents, columns=list(fitted.feature_names_in_))
    geometric = clone(fitted).set_params(fixed_topics="geometric").fit(words)
    assert (geometric.topics_.sum(axis=1) < 1).all()
    assert (geometric.topics_ < fitted.topics_).all()
    assert (geometric.score_samples(words) < fitted.score_samples(words)).all()


def test_perplexity_is_of_the_bounds(documents: np.ndarray) -> None:
    X = sp.csr_array(np.vstack([documents, np.zeros((3, 8), int)]))
    model = LDA(2, random_state=0).fit(X)
    bounds, lengths = model.score_samples(X), documents.sum(axis=1)
    some = lengths > 0
    assert bounds[80:].tolist() == [0.0, 0.0, 0.0]
    assert model.perplexity(X) == pytest.approx(np.exp(-(bounds[:80][some] / lengths[some]).mean()))
    assert model.perplexity(X, "corpus") == pytest.approx(np.exp(-bounds.sum() / lengths.sum()))
    assert model.score(X) == pytest.approx(bounds.mean())
    assert model.transform(X)[80:] == pytest.approx(np.full((3, 2), 0.5))


def test_sparse_and_dense_documents_give_the_same(documents: np.ndarray) -> None:
    dense = LDA(3, max_iter=2, random_state=4).fit(documents)
    sparse = LDA(3, max_iter=2, random_state=4).fit(sp.csc_array(documents))
    assert dense.topics_ == pytest.approx(sparse.topics_)
    assert dense.score_samples(documents) == pytest.approx(sparse.score_samples(sp.coo_array(documents)))


def test_it_is_an_estimator(documents: np.ndarray) -> None:
    model = LDA(3, max_iter=1, random_state=1)
    assert clone(model).get_params() == model.get_params()
    found = model.set_output(transform="pandas").fit_transform(documents)
    assert list(found.columns) == ["lda0", "lda1", "lda2"]
    assert (model.topics_ == clone(model).fit(documents).topics_).all()
    with pytest.raises(NotFittedError):
        LDA().transform(documents)


BAD: list[tuple[Callable[[np.ndarray], Any], str]] = [
    (lambda X: LDA(2).fit(-X), "negative values"),
    (lambda X: LDA(2).fit(X / 2), "fractional values"),
    (lambda X: LDA(2).fit(np.zeros((4, 3))), "no words in any document"),
    (lambda X: LDA(2).fit(["a text"]), "list of strings"),
    (lambda X: LDA(0).fit(X), "n_components is 0"),
    (lambda X: LDA(2, doc_topic_prior=0).fit(X), "doc_topic_prior is 0"),
    (lambda X: LDA(2, learning_method="gibbs").fit(X), "learning_method is 'gibbs'"),
    (lambda X: LDA(2, max_iter=1).fit(X).score_samples(X[:, 1:]), "features"),
    (lambda X: LDA(2, max_iter=1).fit(X).score_samples(X / 2), "fractional values"),
    (lambda X: LDA(2, max_iter=1).fit(X).perplexity(0 * X), "None of the 80 documents has words"),
    (lambda X: LDA(2, max_iter=1).fit(X).perplexity(X, "word"), "average is 'word'"),
    (lambda X: LDA(2, max_iter=1).fit(X).top_words(9), "n is 9 and the vocabulary has 8 words"),
    (lambda X: LDA(2, max_iter=1).fit(X).top_words(2, ["a"]), "vocabulary has 1 words"),
]


@pytest.mark.parametrize(("call", "sentence"), BAD)
def test_bad_input_gets_one_sentence(documents: np.ndarray, call: Callable[[np.ndarray], Any], sentence: str) -> None:
    with pytest.raises(FewhotError, match=sentence):
        call(documents)
