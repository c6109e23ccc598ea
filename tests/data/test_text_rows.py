"""Rows that are texts, from files and from datasets that have them."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fewhot.core.errors import DataError
from fewhot.data import Loaded, content_digest, open_data, read_file, split_rows

TEXTS = ["The sea, blue.", "", "Hot\tsun", "waves"]
KINDS = ["sea", "empty", "sun", "sea"]
PACKERS = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


def table(separator: str, stars: list[Any] | None = None) -> str:
    stars = KINDS if stars is None else stars
    lines = [f'{star}{separator}"{text}"' for star, text in zip(stars, TEXTS, strict=True)]
    return "\n".join([f"kind{separator}review", *lines]) + "\n"


def objects(labels: list[Any]) -> str:
    return "".join(
        json.dumps({"kind": label, "review": text}) + "\n" for label, text in zip(labels, TEXTS, strict=True)
    )


def written(folder: Path, name: str, content: str) -> Path:
    packed = next((ending for ending in PACKERS if ending and name.endswith(ending)), "")
    (folder / name).write_bytes(PACKERS[packed](content.encode()))
    return folder / name


@pytest.mark.parametrize("packed", PACKERS)
@pytest.mark.parametrize(
    ("ending", "content"), [(".csv", table(",")), (".tsv", table("\t")), (".jsonl", objects(KINDS))]
)
def test_a_column_of_texts_is_read_with_its_labels(tmp_path: Path, ending: str, content: str, packed: str) -> None:
    loaded = open_data(written(tmp_path, f"r{ending}{packed}", content), text="review", label="kind")
    assert loaded.holds_texts
    assert loaded.X.tolist() == TEXTS
    assert loaded.label_names == ["empty", "sea", "sun"]
    assert [loaded.label_names[label] for label in loaded.y] == KINDS
    assert (len(loaded), loaded.tokeniser, loaded.feature_names) == (4, None, None)


@pytest.mark.parametrize("packed", PACKERS)
def test_every_line_of_a_txt_file_is_a_text(tmp_path: Path, packed: str) -> None:
    loaded = open_data(written(tmp_path, f"r.txt{packed}", "few hot\n\n\ufeffcold\r\n"))
    assert loaded.holds_texts
    assert loaded.X.tolist() == ["few hot", "", "\ufeffcold"]
    assert loaded.y is None


@pytest.mark.parametrize(
    "content", [table(",", [4, 1, 3, 4]), objects([4, 1, 3, 4]), objects([4.0, 1, 3, 4]), objects(["4", 1, "3", 4])]
)
def test_whole_numbers_are_labels_as_they_are(tmp_path: Path, content: str) -> None:
    ending = ".csv" if content.startswith("kind") else ".jsonl"
    loaded = open_data(written(tmp_path, f"r{ending}", content), text="review", label="kind")
    assert loaded.y.tolist() == [4, 1, 3, 4]
    assert loaded.label_names is None


def test_labels_of_a_table_may_be_named_by_place(tmp_path: Path) -> None:
    assert read_file(written(tmp_path, "r.tsv", table("\t")), text="review", label=0).label_names[-1] == "sun"


def test_the_digest_covers_texts_and_labels(tmp_path: Path) -> None:
    path = written(tmp_path, "r.csv", table(","))
    loaded = open_data(path, text="review", label="kind")
    assert loaded.digest == open_data(written(tmp_path, "r.tsv", table("\t")), text="review", label="kind").digest
    others = [
        open_data(path, text="review"),
        open_data(path, text="kind"),
        open_data(written(tmp_path, "s.csv", table(",", KINDS[::-1])), text="review", label="kind"),
    ]
    assert len({loaded.digest, *(other.digest for other in others)}) == 4


def test_a_digest_knows_where_texts_end() -> None:
    digests = {content_digest(np.array(texts, dtype=object)) for texts in (["a\nb", "c"], ["a", "b\nc"], ["ab", "c"])}
    assert len(digests) == 3
    assert content_digest(np.array(["\udce4"], dtype=object)) not in digests


@pytest.mark.parametrize("split", ["train", "test", "validation", "fit", "all"])
def test_texts_are_split_and_taken_like_rows(tmp_path: Path, split: str) -> None:
    content = "review,stars\n" + "".join(f"text {row},{row}\n" for row in range(50))
    path = written(tmp_path, "r.csv", content)
    loaded = open_data(path, split, text="review", label="stars")
    rows = split_rows(50, split)
    assert loaded.y.tolist() == rows.tolist()
    assert loaded.X.tolist() == [f"text {row}" for row in rows]
    assert loaded.digest == content_digest(loaded.X, loaded.y)
    assert open_data(path, text="review").take(np.array([3, 1])).X.tolist() == ["text 3", "text 1"]


def corpus() -> Loaded:
    return Loaded(
        X=np.array([[1, 1], [0, 2]], np.float32),
        y=np.array([0, 1]),
        name="corpus",
        split="train",
        image_shape=None,
        feature_names=["few", "hot"],
        licence="CC0",
        digest="",
        label_names=["a", "b"],
        texts=["few hot", "hot hot"],
    )


def test_a_corpus_gives_its_texts_as_rows_that_are_cut_already(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fewhot.data.opening.dataset_names", lambda: ["corpus"])
    monkeypatch.setattr("fewhot.data.opening.load_dataset", lambda *_, **__: corpus())
    loaded = open_data("corpus", texts=True)
    assert loaded.X.tolist() == ["few hot", "hot hot"]
    assert (loaded.tokeniser, loaded.feature_names, loaded.texts) == ("spaces", ["few", "hot"], None)
    assert loaded.digest == content_digest(loaded.X, loaded.y)
    assert loaded.as_texts() is loaded
    assert open_data("corpus").X.shape == (2, 2)


@pytest.mark.parametrize(
    ("name", "content", "arguments", "sentence"),
    [
        (
            "r.csv",
            table(","),
            {"text": "body"},
            r"has no column 'body'; its first line has 'kind', 'review': name .* text=\.",
        ),
        (
            "r.csv",
            table(","),
            {"text": "review", "label": "kid"},
            r"no column 'kid' for the labels\. Did you mean 'kind'",
        ),
        ("r.csv", "a,a\nx,y\n", {"text": "a"}, "has 2 columns called 'a'; give each its own name"),
        ("r.csv", "kind,review\n1,a,b\n", {"text": "review"}, "^Line 2 of .* has 3 cells where the first line has 2"),
        ("r.csv", "kind,review\n", {"text": "review"}, "has no texts; give a file with at least one"),
        ("r.csv", "", {"text": "review"}, "is empty; write it again"),
        (
            "r.jsonl",
            '{"review": 5}\n',
            {"text": "review"},
            r"^Line 1 of .* no field 'review' that is a string; .* text=\.",
        ),
        (
            "r.jsonl",
            '{"review": "a"}\n',
            {"text": "review", "label": "kind"},
            "^Line 1 of .* no field 'kind' for the label",
        ),
        ("r.jsonl", objects([0.5, 1, 2, 3]), {"text": "review", "label": "kind"}, "labels that are not whole numbers"),
        ("r.txt", "", {}, "is empty; write it again"),
        (
            "r.txt",
            "few\n",
            {"text": "review"},
            r"^text is 'review', and .*r\.txt has no columns, .*; leave text= out\.",
        ),
        ("r.txt", "few\n", {"label": "kind"}, r"^label is 'kind', and .*r\.txt has no columns, .* give a \.csv"),
        ("r.npy", "few\n", {"text": "review"}, r"r\.npy is no file of texts by its name; give one that ends in \.txt"),
        (
            "r.csv",
            table(","),
            {"texts": True},
            r"^texts=True is for datasets, and .* name its column of texts by text=\.",
        ),
        ("r.txt", "few\n", {"split": "everything"}, "split is 'everything'"),
    ],
)
def test_what_cannot_be_read_as_texts_is_told_in_a_sentence(
    tmp_path: Path, name: str, content: str, arguments: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence) as caught:
        open_data(written(tmp_path, name, content), **arguments)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["r.txt", "r.csv"])
def test_another_encoding_is_told_with_the_line(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes("review\ncaf\xe9\n".encode("latin-1"))
    with pytest.raises(DataError, match=r"^Line 2 of .* is not text in UTF-8; .* save it in UTF-8\.$"):
        open_data(tmp_path / name, text=None if name == "r.txt" else "review")


def test_datasets_without_texts_or_columns_say_so() -> None:
    with pytest.raises(DataError, match=r"^digits has no texts; leave out texts=True, or name a dataset of texts\.$"):
        open_data("digits", texts=True)
    with pytest.raises(DataError, match=r"^text is 'review', and the dataset digits has no columns; give texts=True"):
        open_data("digits", text="review")


def test_texts_are_not_their_own_labels(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"^text and label are both 'review'; name a column of labels of its own"):
        open_data(written(tmp_path, "r.csv", table(",")), text="review", label="review")
