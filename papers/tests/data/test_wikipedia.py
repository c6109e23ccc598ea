"""Wikipedia: articles as counts, in little memory."""

from __future__ import annotations

import bz2
import re
import tracemalloc
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from fewhot.core.errors import DataError, InvalidParameterError
from fewhot.data import describe, load_dataset
from fewhot_papers.data import read_wikipedia, wikipedia

ARTICLES = [
    "Anarchism.\nAnarchism is a political Philosophy of 1840; the state, the_state and the law.\n\nThe end.",
    "Zürich.\nZürich, ZÜRICH, zürich: in Zürich. The Zürich of 1900. Zürich!",
    "Stub.\nToo short.",
]


def written(articles: list[str]) -> str:
    return "".join(f"{article}\n---END.OF.DOCUMENT---\n\n" for article in articles)


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    (tmp_path / "wiki.txt.bz2").write_bytes(bz2.compress(written(ARTICLES).encode()))
    return tmp_path / "wiki.txt.bz2"


def obvious_words(article: str) -> list[str]:
    return "".join(letter if letter.isalpha() else " " for letter in article.lower()).split()


def test_articles_become_counts_of_lower_case_words_without_numbers(dump: Path) -> None:
    table = read_wikipedia(dump, least_words=0)
    counts = [Counter(obvious_words(article)) for article in ARTICLES]
    totals = sum(counts, Counter())
    words = sorted(totals, key=lambda word: (-totals[word], word))
    assert table.feature_names == words
    assert words[:2] == ["zürich", "the"]
    assert not any(re.search(r"[\d_A-Z]", word) for word in words)
    assert table.X.toarray().tolist() == [[count[word] for word in words] for count in counts]


def test_short_articles_are_left_out_and_flat_ones_on_demand(dump: Path) -> None:
    assert read_wikipedia(dump, n_words=100).X.shape[0] == 2
    peaked = read_wikipedia(dump, least_words=0, least_peak=6)
    assert (peaked.X.shape[0], peaked.X.max()) == (1, 7)  # one word of the second article, more than 5 times


def test_the_vocabulary_has_a_size_or_is_given(dump: Path) -> None:
    assert read_wikipedia(dump, n_words=2, least_words=0).feature_names == ["zürich", "the"]
    assert read_wikipedia(dump, vocabulary=["short", "the"], least_words=1).X.toarray().tolist() == [
        [0, 4],
        [0, 1],
        [1, 0],
    ]


def test_the_file_is_read_as_a_stream(tmp_path: Path) -> None:
    article = "Title.\n" + "many words of an article that says the same again and again\n" * 40
    path = tmp_path / "long.txt"
    path.write_text(written([article] * 800))
    tracemalloc.start()
    table = read_wikipedia(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert table.X.shape == (800, 12)
    assert peak < path.stat().st_size / 4


@pytest.mark.parametrize("text", ["", "An article.\n", written(ARTICLES) + "Title.\nCut in the mid"])
def test_a_file_that_ends_early_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "cut.txt").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=r"cut\.txt does not end with a line ---END\.OF\.DOCUMENT---; it is cut off or"):
        read_wikipedia(tmp_path / "cut.txt")


def test_a_compressed_file_that_is_cut_off_is_refused(dump: Path) -> None:
    dump.write_bytes(dump.read_bytes()[:100])
    with pytest.raises(DataError, match=r"wiki\.txt\.bz2 is cut off or damaged after line 0; get it again"):
        read_wikipedia(dump)


def test_another_encoding_is_named_or_told(tmp_path: Path) -> None:
    path = tmp_path / "latin.txt"
    path.write_bytes(written(ARTICLES).encode("latin-1"))
    with pytest.raises(DataError, match=r"^Line 7 of .*latin\.txt is not text in UTF-8"):
        read_wikipedia(path)
    assert read_wikipedia(path, n_words=1, encoding="latin-1").feature_names == ["zürich"]


def test_options_are_checked(dump: Path) -> None:
    with pytest.raises(InvalidParameterError, match="least_peak is -1"):
        read_wikipedia(dump, least_peak=-1)
    with pytest.raises(InvalidParameterError, match="encoding is 'klingon', which Python does not know; name one"):
        read_wikipedia(dump, encoding="klingon")
    with pytest.raises(DataError, match=r"has no article with 6 words and a word 100 times; ask for less\.$"):
        read_wikipedia(dump, least_peak=100)


def test_the_dataset_keeps_articles_as_the_paper_does(dump: Path) -> None:
    table: Any = wikipedia._read("all", {wikipedia.DUMP: dump})
    assert (table.X.shape[0], table.X.max()) == (1, 7)


def test_without_the_dump_it_is_said_what_to_put_where(tmp_path: Path, cache: Path) -> None:
    with pytest.raises(DataError, match=r"201004\.txt\.bz2 put WestburyLab\.wikicorp\.201004\.txt\.bz2 there\)"):
        load_dataset("wikipedia", data_dir=tmp_path)
    assert describe("wikipedia").shapes["test"] == (100_000, 20_000)
    assert describe("wikipedia").shapes["train"] == (None, 20_000)
