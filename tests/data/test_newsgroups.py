"""20 Newsgroups: the published counts, and counts made from posts."""

from __future__ import annotations

import gzip
import io
import re
import tarfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fewhot.core.errors import DataError, InvalidParameterError
from fewhot.data import as_dataset, describe, load_dataset, newsgroups, read_features, read_newsgroups
from fewhot.data.newsgroups import GROUPS

from .known import published

POSTS = {
    "train": {
        ("alt.atheism", "100"): "From: someone@here\nSubject: words of the header\n\nThe sun, the sea: SUN-sea!\n",
        ("alt.atheism", "99"): "From: x\r\n\r\nThe 3 seas\r\n\r\nand the sun\r\n",
        ("sci.space", "5"): "Subject: no body",
        ("sci.space", "7"): "Lines: 1\n\nsun caf\xe9 sun\n",
    },
    "test": {("sci.space", "8"): "From: y\n\nmoon sun moon moon\n", ("alt.atheism", "9"): "\n\nthe sea\n"},
}


def unpacked(folder: Path) -> Path:
    for part, posts in POSTS.items():
        for (group, name), text in posts.items():
            place = folder / f"20news-bydate-{part}" / group / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(text.encode("latin-1"))
    return folder


def archive(path: Path) -> Path:
    with tarfile.open(path, "w:gz") as packed:
        for part, posts in POSTS.items():
            for (group, name), text in posts.items():
                member = tarfile.TarInfo(f"20news-bydate-{part}/{group}/{name}")
                member.size = len(text.encode("latin-1"))
                packed.addfile(member, io.BytesIO(text.encode("latin-1")))
    return path


def obvious_counts(part: str, vocabulary: list[str]) -> list[list[int]]:
    """Count by hand: posts by group and name, their bodies' runs of a to z."""
    rows = []
    for key in sorted(POSTS[part]):
        body = re.split(r"\r?\n\r?\n", POSTS[part][key], maxsplit=1)[1:] or [""]
        counts = Counter(re.sub("[^a-z]", " ", body[0].lower()).split())
        rows.append([counts[word] for word in vocabulary])
    return rows


@pytest.mark.parametrize("packed", [False, True], ids=["folder", "archive"])
@pytest.mark.parametrize("part", ["train", "test"])
def test_posts_become_counts_of_the_training_posts_words(tmp_path: Path, part: str, packed: bool) -> None:
    source = archive(tmp_path / "20news-bydate.tar.gz") if packed else unpacked(tmp_path)
    table = read_newsgroups(source, part, n_words=3)
    assert table.feature_names == ["sun", "the", "sea"]  # 5 and 4 times, and twice, as no other word
    assert table.X.toarray().tolist() == obvious_counts(part, table.feature_names)
    assert table.label_names == ["alt.atheism", "sci.space"]
    assert table.y.tolist() == ([0, 0, 1, 1] if part == "train" else [0, 1])


def test_the_dataset_reads_the_archive(tmp_path: Path) -> None:
    table: Any = newsgroups._read_posts("test", {newsgroups.ARCHIVE: archive(tmp_path / "posts")})
    assert table.X.toarray().tolist() == obvious_counts("test", table.feature_names)
    assert "moon" not in table.feature_names


def test_a_vocabulary_may_be_given(tmp_path: Path) -> None:
    table = read_newsgroups(unpacked(tmp_path), "test", vocabulary=["moon", "words"])
    assert (table.feature_names, table.X.toarray().tolist()) == (["moon", "words"], [[0, 0], [3, 0]])


def test_a_folder_of_classes_is_read_whole(tmp_path: Path) -> None:
    table = read_newsgroups(unpacked(tmp_path) / "20news-bydate-test", None, n_words=10)
    assert table.feature_names == ["moon", "sea", "sun", "the"]
    assert table.X.toarray().tolist() == [[0, 1, 0, 1], [3, 0, 1, 0]]


def test_what_is_no_collection_of_posts_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameterError, match="part is 'fit'; it must be one of 'train', 'test', None"):
        read_newsgroups(unpacked(tmp_path), "fit")
    with pytest.raises(
        DataError, match=r"20news-bydate-train is not there; unpack 20news-bydate\.tar\.gz in .*part=None"
    ):
        read_newsgroups(tmp_path / "20news-bydate-test", "train")
    with pytest.raises(DataError, match="has no folder with posts; give a folder that has a folder a class"):
        read_newsgroups(tmp_path / "20news-bydate-test" / "sci.space", None)
    with pytest.raises(DataError, match="is no folder of classes; give part='train' or part='test' for the archive"):
        read_newsgroups(archive(tmp_path / "posts.tar.gz"), None)
    whole = (tmp_path / "posts.tar.gz").read_bytes()
    (tmp_path / "posts.tar.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match=r"posts\.tar\.gz is not there, cut off or no tar archive; get 20news"):
        read_newsgroups(tmp_path / "posts.tar.gz")
    with tarfile.open(tmp_path / "empty.tar", "w"):
        pass
    with pytest.raises(DataError, match=r"empty\.tar has no folder 20news-bydate-train; get the published"):
        read_newsgroups(tmp_path / "empty.tar")


def test_counts_in_the_published_form_are_read(tmp_path: Path) -> None:
    (tmp_path / "vocab.new").write_text("sun 3\nsea 4\nair 0 \n")
    (tmp_path / "train.feat.gz").write_bytes(gzip.compress(b"2 2:1 1:3\n1 \n20 2:1 3:2 2:2\n"))
    table = read_features(tmp_path / "train.feat.gz", tmp_path / "vocab.new")
    assert table.X.toarray().tolist() == [[3, 1, 0], [0, 0, 0], [0, 3, 2]]
    assert (table.y.tolist(), table.feature_names) == ([2, 1, 20], ["sun", "sea", "air"])


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("1 2:1 1", "is not a label and id:count pairs of whole numbers"),
        ("1 2:1 1:", "is not a label and id:count pairs of whole numbers"),
        ("one 2:1", "is not a label"),
        ("", "is not a label"),
        ("1 3:1", "has an id outside 1 to 2 or a count below 1"),
        ("1 0:1", "has an id outside 1 to 2 or a count below 1"),
        ("1 1:0", "has an id outside 1 to 2 or a count below 1"),
    ],
)
def test_a_malformed_line_is_named(tmp_path: Path, line: str, reason: str) -> None:
    (tmp_path / "vocab.new").write_text("sun 3\nsea 4\n")
    (tmp_path / "test.feat").write_text(f"1 1:1\n{line}\n")
    with pytest.raises(DataError, match=rf"^Line 2 of .*test\.feat {reason}.*; get the published file"):
        read_features(tmp_path / "test.feat", tmp_path / "vocab.new")


def test_a_malformed_vocabulary_is_named(tmp_path: Path) -> None:
    (tmp_path / "vocab.new").write_text("sun 3\nsea\n")
    with pytest.raises(DataError, match=r"^Line 2 of .*vocab\.new is not a word and its count"):
        read_features(tmp_path / "test.feat", tmp_path / "vocab.new")


@published("newsgroups_nvdm")
def test_the_published_2000_words() -> None:
    train, test = load_dataset("newsgroups_nvdm"), load_dataset("newsgroups_nvdm", split="test")
    assert (train.X.shape, train.X.nnz, train.X.sum(dtype=np.float64)) == ((11_268, 2000), 729_545, 1_128_881)
    assert (test.X.shape, test.X.nnz, test.X.sum(dtype=np.float64)) == ((7505, 2000), 477_078, 720_898)
    assert train.feature_names[:2] == ["who", "out"]
    assert (train.label_names, sorted(set(train.y.tolist()))) == (list(GROUPS), list(range(20)))
    assert as_dataset(train.X).spec.integral


@published("newsgroups_nvdm")
def test_500_training_documents_are_for_validation() -> None:
    fit, validation = (load_dataset("newsgroups_nvdm", split=split) for split in ("fit", "validation"))
    assert (len(fit), len(validation)) == (10_768, 500)
    assert fit.X.sum(dtype=np.float64) + validation.X.sum(dtype=np.float64) == 1_128_881


@published("newsgroups_nvdm")
def test_other_training_counts_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "20newsgroups" / "nvdm2000"
    folder.mkdir(parents=True)
    original = describe("newsgroups_nvdm").folder
    for name in ("vocab.new.gz", "test.feat.gz"):
        (folder / name).write_bytes((original / name).read_bytes())
    lines = gzip.decompress((original / "train.feat.gz").read_bytes()).splitlines(keepends=True)
    (folder / "train.feat").write_bytes(b"".join(reversed(lines)))
    assert load_dataset("newsgroups_nvdm", data_dir=tmp_path).X.nnz == 729_545  # the order of documents is free
    (folder / "train.feat").write_bytes(b"".join(lines[1:]) + b"1 1:1\n")
    with pytest.raises(DataError, match=r"train\.feat has other counts than vocab\.new, first of the word 'who'"):
        load_dataset("newsgroups_nvdm", data_dir=tmp_path)


def test_the_training_counts_are_got_by_hand(tmp_path: Path, cache: Path) -> None:
    with pytest.raises(DataError) as caught:
        load_dataset("newsgroups_nvdm", data_dir=tmp_path)
    message = str(caught.value)
    assert message.startswith(
        f"train.feat of newsgroups_nvdm is not on disk (looked in {tmp_path}/20newsgroups/nvdm2000"
    )
    assert "get it by hand, for it has no published checksum (from https://github.com/ysmiao/nvdm put train.feat, " in (
        message
    )


@published("newsgroups_posts")
def test_the_published_posts() -> None:
    test = load_dataset("newsgroups_posts", split="test")
    assert test.X.shape == (7532, 2000)


def test_paths_of_counts_may_be_strings(tmp_path: Path) -> None:
    (tmp_path / "counts").write_text("1 1:2 2:1\n")
    (tmp_path / "words").write_text("sun 2\nsea 1\n")
    table = read_features(str(tmp_path / "counts"), str(tmp_path / "words"))
    assert table.X.toarray().tolist() == [[2, 1]]


def test_counts_of_no_documents_are_refused(tmp_path: Path) -> None:
    (tmp_path / "counts").write_text("")
    (tmp_path / "words").write_text("sun 2\n")
    with pytest.raises(DataError, match="counts has no documents; get the published file"):
        read_features(tmp_path / "counts", tmp_path / "words")
