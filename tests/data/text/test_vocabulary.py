"""Words and their ids."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fewhot.core.errors import InvalidInputError, InvalidParameterError, InvalidTypeError
from fewhot.data import Vocabulary

words = st.sampled_from(["sun", "sea", "air", "sand", "_UNK", "wind", "Sun"])
texts = st.lists(st.lists(words, max_size=8), min_size=1, max_size=6)


@given(texts=texts.filter(lambda texts: any(word != "_UNK" for text in texts for word in text)))
def test_known_words_come_back(texts: list[list[str]]) -> None:
    vocabulary = Vocabulary.of(texts)
    for text in texts:
        ids = vocabulary.ids(text)
        assert ids[-1] == 1
        assert not set(ids[:-1].tolist()) & {0, 1}
        assert vocabulary.words([*ids, 0, 0]) == text
        assert vocabulary.text(ids) == " ".join(text)


@given(texts=texts, n_words=st.integers(1, 5))
def test_the_most_frequent_words_are_kept_and_equals_are_in_alphabetical_order(
    texts: list[list[str]], n_words: int
) -> None:
    counts = Counter(word for text in texts for word in text if word != "_UNK")
    if not counts:
        return
    ranked = sorted(counts, key=lambda word: (-counts[word], word))
    assert Vocabulary.of(texts, n_words).known == ranked[:n_words]


def test_ids_begin_with_padding_end_and_unknown() -> None:
    vocabulary = Vocabulary(["sea", "sun"])
    assert (len(vocabulary), vocabulary.ids(["sun", "moon", "_UNK", "sea"]).tolist()) == (5, [4, 2, 2, 3, 1])
    assert vocabulary.words([2, 3, 1, 4, 4]) == ["_UNK", "sea"]
    assert "sun" in vocabulary
    assert "moon" not in vocabulary


def test_an_empty_text_is_its_end_alone() -> None:
    vocabulary = Vocabulary(["one"])
    assert vocabulary.ids([]).tolist() == [1]
    assert vocabulary.words([1]) == []


def test_unknown_words_among_the_words_have_their_id_already() -> None:
    assert Vocabulary(["sea", "_UNK", "sun"]) == Vocabulary(["sea", "sun"])


def test_a_vocabulary_comes_back_from_json() -> None:
    vocabulary = Vocabulary(["sea", "caf\xe9", '"'])
    again: Any = Vocabulary.from_config(json.loads(json.dumps(vocabulary.to_config())))
    assert again == vocabulary
    assert hash(again) == hash(vocabulary)
    assert again != Vocabulary(["sea"])
    assert again != ["sea", "caf\xe9", '"']


@pytest.mark.parametrize(
    ("known", "reason"),
    [
        ([], "known has no word beside '_UNK'; give at least one"),
        (["_UNK"], "known has no word beside '_UNK'; give at least one"),
        (["sea", "sun", "sea"], "known has 'sea' more than once; give each word once"),
        (["sea", ""], "known has ''; a word is not empty and has no white space"),
        (["high sea"], "known has 'high sea'; a word is not empty"),
        ("sea", "known is the text 'sea'; give a list of words"),
    ],
)
def test_words_that_cannot_be_told_apart_in_a_text_are_refused(known: list[str], reason: str) -> None:
    with pytest.raises(InvalidParameterError, match=reason):
        Vocabulary(known)


def test_words_are_strings() -> None:
    with pytest.raises(InvalidTypeError, match=r"^Word 1 of the vocabulary is bytes; decode it first"):
        Vocabulary(["sea", b"sun"])  # pyright: ignore[reportArgumentType]


def test_texts_without_words_make_no_vocabulary() -> None:
    with pytest.raises(InvalidInputError, match=r"^The texts have no words to choose from; give texts with words"):
        Vocabulary.of([[], ["_UNK"]])


@pytest.mark.parametrize("number", [-1, 5])
def test_ids_without_a_word_are_refused(number: int) -> None:
    with pytest.raises(InvalidInputError, match=f"The id {number} has no word; give ids from 0 to 4"):
        Vocabulary(["sea", "sun"]).words([3, number])
