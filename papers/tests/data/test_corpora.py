"""Corpora of short texts: those released, and those made anew from their sources."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fewhot.core.errors import DataError, InvalidParameterError
from fewhot.data import Loaded, Vocabulary, content_digest, describe, load_dataset, open_data, text_dataset
from fewhot.data.text import text_width
from fewhot_papers.data import corpora, read_corpus, read_labelled_texts, read_sampled_texts
from tests.data.known import published

RELEASED = {"hsvae_yahoo": (10, 5, 30), "hsvae_dbpedia": (14, 1, 60)}


def release(folder: Path, **changes: str) -> dict[str, Path]:
    files = {
        "vocab.txt": "sun\n\nsea\n_UNK\n",
        "valid.txt": "sun _UNK sun\n\nsea  sun\n",
        "valid_class_label.txt": "1\n0\n1\n",
        "test.txt": "sea\n",
        "test_class_label.txt": "0\n",
        "train_class_label.txt": "1\n1\n",
        **changes,
    }
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(gzip.compress(content.encode()))
    return {name: folder / name for name in files}


def test_a_released_corpus_has_texts_counts_and_classes(tmp_path: Path) -> None:
    files = release(tmp_path)
    table: Any = corpora._read_released("validation", files)
    assert table.texts == ["sun _UNK sun", "", "sea sun"]
    assert table.feature_names == ["sun", "sea", "_UNK"]
    assert table.X.toarray().tolist() == [[2, 0, 1], [0, 0, 0], [1, 1, 0]]
    assert table.y.tolist() == [1, 0, 1]
    assert corpora._read_released("test", files).texts == ["sea"]


def test_training_texts_that_were_not_released_are_told_of_and_found_where_there_are_any(tmp_path: Path) -> None:
    files = release(tmp_path / "hsvae_some")
    with pytest.raises(
        DataError,
        match=r"^The training texts of hsvae_some were not released, only their labels; load the splits 'validation' "
        r"and 'test', or put the texts into .*train\.txt\.$",
    ):
        corpora._read_released("fit", files)
    (tmp_path / "hsvae_some" / "train.txt.gz").write_bytes(gzip.compress(b"sea\nsea sun\n"))
    assert corpora._read_released("fit", files).texts == ["sea", "sea sun"]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"valid.txt": "sun\nmoon\nsea\n"}, r"^Line 2 of .* has the word 'moon', which vocab\.txt has not; get"),
        ({"valid_class_label.txt": "1\n0\n"}, r"valid_class_label\.txt has 2 lines for 3 texts; get the published"),
        ({"valid_class_label.txt": "1\nx\n0\n"}, r"^Line 2 of .* is not a whole number from 0; get the published"),
    ],
)
def test_a_release_that_is_damaged_is_refused(tmp_path: Path, changes: dict[str, str], reason: str) -> None:
    files = release(tmp_path, **changes)
    with pytest.raises(DataError, match=reason):
        read_corpus(files["valid.txt"], files["valid_class_label.txt"], files["vocab.txt"])


@pytest.mark.parametrize("name", [pytest.param(name, marks=published(name)) for name in RELEASED])
def test_the_released_corpora_are_as_published(name: str) -> None:
    n_classes, shortest, longest = RELEASED[name]
    for split in ("validation", "test"):
        loaded = load_dataset(name, split, download=False)
        assert loaded.y is not None
        assert loaded.texts is not None
        assert loaded.feature_names is not None
        assert np.bincount(loaded.y).tolist() == [1000] * n_classes
        data = text_dataset(loaded.texts, Vocabulary(loaded.feature_names, "spaces"))
        assert shortest <= data.lengths.min() - 1
        assert data.lengths.max() - 1 == longest
        assert data.width(np.arange(len(loaded))) == text_width(longest + 1)
        assert data.totals().tolist() == np.asarray(loaded.X.sum(axis=1)).tolist()
        assert [" ".join(data.words(row)) for row in range(50)] == loaded.texts[:50]
    with pytest.raises(DataError, match="were not released, only their labels"):
        load_dataset(name, "train", download=False)


@published("hsvae_yahoo")
def test_counts_of_words_are_those_of_the_texts() -> None:
    loaded = load_dataset("hsvae_yahoo", "test", download=False)
    data = text_dataset(loaded.texts or (), Vocabulary(loaded.feature_names or (), "spaces"))
    moments, counts = data.moments(), np.asarray(loaded.X.sum(axis=0, dtype=np.float64)) / len(loaded)
    in_order = [data.vocabulary.ids([word])[0] for word in loaded.feature_names or ()]
    np.testing.assert_allclose(moments.mean[in_order], counts, rtol=1e-5)


def test_texts_go_with_their_rows_and_count_for_the_digest(tmp_path: Path) -> None:
    table: Any = corpora._read_released("validation", release(tmp_path))
    whole = Loaded(
        X=table.X,
        y=table.y,
        name="some",
        split=None,
        image_shape=None,
        feature_names=table.feature_names,
        licence="",
        digest=content_digest(table.X, table.y, table.texts),
        texts=table.texts,
    )
    some = whole.take(np.array([2, 0]))
    assert some.texts == ["sea sun", "sun _UNK sun"]
    assert whole.take(np.array([False, True, True])).texts == ["", "sea sun"]
    turned = content_digest(some.X, some.y, ["sun sea", "sun _UNK sun"])
    assert some.digest not in (turned, content_digest(some.X, some.y))


def test_labelled_lines_take_the_words_of_the_training_texts(tmp_path: Path) -> None:
    (tmp_path / "yelp.train.txt").write_text("4\tgood sun good\n0\tbad _UNK\n")
    (tmp_path / "yelp.test.txt").write_text("1\tbad sea\n0\t\n")
    files = {name: tmp_path / name for name in ("yelp.train.txt", "yelp.test.txt")}
    fit, test = (corpora._read_yelp(part, files) for part in ("fit", "test"))
    assert fit.feature_names == test.feature_names == ["good", "bad", "sun", "_UNK"]
    assert (fit.texts, test.texts) == (["good sun good", "bad _UNK"], ["bad _UNK", ""])
    assert np.asarray(test.y).tolist() == [1, 0]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("1\tgood\nbad\n", r"^Line 2 of .* is not a whole number, a tab and a text; get"),
        ("x\tgood\n", r"^Line 1 of .* is not a whole number, a tab and a text; get"),
        ("", r"has no texts; get the published file\.$"),
    ],
)
def test_lines_without_a_label_are_refused(tmp_path: Path, content: str, reason: str) -> None:
    (tmp_path / "a.txt").write_text(content)
    with pytest.raises(DataError, match=reason):
        read_labelled_texts(tmp_path / "a.txt")


def table_of(path: Path, n_each: int, n_classes: int = 2) -> Path:
    """Write texts of every class that say their place; every fifth has too many words."""
    rows = []
    for place in range(n_each * n_classes):
        text = "Sun, sea" + (" and" * 20 if place % 5 == 0 else "") + f"\\nw{place}"
        rows.append(f'"{1 + place % n_classes}","Title","{text}"')
    path.write_text("\n".join(rows) + "\n")
    return path


def sampled(train: Path, part: str, **options: Any) -> Any:
    settings = {"n_classes": 2, "cell": 2, "most_words": 6, "n_fit": 6, "n_held_out": 3, "tokeniser": "plain"}
    return read_sampled_texts(train, train.with_name("test.csv"), part, **{**settings, **options})


def test_as_many_texts_of_every_class_are_sampled_and_no_text_twice(tmp_path: Path) -> None:
    train = table_of(tmp_path / "train.csv", 30)
    table_of(tmp_path / "test.csv", 10)
    fit, validation, test = (sampled(train, part, n_words=100) for part in ("fit", "validation", "test"))
    assert [np.bincount(part.y).tolist() for part in (fit, validation, test)] == [[6, 6], [3, 3], [3, 3]]
    places = [text.split()[-1] for text in fit.texts]
    assert len(set(places)) == 12
    assert all(int(place[1:]) % 2 == label for place, label in zip(places, fit.y, strict=True))
    assert not any(int(place[1:]) % 5 == 0 for place in places)
    assert fit.texts == sampled(train, "fit", n_words=100).texts
    assert fit.feature_names == validation.feature_names == test.feature_names
    assert fit.feature_names[:2] == ["sea", "sun"]
    assert all(text == "sun sea _UNK" for text in validation.texts)  # their own words are not in the texts to fit


def test_the_vocabulary_has_the_most_frequent_words_to_fit(tmp_path: Path) -> None:
    table = sampled(table_of(tmp_path / "train.csv", 30), "fit", n_words=3)
    assert table.feature_names == ["sea", "sun", "_UNK"]
    assert Counter(table.texts) == {"sun sea _UNK": 12}
    assert table.X.toarray().tolist() == [[1, 1, 1]] * 12


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("1,a,b\n3,a,b\n", r"^Line 2 of .* is not a class from 1 to 2 and 2 cells of text or more; get"),
        ("1,a\n", r"^Line 1 of .* is not a class from 1 to 2 and 2 cells of text or more; get"),
        ("1,a,b\n", r"has 1 texts of class 1 with 1 to 6 words, and 9 are needed; get the published file, or ask for"),
    ],
)
def test_tables_that_are_too_small_or_of_another_kind_are_refused(tmp_path: Path, content: str, reason: str) -> None:
    (tmp_path / "train.csv").write_text(content)
    with pytest.raises(DataError, match=reason):
        sampled(tmp_path / "train.csv", "fit")


def test_parts_have_names_and_tests_have_a_table(tmp_path: Path) -> None:
    train = table_of(tmp_path / "train.csv", 30)
    with pytest.raises(InvalidParameterError, match="part is 'train'; it must be one of 'fit', 'validation', 'test'"):
        sampled(train, "train")
    with pytest.raises(DataError, match="there is no table of test texts; give one by test="):
        read_sampled_texts(
            train, None, "test", n_classes=2, cell=2, most_words=6, n_fit=6, n_held_out=3, tokeniser="plain"
        )


@pytest.mark.parametrize("name", ["yahoo", "dbpedia", "yelp"])
def test_files_without_a_published_checksum_are_got_by_hand(name: str, cache: Path) -> None:
    assert describe(name).files[0].sha256 is None
    with pytest.raises(
        DataError, match=rf"of {name} is not on disk .* get it by hand, for it has no published checksum"
    ):
        open_data(name)


def test_the_sources_are_cut_and_sampled_as_in_the_paper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}
    monkeypatch.setattr(corpora, "read_sampled_texts", lambda *paths, **options: asked.update(options))
    corpora._read_yahoo("fit", {"train.csv": tmp_path})
    assert asked == {"n_classes": 10, "cell": 1, "least_words": 5, "most_words": 30}
    corpora._read_dbpedia("fit", {"train.csv": tmp_path})
    assert asked == {"n_classes": 14, "cell": 2, "least_words": 1, "most_words": 60}
