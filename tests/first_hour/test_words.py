"""Words that mean something: what is shown for units goes together in documents that nothing was fitted on."""

from __future__ import annotations

import os
import tarfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer

import fewhot as fh
from fewhot.data import describe, load_dataset
from fewhot.metrics import code_words, top_words, topic_coherence, topic_diversity

NEWS = "newsgroups_nvdm"
N_POSTS = 2500


@cache
def news() -> tuple[Any, Any, list[str]]:
    """Return counts of 2,000 words in training and test posts, and the words."""
    train, test = load_dataset(NEWS, "train"), load_dataset(NEWS, "test")
    return train.X, test.X, list(train.feature_names)


@cache
def raw_posts() -> tuple[Any, Any, list[str]]:
    """Return counts of 10,000 words, the common ones too, in 2,500 posts and in others."""
    folder = os.environ.get("FEWHOT_DATA")
    file = Path(folder or ".") / "20newsgroups_raw" / "20news-bydate.tar.xz"
    if folder is None or not file.is_file():
        pytest.skip("FEWHOT_DATA names no folder with the posts of 20 Newsgroups")
    with tarfile.open(file) as archive:
        posts = [
            (member.name, archive.extractfile(member).read().decode("latin1")) for member in archive if member.isfile()
        ]
    bodies = {
        part: [text.partition("\n\n")[2] for name, text in posts if part in name.split("/")[0]]
        for part in ("train", "test")
    }
    some = np.random.default_rng(0).permutation(len(bodies["train"]))[:N_POSTS]
    count = CountVectorizer(max_features=10_000, min_df=2, token_pattern="[A-Za-z]{2,}")
    train = sp.csr_array(count.fit_transform([bodies["train"][row] for row in some]).astype(np.float32))
    test = sp.csr_array(count.transform(bodies["test"]).astype(np.float32))
    return train, test, count.get_feature_names_out().tolist()


on_disk = pytest.mark.skipif(
    not describe(NEWS).on_disk, reason=f"needs the published files of {NEWS}: set FEWHOT_DATA to a folder that has them"
)


def median_documents(lists: list[list[int]], X: Any) -> float:
    """Return in how many documents the median shown word is."""
    held_by = np.bincount(X.indices, minlength=X.shape[1])
    return float(np.median([held_by[column] for columns in lists for column in columns]))


@on_disk
def test_the_words_of_a_small_model_go_together_in_other_posts() -> None:
    X, test, words = news()
    rows = np.random.default_rng(0).permutation(X.shape[0])[:3000]
    model = fh.NFA(16, n_layers=1, hidden_layer_sizes=(64,), batch_size=200, learning_rate=5e-3, max_steps=200)
    model.set_params(random_state=0).fit(X[rows])
    found = top_words(model, 10, vocabulary=words)
    assert topic_coherence(found, test).mean > 0.15
    assert median_documents(found.lists, X[rows]) > 30
    assert all(list(said) in ([], ["when high", "when low"]) for said in found.in_words())


@on_disk
def test_codes_of_groups_have_the_words_of_their_groups() -> None:
    X, test, words = news()
    y = load_dataset(NEWS, "train").y
    rows = np.random.default_rng(0).permutation(X.shape[0])[:4000]
    codes = sp.csr_array(np.eye(20)[y[rows]])
    found = code_words(codes, X[rows], 10, vocabulary=words)
    said = dict(zip(range(20), found.up, strict=True))
    for group, word in ((10, "hockey"), (14, "space"), (11, "encryption"), (8, "bike"), (13, "medical"), (7, "car")):
        assert word in said[group], (group, said[group])
    assert topic_coherence(found, test).mean > 0.2
    assert topic_diversity(found) > 0.6


@pytest.mark.slow
def test_the_words_of_a_first_fit_of_posts_with_all_their_words() -> None:
    train, test, words = raw_posts()
    found = top_words(fh.NFA(random_state=0).fit(train), 10, vocabulary=words)
    assert topic_coherence(found, test).mean > 0.2
    assert median_documents(found.lists, train) > 15
