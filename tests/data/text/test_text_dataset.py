"""Texts as a data set: batches of ids, and word counts without the dense matrix."""

from __future__ import annotations

import json
import tracemalloc
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fewhot.core.errors import InvalidInputError, InvalidParameterError, InvalidTypeError
from fewhot.core.records import DataSpec, Tokens
from fewhot.data import TextDataset, Vocabulary, text_dataset
from fewhot.data.text import is_text, text_width
from fewhot.data.text.building import LONGEST

WORDS = ["sun", "sea", "air", "sand", "_UNK", "wind", "moon"]
lists = st.lists(st.lists(st.sampled_from(WORDS), max_size=20), min_size=1, max_size=9)
VOCABULARY = Vocabulary(["sun", "sea", "air"])


def slow_counts(texts: list[list[str]], vocabulary: Vocabulary) -> np.ndarray:
    counted = [Counter(vocabulary.ids(text)[:-1].tolist()) for text in texts]
    return np.array([[counts[word] for word in range(len(vocabulary))] for counts in counted], dtype=np.float32)


def ids_of(x: Any) -> list[list[int]]:
    assert isinstance(x, Tokens)
    return x.ids.tolist()


@settings(deadline=None)
@given(texts=lists, size=st.integers(1, 10))
def test_batches_have_every_text_once_with_its_end_and_padding_behind(texts: list[list[str]], size: int) -> None:
    data = TextDataset.of(texts, VOCABULARY)
    rows = [row for batch in data.batches(size) for row in ids_of(batch.x)]
    for text, row in zip(texts, rows, strict=True):
        expected = VOCABULARY.ids(text).tolist()
        assert row == expected + [0] * (len(row) - len(expected))
        assert len(row) in {8, 12, 16, 20, 24}


@settings(deadline=None)
@given(texts=lists, seed=st.integers(0, 100))
def test_texts_come_in_any_order_and_repeatedly(texts: list[list[str]], seed: int) -> None:
    data = TextDataset.of(texts, VOCABULARY)
    rows = np.random.default_rng(seed).integers(0, len(texts), 7)
    batch = data.batch(torch.from_numpy(rows), data.width(rows))
    assert [VOCABULARY.words(ids) for ids in ids_of(batch.x)] == [data.words(row) for row in rows]
    assert batch.index is not None
    assert batch.index.tolist() == rows.tolist()
    assert ids_of(data.batch(torch.from_numpy(rows)).x) == ids_of(batch.x)


@settings(deadline=None)
@given(texts=lists, seed=st.integers(0, 100))
def test_a_subset_has_the_texts_asked_for(texts: list[list[str]], seed: int) -> None:
    data = TextDataset.of(texts, VOCABULARY)
    rows = np.random.default_rng(seed).integers(0, len(texts), 5)
    subset = data.subset(rows)
    assert subset.n_rows == subset.spec.n_rows == 5
    assert [subset.words(i) for i in range(5)] == [data.words(row) for row in rows]
    assert subset.to(torch.device("cpu")).lengths.tolist() == data.lengths[rows].tolist()


@settings(deadline=None)
@given(texts=lists)
def test_moments_and_totals_are_those_of_the_dense_word_counts(texts: list[list[str]]) -> None:
    data, counts = TextDataset.of(texts, VOCABULARY), slow_counts(texts, VOCABULARY)
    moments = data.moments()
    np.testing.assert_allclose(moments.mean, counts.mean(0), rtol=1e-6)
    np.testing.assert_allclose(moments.present, (counts != 0).mean(0), rtol=1e-6)
    deviation = counts.std(0)
    np.testing.assert_allclose(moments.std, np.where(deviation > 1e-6, deviation, 1), rtol=1e-5)
    assert moments.row_total == pytest.approx(counts.sum(1).mean())
    assert data.totals().tolist() == counts.sum(1).tolist()


@settings(deadline=None)
@given(texts=lists)
def test_the_description_is_that_of_the_word_counts(texts: list[list[str]]) -> None:
    spec, counts = TextDataset.of(texts, VOCABULARY).spec, slow_counts(texts, VOCABULARY)
    assert (spec.n_rows, spec.n_columns) == counts.shape
    assert (spec.kind, spec.sparse, spec.counts) == ("text", True, True)
    assert (spec.minimum, spec.maximum, spec.binary) == (0.0, counts.max(), counts.max() <= 1)
    assert DataSpec(**json.loads(json.dumps(spec.to_dict()))) == spec


def test_moments_of_a_large_vocabulary_take_no_dense_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    n_rows, n_words = 2000, 20_000
    vocabulary = Vocabulary([f"w{number}" for number in range(n_words)])
    rng = np.random.default_rng(0)
    ids = rng.integers(3, n_words, (n_rows, 10))
    ids[:, -1] = 1
    data = TextDataset.of_ids(ids.ravel(), np.arange(0, ids.size + 1, 10), vocabulary)
    monkeypatch.setattr(Tokens, "dense", None)
    assert data.moments().row_total == pytest.approx(9)


def test_widths_are_few_and_never_too_small() -> None:
    widths = [text_width(longest) for longest in range(1, 2000)]
    assert all(longest <= width for longest, width in enumerate(widths, start=1))
    assert widths == sorted(widths)
    assert len(set(widths)) == 22
    assert all(width <= 1.4 * longest for longest, width in enumerate(widths[:256], start=1) if longest > 8)


@settings(deadline=None)
@given(texts=lists, n_words=st.integers(1, 4), max_length=st.integers(1, 12) | st.none())
def test_one_pass_finds_what_two_passes_find(texts: list[list[str]], n_words: int, max_length: int | None) -> None:
    kept = [text[:max_length] for text in texts]
    if not any(word != "_UNK" for text in kept for word in text):
        return
    slow = TextDataset.of(kept, Vocabulary.of(kept, n_words))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        stream = (" ".join(text) for text in texts)
        quick = text_dataset(stream, tokeniser="spaces", n_words=n_words, max_length=max_length)
    assert quick.vocabulary == Vocabulary(slow.vocabulary.known, "spaces", max_length or LONGEST)
    assert quick.spec == slow.spec
    assert torch.equal(quick.ids, slow.ids)
    assert torch.equal(quick.offsets, slow.offsets)
    assert (quick.ids.dtype, quick.offsets.dtype) == (torch.int32, torch.int64)


@pytest.mark.parametrize(
    "container",
    [list, tuple, np.array, lambda texts: np.array(texts, dtype=object), pd.Series, pl.Series, iter],
    ids=["list", "tuple", "array", "objects", "pandas", "polars", "iterator"],
)
def test_texts_come_in_many_containers(container: Any) -> None:
    data = text_dataset(container(["few hot", "", "few"]))
    assert [data.words(row) for row in range(3)] == [["few", "hot"], [], ["few"]]


def test_texts_of_unknown_words_and_of_nothing_are_texts() -> None:
    data = text_dataset(["moon moon", "", "\ud800"], VOCABULARY)
    assert ids_of(data.batch(torch.arange(3)).x) == [[2, 2, 1, *[0] * 5], [1, *[0] * 7], [1, *[0] * 7]]
    assert data.spec.maximum == 2


def test_long_texts_are_cut_with_one_warning_that_counts_them() -> None:
    with pytest.warns(UserWarning, match="texts have more than") as caught:
        data = text_dataset(["a b c d", "a b", "", "a b c"], max_length=2)
    assert [str(one.message) for one in caught] == ["2 of 4 texts have more than 2 words and were cut there."]
    assert caught[0].filename == __file__
    assert data.lengths.tolist() == [3, 3, 1, 3]
    assert data.vocabulary.known == ["a", "b"]


@pytest.mark.parametrize(
    ("texts", "error", "reason"),
    [
        ([], InvalidInputError, r"^X has no texts; give at least one\.$"),
        (["", " "], InvalidInputError, r"^The texts have no words to choose from; "),
        (["few", b"hot"], InvalidTypeError, r"^Text 1 of X is bytes; decode it first, such as by \.decode"),
        (["few", None], InvalidTypeError, r"^Text 1 of X is of type NoneType; give strings, and '' for one without"),
        ("few hot", InvalidTypeError, r"^X is one str; give a list of strings, one a text\.$"),
        (np.array([["few"], ["hot"]]), InvalidInputError, r"^X has shape \(2, 1\); give one string a text"),
    ],
)
def test_what_is_no_list_of_strings_is_refused(texts: Any, error: type[Exception], reason: str) -> None:
    with pytest.raises(error, match=reason):
        text_dataset(texts)


def test_no_texts_are_refused_with_a_vocabulary_too() -> None:
    with pytest.raises(InvalidInputError, match="X has no texts"):
        text_dataset([], VOCABULARY)


@pytest.mark.parametrize("argument", ["max_length", "n_words"])
def test_numbers_of_words_are_at_least_one(argument: str) -> None:
    with pytest.raises(InvalidParameterError, match=f"{argument} is 0; it must be a whole number of at least 1"):
        text_dataset(["few"], **{argument: 0})


def test_a_stream_of_texts_is_not_kept() -> None:
    def stream() -> Iterator[str]:
        for number in range(2000):
            yield f"w{number % 7} " * 500

    tracemalloc.start()
    data = text_dataset(stream(), tokeniser="spaces")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(data.ids) == 2000 * 501
    assert peak < 40 * len(data.ids)  # as strings in lists they take 57 bytes a word and more


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_batches_on_a_device_are_those_of_the_host() -> None:
    data = TextDataset.of([["sun", "sea"], [], ["moon"] * 9], VOCABULARY)
    there = data.to(torch.device("cuda"))
    index = torch.tensor([2, 0])
    assert ids_of(there.batch(index.cuda(), 12).x) == ids_of(data.batch(index, 12).x)
    assert there.subset(np.array([1, 2])).lengths.tolist() == [1, 10]


def test_very_long_texts_are_cut_with_a_warning_unless_told() -> None:
    with pytest.warns(UserWarning, match=r"^1 of 2 texts have more than 500 words and were cut there\.$"):
        data = text_dataset(["sea " * 10_000, "sun"])
    assert data.lengths.tolist() == [501, 2]
    assert data.vocabulary.max_length == 500
    assert text_dataset(["sea " * 10_000], max_length=20_000).lengths.tolist() == [10_001]


@pytest.mark.parametrize("given", [{"tokeniser": "spaces"}, {"n_words": 5}, {"max_length": 2}], ids=str)
def test_a_vocabulary_says_by_itself_how_texts_are_read(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameterError, match=r"was given beside a vocabulary"):
        text_dataset(["sea"], Vocabulary(["sea"]), **given)
    made = Vocabulary.of([["Few", "Hot!"]], tokeniser="spaces", max_length=3)
    assert text_dataset(["Few Hot!"], made).words(0) == ["Few", "Hot!"]
    with pytest.raises(InvalidTypeError, match=r"^vocabulary is of type list"):
        text_dataset(["sea"], ["sea"])  # pyright: ignore[reportArgumentType]
    with pytest.raises(InvalidTypeError, match=r"^X is of type NoneType; give a list of strings"):
        text_dataset(None)  # pyright: ignore[reportArgumentType]


def test_texts_of_which_nothing_is_left_are_told() -> None:
    with pytest.warns(UserWarning, match=r"^2 of 4 texts have no words left, for 'plain' leaves out what is not ASCII"):
        text_dataset(["\u0645\u0631\u062d\u0628\u0627", "\u4f60\u597d", "hello", " "])
    with (
        pytest.raises(InvalidInputError, match=r"or tokeniser='spaces'"),
        pytest.warns(UserWarning, match=r"^1 of 1 texts have no words left"),
    ):
        text_dataset(["\u4f60\u597d"])


def test_letters_that_are_lost_are_told() -> None:
    russian = "\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440!"
    with pytest.warns(UserWarning, match=r"^75% of the characters are letters that are not ASCII, which words of"):
        assert text_dataset([russian]).words(0) == ["!"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        text_dataset([russian], tokeniser="spaces")
        text_dataset(["na\u00efve \u2013 " + "and long " * 20])


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_texts_are_known_behind_many_that_are_missing(missing: Any) -> None:
    assert is_text([missing] * 200 + ["sea"])
    assert not is_text([missing] * 200)
    assert not is_text(np.full(200, np.nan))


def test_texts_of_unknown_words_alone_are_told() -> None:
    known = Vocabulary(["sea"])
    with pytest.warns(UserWarning, match=r"^All words of 2 of 3 texts are unknown to the vocabulary\.$"):
        text_dataset(["1 2", "3", "sea"], known)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(text_dataset(["1", "sea", "", ""], known)) == 4


def test_words_of_few_texts_and_unknown_ones_are_left_out_of_bags() -> None:
    texts = ["hot sea once", "hot sun", "sea sun"] * 400 + ["hot sun twice"] * 1 + ["sea twice"] * 1
    data = text_dataset([*texts, "only here"], tokeniser="words")
    assert data.vocabulary.known == ["hot", "sea", "sun", "once", "twice"]
    assert data.words(len(texts)) == []
    again = text_dataset(["hot strange sea", "Sun"], data.vocabulary)
    assert [again.words(row) for row in range(2)] == [["hot", "sea"], ["sun"]]
    assert again.spec.n_columns == data.spec.n_columns


def test_few_texts_keep_all_their_words() -> None:
    assert text_dataset(["few hot", "hot sea"], tokeniser="words").vocabulary.known == ["hot", "few", "sea"]


def test_bags_of_unknown_words_alone_are_warned_of() -> None:
    known = text_dataset(["few hot", "hot sea"], tokeniser="words").vocabulary
    with pytest.warns(UserWarning, match="All words of 2 of 3 texts are unknown"):
        text_dataset(["moon", "star", "sea"], known)
