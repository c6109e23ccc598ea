"""20 Newsgroups as counts of lemmas, the form that ProdLDA and its successors are compared on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fewhot.data import DataFile, Table, read_features, register_dataset


def _read(part: str, files: Mapping[str, Path]) -> Table:
    table = read_features(files[f"{part}.feat"], files["vocab.new"])
    return Table(X=table.X, feature_names=table.feature_names)  # its labels are no groups


def register() -> None:
    """Add the dataset to the catalogue."""
    train = "6c4b612d03bb54c68c923ae7b689398c4a7bd1046b0874332dfe0a0c42830143"
    test = "5e5beaff3c66affeb08aeefb69e40e3e1c52360cdad2df03e7df2ecb6b79fad0"
    register_dataset(
        "newsgroups_prodlda",
        _read,
        title="20 Newsgroups: counts of 1,995 lemmas without stop words, after Srivastava and Sutton (2017); no labels",
        licence="none stated (collected by K. Lang, 1995); the posts belong to their authors, in wide research use",
        shapes={"train": (11_259, 1995), "test": (7488, 1995)},
        addresses=["https://raw.githubusercontent.com/sophieburkhardt/dirichlet-vae-topic-models/master/data/20news/"],
        files=[
            DataFile(name="train.feat", sha256=train, part="train"),
            DataFile(name="test.feat", sha256=test, part="test"),
            DataFile(name="vocab.new", sha256="75594f361e317a8c8fafca9846e903143ff25bb57ac4207ff850ef4245eb94bb"),
        ],
        folder="20newsgroups/prodlda1995",
        n_validation=500,
    )
