"""RCV1: stories as counts of stems, and rows in Vowpal Wabbit's form."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fewhot.core.errors import DataError, FewhotError, InvalidParameterError
from fewhot.data import describe, load_dataset
from fewhot_papers.data import rcv1, read_rcv1, read_vowpal_wabbit
from tests.data.known import published

STORIES = [
    ["recov", "recov", "excit", "bring", "mexic"],
    ["excit", "recov", "peso"],
    ["bring", "bring", "bring", "excit"],
    ["rare", "peso"],  # which has occurred once before: twice are too few
]


def written(stories: list[list[str]], first: int) -> str:
    """Return stories as they are published: a number, two stems a line, a blank line."""
    text = ""
    for number, stems in enumerate(stories, start=first):
        lines = [" ".join(stems[i : i + 2]) for i in range(0, len(stems), 2)]
        text += "\n".join([f".I {number}", ".W", *lines, "", ""])
    return text


@pytest.fixture
def paths(tmp_path: Path) -> list[Path]:
    (tmp_path / "train.dat").write_text(written(STORIES[:1], 2286))
    (tmp_path / "test.dat.gz").write_bytes(gzip.compress(written(STORIES[1:], 26151).encode()))
    return [tmp_path / "train.dat", tmp_path / "test.dat.gz"]


def test_stories_become_counts_of_frequent_stems(paths: list[Path]) -> None:
    totals = Counter(stem for story in STORIES for stem in story)
    stems = sorted((stem for stem in totals if totals[stem] > 2), key=lambda stem: (-totals[stem], stem))
    table = read_rcv1(paths)
    assert table.feature_names == stems == ["bring", "excit", "recov"]
    assert table.X.toarray().tolist() == [[story.count(stem) for stem in stems] for story in STORIES]
    assert table.X.dtype == np.float32


def test_the_vocabulary_has_a_size_or_is_given(paths: list[Path]) -> None:
    assert read_rcv1(paths, n_words=2).feature_names == ["bring", "excit"]
    assert len(read_rcv1(paths, least_count=1).feature_names) == 6
    assert read_rcv1(paths, vocabulary=["rare", "none"]).X.toarray().tolist() == [[0, 0], [0, 0], [0, 0], [1, 0]]


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("words\n.I 1\n.W\na\n", 1, "has words outside a story"),
        (".I 1\n.W\na\n\n.I 2\nb\n", 6, "has words outside a story"),
        (".I one\n.W\na\n", 1, "begins a story without a number"),
        (".I 1\n.I 2\n.W\na\n", 2, "begins a story without a number, or in the middle of another's head"),
        (".I 1\n.W\na\n.W\n", 4, r"is \.W without a line \.I before it"),
    ],
)
def test_a_malformed_line_is_named(tmp_path: Path, text: str, line: int, reason: str) -> None:
    (tmp_path / "bad.dat").write_text(text)
    with pytest.raises(DataError, match=rf"^Line {line} of .*bad\.dat {reason}.*; get the published file"):
        read_rcv1([tmp_path / "bad.dat"])


@pytest.mark.parametrize("text", ["", "\n", ".I 1\n.W\na\n\n.I 2\n"])
def test_a_file_that_ends_early_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "cut.dat").write_text(text)
    with pytest.raises(DataError, match=r"cut\.dat ends in the middle of a story, or has none; get it again\.$"):
        read_rcv1([tmp_path / "cut.dat"])


def test_the_dataset_reads_its_files_in_order(tmp_path: Path) -> None:
    for number, name in enumerate(rcv1.TOKENS):
        (tmp_path / name).write_bytes(gzip.compress(written([["recov"] * (number + 3)], number).encode()))
    table: Any = rcv1._read("all", {name: tmp_path / name for name in reversed(rcv1.TOKENS)})
    assert (table.X.toarray().tolist(), table.feature_names) == ([[3], [4], [5], [6], [7]], ["recov"])


def test_without_the_files_it_is_said_what_to_put_where(tmp_path: Path, cache: Path) -> None:
    with pytest.raises(DataError) as caught:
        load_dataset("rcv1", data_dir=tmp_path)
    message = str(caught.value)
    assert message.startswith(f"lyrl2004_tokens_train.dat.gz of rcv1 is not on disk (looked in {tmp_path / 'rcv1'}, ")
    assert "lyrl2004_tokens_test_pt3.dat.gz there)" in message
    assert "lyrl2004_rcv1v2_README.htm put lyrl2004_tokens_train.dat.gz, " in message


def test_the_published_splits_are_described() -> None:
    rows = {split: shape[0] for split, shape in describe("rcv1").shapes.items()}
    assert rows == {"train": 794_414, "validation": 5000, "fit": 789_414, "test": 10_000, "all": 804_414}


def test_rows_of_vowpal_wabbit_are_read(tmp_path: Path) -> None:
    (tmp_path / "rows.dat").write_text("-1 |f 2:0.5 4:2.5e-1\n1 |f \n1 |f 1:1 \n")
    table = read_vowpal_wabbit(tmp_path / "rows.dat", 4)
    assert table.X.toarray().tolist() == [[0, 0.5, 0, 0.25], [0, 0, 0, 0], [1, 0, 0, 0]]
    assert table.y.tolist() == [-1, 1, 1]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("|f 1:1", "is not a whole-number label, a bar, a name and id:value pairs"),
        ("1 |f 1:1 2", "is not a whole-number label, a bar, a name and id:value pairs"),
        ("1 |f 1:x", "is not a whole-number label"),
        ("1 |f 5:1", "has an id outside 1 to 4"),
    ],
)
def test_a_malformed_row_is_named(tmp_path: Path, line: str, reason: str) -> None:
    (tmp_path / "rows.dat").write_text(f"1 |f 1:1\n{line}\n")
    with pytest.raises(DataError, match=rf"^Line 2 of .*rows\.dat {reason}.*; get the published file"):
        read_vowpal_wabbit(tmp_path / "rows.dat", 4)


@published("rcv1_small")
def test_the_published_small_rows() -> None:
    train, test = load_dataset("rcv1_small"), load_dataset("rcv1_small", split="test")
    assert (train.X.shape, train.X.nnz, np.bincount(train.y).tolist()) == ((1000, 47_236), 77_739, [541, 459])
    assert (test.X.shape, test.X.nnz, np.bincount(test.y).tolist()) == ((500, 47_236), 39_448, [255, 245])
    assert train.label_names == ["other", "corporate and industrial"]
    norms = np.sqrt(train.X.multiply(train.X).sum(axis=1))
    np.testing.assert_allclose(norms, 1, atol=1e-3)


def test_one_file_is_read_as_readily_as_several(paths: list[Path]) -> None:
    several = read_rcv1(paths[:1], least_count=1)
    for one in (paths[0], str(paths[0])):
        table = read_rcv1(one, least_count=1)
        assert (table.X != several.X).nnz == 0
        assert table.feature_names == several.feature_names


@pytest.mark.parametrize("given", [[], 3])
def test_no_files_are_refused(given: Any) -> None:
    with pytest.raises(FewhotError, match=r"^paths is .*; give the path of a file, or several\.$"):
        read_rcv1(given)


def test_a_vocabulary_that_is_a_text_is_refused(paths: list[Path]) -> None:
    with pytest.raises(InvalidParameterError, match="vocabulary is a text; give a list of words"):
        read_rcv1(paths, vocabulary="abc")


def test_a_file_without_rows_is_refused(tmp_path: Path) -> None:
    (tmp_path / "rows.dat").write_text("")
    with pytest.raises(DataError, match=r"rows\.dat has no rows; get the published file"):
        read_vowpal_wabbit(tmp_path / "rows.dat", 3)
