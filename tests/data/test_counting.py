"""Word counts: which words, how often, and in how much memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fewhot.core.errors import DataError, InvalidParameterError
from fewhot.data import count_words, frequent_words
from fewhot.data.counting import vocabulary_of

words = st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=12), max_size=8)


@given(words)
def test_counts_are_those_of_the_obvious_way(documents: list[list[str]]) -> None:
    vocabulary = ["h", "c", "a", "x"]
    expected = [[document.count(word) for word in vocabulary] for document in documents]
    counted = count_words(documents, vocabulary)
    assert counted.dtype == np.float32
    assert counted.has_canonical_format
    assert counted.toarray().tolist() == expected


@given(words, st.integers(1, 9), st.integers(1, 4))
def test_frequent_words_are_those_of_the_obvious_way(documents: list[list[str]], n_words: int, least: int) -> None:
    all_words = [word for document in documents for word in document]
    ranked = sorted(sorted(set(all_words)), key=all_words.count, reverse=True)
    expected = [word for word in ranked if all_words.count(word) >= least][:n_words]
    assert frequent_words(documents, n_words, least_count=least) == expected


@given(words, st.integers(0, 6), st.integers(0, 4))
def test_short_and_flat_documents_are_left_out(documents: list[list[str]], least_words: int, least_peak: int) -> None:
    vocabulary = ["a", "b", "c"]
    full = count_words(documents, vocabulary).toarray()
    kept = (full.sum(axis=1) >= least_words) & (full.max(axis=1) >= least_peak)
    found = count_words(documents, vocabulary, least_words=least_words, least_peak=least_peak)
    np.testing.assert_array_equal(found.toarray(), full[kept])


def test_documents_are_not_kept() -> None:
    def documents() -> Iterator[list[str]]:
        for i in range(3000):
            yield [f"word{i % 7}"] * 500

    tracemalloc.start()
    counted = count_words(documents(), [f"word{i}" for i in range(7)])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert counted.nnz == 3000
    assert peak < 250_000  # sixteen bytes a non-zero, twice while arrays grow, and a document of 4 kB


@pytest.mark.parametrize(
    ("vocabulary", "reason"),
    [([], r"vocabulary has no words"), (["a", "b", "a"], r"vocabulary has the word 'a' more than once; give each")],
)
def test_a_vocabulary_is_checked(vocabulary: list[str], reason: str) -> None:
    with pytest.raises(InvalidParameterError, match=reason):
        count_words([["a"]], vocabulary)


def test_documents_without_frequent_words_are_refused() -> None:
    with pytest.raises(DataError, match="have no words that occur often enough; give other documents or a vocabulary"):
        vocabulary_of(lambda: [["a"], ["b"]], None, 10, least_count=2)
