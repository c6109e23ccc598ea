"""20 Newsgroups as counts of lemmas."""

from __future__ import annotations

from fewhot.data import load_dataset
from tests.data.known import published


@published("newsgroups_prodlda")
def test_the_published_1995_lemmas() -> None:
    train, test = load_dataset("newsgroups_prodlda"), load_dataset("newsgroups_prodlda", split="test")
    assert (train.X.shape, test.X.shape, train.y) == ((11_259, 1995), (7488, 1995), None)
    assert (train.X.nnz, test.X.nnz) == (629_540, 410_358)
    assert train.feature_names[:2] == ["_eos_", "write"]
    assert train.X[:, [0]].nnz == 0
    assert (train.X[-1:].nnz, test.X[-1:].nnz) == (0, 0)  # the last line of each is empty
