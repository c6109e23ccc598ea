"""Coherence and diversity of topics."""

from __future__ import annotations

import math
from itertools import combinations
from pathlib import Path
from typing import Any

import anndata
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fewhot.baselines import LDA
from fewhot.core.errors import FewhotError
from fewhot.metrics import TopWords, inverted_rbo, topic_coherence, topic_diversity
from tests.estimators.cases import assert_one_sentence

TEXTS = [
    *("human interface computer", "survey user computer system response time", "eps user interface system"),
    *("system human system eps", "user response time", "trees", "graph trees", "graph minors trees"),
    "graph minors survey",
]
"""Titles of Deerwester et al. (1990), Indexing by latent semantic analysis, as gensim's tests have them."""
VOCABULARY = sorted({word for text in TEXTS for word in text.split()})
X = np.array([[text.split().count(word) for word in VOCABULARY] for text in TEXTS])
TOPICS = [
    ["human", "computer", "system", "interface"],
    ["graph", "minors", "trees", "eps"],
    ["user", "response", "time", "survey"],
]

# gensim 4.4.0, CoherenceModel(...).get_coherence_per_topic() on these texts and topics: c_npmi and c_v with
# window_size=1000, so that a text is one window; u_mass with EPSILON = 1/9, which is Mimno's count of one more.
GENSIM = {
    "npmi": [0.2768026848266368, -0.22115650535534148, 0.563920172787022],
    "cv": [0.8175699493307136, 0.45659512735618596, 0.9200210873257479],
    "umass": [-0.0675775180180274, -0.4817286263160274, 0.0],
}


@pytest.mark.parametrize("measure", ["npmi", "umass", "cv"])
def test_coherence_agrees_with_gensim(measure: str) -> None:
    found = topic_coherence(TOPICS, X, measure, vocabulary=VOCABULARY)
    assert found.values == pytest.approx(GENSIM[measure], abs=1e-12)
    assert found.mean == pytest.approx(np.mean(GENSIM[measure]))


def slow_npmi(words: list[int], X: np.ndarray) -> float:
    values: list[float] = []
    for a, b in combinations(words, 2):
        p_a, p_b, both = (np.mean(seen) for seen in (X[:, a] > 0, X[:, b] > 0, (X[:, a] > 0) & (X[:, b] > 0)))
        if p_a and p_b:
            values.append(0.0 if both == 1 else math.log((both + 1e-12) / (p_a * p_b)) / -math.log(both + 1e-12))
    return float(np.mean(values)) if values else math.nan


@given(arrays(np.int64, (7, 5), elements=st.integers(0, 2)), st.permutations(range(5)))
def test_npmi_agrees_with_a_loop(X: np.ndarray, words: list[int]) -> None:
    found = topic_coherence([words[:3]], X)
    expected = slow_npmi(words[:3], X)
    assert found.skipped == int(math.isnan(expected))
    assert found.values == pytest.approx([] if math.isnan(expected) else [expected])
    assert (np.abs(found.values) <= 1 + 1e-9).all()


@given(arrays(np.int64, (7, 5), elements=st.integers(0, 3)))
def test_how_often_a_word_is_repeated_does_not_matter(X: np.ndarray) -> None:
    for measure in ("npmi", "umass", "cv"):
        once, sparse = (
            topic_coherence([[0, 2, 4]], X > 0, measure),
            topic_coherence([[0, 2, 4]], sp.csc_array(X), measure),
        )
        assert sparse.values == pytest.approx(once.values)


def test_words_that_are_nowhere_are_left_out() -> None:
    documents = [[1, 1, 0], [1, 1, 0], [0, 0, 0]]
    found = topic_coherence([[0, 1, 2], [1, 2]], documents)
    assert found.values == pytest.approx([1.0])
    assert found.skipped == 1


def recorded(vocabulary: list[str] = VOCABULARY) -> TopWords:
    columns = np.array([[VOCABULARY.index(word) for word in words] for words in TOPICS])
    none = columns[:, :0]
    return TopWords(
        units=np.arange(3),
        columns_up=columns,
        scores_up=columns,
        columns_down=none,
        scores_down=none,
        vocabulary=tuple(vocabulary),
    )


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_columns_of_a_frame_are_told_by_their_names(frame: Any) -> None:
    turned = frame({word: X[:, VOCABULARY.index(word)] for word in reversed(VOCABULARY)})
    expected = pytest.approx(GENSIM["npmi"])
    assert topic_coherence(recorded(), turned).values == expected
    assert topic_coherence(TOPICS, turned, vocabulary=VOCABULARY).values == expected
    assert topic_coherence(TOPICS, turned).values == expected


@pytest.mark.parametrize("backed", [False, True])
def test_columns_of_an_anndata_are_told_by_their_names(backed: bool, tmp_path: Path) -> None:
    order = list(reversed(range(len(VOCABULARY))))
    names = pd.DataFrame(index=[VOCABULARY[column] for column in order])
    turned = anndata.AnnData(sp.csr_matrix(X[:, order].astype(float)), var=names)
    if backed:
        turned.write_h5ad(tmp_path / "rows.h5ad")
        turned = anndata.read_h5ad(tmp_path / "rows.h5ad", backed="r")
    assert topic_coherence(TOPICS, turned).values == pytest.approx(GENSIM["npmi"])
    assert topic_coherence(recorded(), turned).values == pytest.approx(GENSIM["npmi"])


def test_topics_without_names_are_read_by_the_place_of_the_columns() -> None:
    frame = pd.DataFrame(X, columns=VOCABULARY)
    unnamed = [f"column {column}" for column in range(len(VOCABULARY))]
    assert topic_coherence(recorded(unnamed), frame).values == pytest.approx(GENSIM["npmi"])


def test_a_frame_with_other_names_is_refused() -> None:
    frame = pd.DataFrame(X, columns=["other", *VOCABULARY[1:]])
    with pytest.raises(FewhotError, match=r"'other', which is not in the vocabulary; .*X\.to_numpy\(\)") as caught:
        topic_coherence(recorded(), frame)
    assert_one_sentence(caught.value)


def test_a_record_of_words_is_read_by_its_columns() -> None:
    record = recorded()
    assert topic_coherence(record, X).values == pytest.approx(GENSIM["npmi"])
    assert topic_diversity(record) == 1.0
    with pytest.raises(FewhotError, match="X has 11 columns and the vocabulary 12 words"):
        topic_coherence(record, X[:, 1:])


def test_diversity_is_the_share_of_distinct_words() -> None:
    assert topic_diversity([[0, 1, 2], [0, 1, 2]]) == 0.5
    assert topic_diversity(TOPICS) == 1.0


def test_rank_overlap_by_hand() -> None:
    # Webber et al. (2010), equation 32, for lists that are known to the same depth.
    one, other, w = ["a", "b", "c"], ["b", "a", "d"], 0.9
    expected = 2 / 3 * w**3 + (1 - w) / w * (0 * w + 1 * w**2 + 2 / 3 * w**3)
    assert inverted_rbo([one, other], w) == pytest.approx(1 - expected)


@given(st.lists(st.permutations(range(6)), min_size=2, max_size=4), st.floats(0.05, 0.99))
def test_rank_overlap_lies_between_none_and_all(topics: list[list[int]], weight: float) -> None:
    assert -1e-9 <= inverted_rbo(topics, weight) <= 1 + 1e-9
    assert inverted_rbo([topics[0], topics[0]], weight) == pytest.approx(0, abs=1e-9)
    assert inverted_rbo([topics[0], [word + 6 for word in topics[0]]], weight) == 1.0


@pytest.mark.parametrize(
    ("topics", "documents", "arguments", "sentence"),
    [
        ([[0, 1]], -X, {}, "negative values"),
        ([[0, 1]], X / 2, {}, "fractional values"),
        ([[0, 12]], X, {}, "column 12 and X has 12 columns"),
        ([[0, -1]], X, {}, "no whole numbers from 0 up"),
        ([[0, 0]], X, {}, "names a word twice"),
        ([[]], X, {}, "is empty"),
        ([], X, {}, "topics is empty"),
        ([1, 2], X, {}, "topics is of type list and no list of lists; give what top_words returns"),
        (["human", "computer"], X, {}, "no list of lists"),
        (None, X, {}, "topics is of type NoneType"),
        (TOPICS, X, {}, "vocabulary is None"),
        ([["human", "dog"]], X, {"vocabulary": VOCABULARY}, "'dog', which is not in the vocabulary"),
        (TOPICS, X[:, 1:], {"vocabulary": VOCABULARY}, "11 columns and the vocabulary 12"),
        (TOPICS, X, {"vocabulary": VOCABULARY, "measure": "uci"}, "measure is 'uci'"),
    ],
)
def test_bad_input_gets_one_sentence(topics: Any, documents: Any, arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(FewhotError, match=sentence):
        topic_coherence(topics, documents, **arguments)


@pytest.mark.parametrize("metric", [topic_diversity, inverted_rbo])
def test_a_model_is_no_topics(metric: Any) -> None:
    with pytest.raises(FewhotError, match=r"topics is of type LDA .*; give what top_words returns"):
        metric(LDA())


def test_rank_overlap_needs_two_lists_of_one_length() -> None:
    for topics in ([["a", "b"]], [["a", "b"], ["c"]]):
        with pytest.raises(FewhotError, match="at least two, of the same length"):
            inverted_rbo(topics)
