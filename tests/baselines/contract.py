"""What every recommender promises, whatever its model.

A module of tests takes all of it by ``from tests.baselines.contract import *`` and says which recommenders it is about
by ``EVERY`` and ``PERSONAL``; `tests.baselines.cases.SMALL` has the arguments of each.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import fewhot as fh
from fewhot.core.errors import InvalidInputError, InvalidParameterError
from fewhot.metrics import ranking
from tests.baselines.cases import histories, recommender, two_tastes
from tests.estimators.cases import assert_one_sentence


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test for each recommender that the module which has it is about."""
    for argument, names in (("name", "EVERY"), ("personal", "PERSONAL")):
        if argument in metafunc.fixturenames:
            metafunc.parametrize(argument, getattr(metafunc.module, names))


def slow_lists(scores: np.ndarray, seen: np.ndarray, n: int) -> list[list[int]]:
    lists = []
    for row, has in zip(scores, seen, strict=True):
        items = sorted((item for item in range(len(row)) if not has[item]), key=lambda item: (-row[item], item))
        lists.append((items + [-1] * n)[:n])
    return lists


def test_lists_are_the_sorted_scores_without_what_was_seen(name: str) -> None:
    X = histories()
    model = recommender(name).fit(X)
    ids, scores = model.recommend(X, n=4)
    everything = model.score_items(X)
    assert ids.tolist() == slow_lists(everything, X.toarray() > 0, 4)
    listed = ids >= 0
    found = np.take_along_axis(everything, np.maximum(ids, 0), axis=1)
    assert np.array_equal(scores[listed], found[listed])
    assert np.isneginf(scores[~listed]).all()


def test_seen_items_are_listed_on_request(name: str) -> None:
    X = histories()
    model = recommender(name).fit(X)
    ids, _ = model.recommend(X, n=3, exclude_seen=False)
    assert ids.tolist() == slow_lists(model.score_items(X), np.zeros(X.shape, dtype=bool), 3)


def test_each_taste_gets_the_item_it_misses(personal: str) -> None:
    X = two_tastes()
    ids, _ = recommender(personal).fit(X).recommend(X, n=1)
    assert (ids[:, 0] % 2 == np.arange(X.shape[0]) % 2).all()


def test_new_users_need_no_fit(personal: str) -> None:
    model = recommender(personal).fit(two_tastes())
    ids, _ = model.recommend(np.array([[1, 0, 1, 0, 0, 0, 0, 0, 0, 0], [0, 1, 0, 1, 0, 0, 0, 0, 0, 0]]), n=3)
    assert (ids % 2 == [[0], [1]]).all()


def test_similar_items_are_of_one_taste(personal: str) -> None:
    model = recommender(personal).fit(two_tastes())
    ids, scores = model.similar_items([0, 3], n=2)
    assert (ids % 2 == [[0], [1]]).all()
    assert not (ids == [[0], [3]]).any()
    assert model.similar_items(0, n=2)[0].tolist() == ids[:1].tolist()
    assert model.similar_items(0, n=20)[0][0, 9:].tolist() == [-1] * 11
    assert scores.shape == (2, 2)


@pytest.mark.parametrize("items", [[-1], [10], [], 0.5, "a", [[0]]])
def test_items_that_are_no_columns_are_refused(personal: str, items: Any) -> None:
    model = recommender(personal).fit(two_tastes())
    with pytest.raises(InvalidInputError, match="items") as caught:
        model.similar_items(items)
    assert_one_sentence(caught.value)


def test_chunks_leave_no_trace(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X = histories()
    model = recommender(name).fit(X)
    whole = model.recommend(X, n=4), model.score_items(X)
    monkeypatch.setattr(ranking, "_CHUNK_ELEMENTS", 3 * X.shape[1])
    parts = model.recommend(X, n=4), model.score_items(X)
    assert np.array_equal(whole[0][0], parts[0][0])
    assert parts[1] == pytest.approx(whole[1], abs=1e-5)


def test_a_list_longer_than_the_items_ends_in_no_item(name: str) -> None:
    X = histories()
    ids, scores = recommender(name).fit(X).recommend(X, n=20)
    left = X.shape[1] - np.diff(X.indptr)
    assert ids.shape == scores.shape == (40, 20)
    assert ((ids >= 0).sum(axis=1) == left).all()
    assert np.isneginf(scores[ids == -1]).all()


def test_a_user_without_items_gets_a_list(name: str) -> None:
    X = histories().toarray()
    X[3] = 0
    model = recommender(name).fit(X)
    with pytest.warns(UserWarning, match="Nothing is known of 1 of 40 users"):
        ids, scores = model.recommend(X, n=9)
    assert sorted(ids[3].tolist()) == list(range(9))
    assert np.isfinite(scores[3]).all()


def test_an_item_that_nobody_has_is_no_obstacle(name: str) -> None:
    X = histories().toarray()
    X[:, 4] = 0
    assert np.isfinite(recommender(name).fit(X).score_items(X)).all()


def test_the_layout_of_a_matrix_does_not_matter(name: str) -> None:
    X = histories()
    model = recommender(name).fit(X)
    rows, columns = X.nonzero()
    backwards = np.concatenate([np.arange(X.indptr[u], X.indptr[u + 1])[::-1] for u in range(X.shape[0])])
    unsorted = sp.csr_array((X.data[backwards], X.indices[backwards], X.indptr.copy()), shape=X.shape)
    halves = sp.coo_array((np.full(2 * X.nnz, 0.5), (np.tile(rows, 2), np.tile(columns, 2))), shape=X.shape)
    with_zeros = sp.csr_array(np.ones(X.shape, dtype=np.float32))
    with_zeros.data[:] = X.toarray().ravel()
    wide = sp.csr_array(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    arrays = [X.toarray().astype(dtype) for dtype in (np.float32, bool, np.float16)]
    for same in (unsorted, halves, with_zeros, wide, *arrays, sp.csc_matrix(X), pd.DataFrame(X.toarray())):
        again = clone(model).fit(same)
        assert again.score_items(same) == pytest.approx(model.score_items(X), abs=1e-4)
        assert np.array_equal(again.recommend(same, n=3)[0] == -1, model.recommend(X, n=3)[0] == -1)


def test_the_matrix_given_is_left_as_it_was(name: str) -> None:
    X = sp.csr_array((np.ones(4), np.array([2, 0, 0, 1]), np.array([0, 3, 4])), shape=(2, 3))
    before = X.data.copy(), X.indices.copy(), X.indptr.copy()
    recommender(name).fit(X).recommend(X, n=1)
    assert all(map(np.array_equal, before, (X.data, X.indices, X.indptr)))


def _changed(value: float) -> np.ndarray:
    X = histories().toarray()
    X[1, 2] = value
    return X


BAD = {
    "negative": (_changed(-1.0), "X holds -1; give 0"),
    "nan": (_changed(np.nan), "contains NaN; impute or drop"),
    "infinite": (_changed(np.inf), "contains infinity"),
    "huge": (_changed(1e30), "as large as 1e\\+30; rescale"),
    "no users": (np.empty((0, 9)), "minimum of 1 is required.*; give at least one row"),
    "one user as a vector": (np.ones(9), "[Rr]eshape"),
}


@pytest.mark.parametrize("kind", BAD)
@pytest.mark.parametrize("sparse", [False, True])
def test_histories_that_make_no_sense_are_refused(name: str, kind: str, sparse: bool) -> None:
    X, sentence = BAD[kind]
    X = sp.coo_array(X) if sparse and X.ndim == 2 else X
    model = recommender(name).fit(histories())
    for verb in (recommender(name).fit, model.recommend, model.score_items):
        with pytest.raises(InvalidInputError, match=sentence) as caught:
            verb(X)
        assert_one_sentence(caught.value)


def test_histories_of_nothing_are_refused(name: str) -> None:
    with pytest.raises(InvalidInputError, match=r"nothing but zeros|no entry above 0") as caught:
        recommender(name).fit(sp.csr_array((6, 4)))
    assert_one_sentence(caught.value)


def test_other_columns_are_refused(name: str) -> None:
    model = recommender(name).fit(histories())
    with pytest.raises(InvalidInputError, match=r"X has 8 features.*; pass the columns it was fitted on") as caught:
        model.recommend(histories(n_items=8))
    assert_one_sentence(caught.value)


def test_a_matrix_the_wrong_way_round_is_recognised(name: str) -> None:
    X = histories()
    model = recommender(name).fit(X)
    with pytest.raises(InvalidInputError, match=r"fitted on 40 users and 9 items; pass X.T") as caught:
        model.recommend(X.T)
    assert_one_sentence(caught.value)


@pytest.mark.parametrize("n", [0, -1, 2.5, True, None])
def test_a_length_that_is_none_is_refused(name: str, n: Any) -> None:
    X = histories()
    with pytest.raises(InvalidParameterError, match=r"n is .*; it must be a whole number"):
        recommender(name).fit(X).recommend(X, n=n)


def test_a_list_far_longer_than_the_items_is_refused(name: str) -> None:
    X = histories()
    with pytest.raises(InvalidParameterError, match="there are 9 items; give at most") as caught:
        recommender(name).fit(X).recommend(X, 10**9)
    assert_one_sentence(caught.value)


def test_another_default_precision_of_torch_changes_nothing(name: str) -> None:
    X = histories()
    usual = recommender(name).fit(X).score_items(X)
    torch.set_default_dtype(torch.float64)
    try:
        assert np.array_equal(recommender(name).fit(X).score_items(X), usual)
    finally:
        torch.set_default_dtype(torch.float32)


def test_nothing_is_recommended_before_a_fit(name: str) -> None:
    with pytest.raises(NotFittedError):
        recommender(name).recommend(histories())


def test_a_seed_gives_the_same_recommender(name: str) -> None:
    X = histories()
    one, other = recommender(name).fit(X), recommender(name).fit(X)
    assert np.array_equal(one.score_items(X), other.score_items(X))


def test_what_is_loaded_is_what_was_saved(name: str, tmp_path: Path) -> None:
    X = histories()
    model = recommender(name).fit(X)
    model.save(tmp_path / "run")
    again = fh.load(tmp_path / "run")
    assert type(again) is type(model)
    assert again.get_params() == model.get_params()
    assert {key for key in vars(again) if key.endswith("_")} == {key for key in vars(model) if key.endswith("_")}
    assert np.array_equal(again.score_items(X), model.score_items(X))
    again.save(tmp_path / "run")  # over itself
    assert np.array_equal(fh.load(tmp_path / "run").recommend(X)[0], model.recommend(X)[0])


def test_a_process_that_has_not_imported_it_loads_it(name: str, tmp_path: Path) -> None:
    recommender(name).fit(histories()).save(tmp_path)
    code = f"import fewhot; print(type(fewhot.load({str(tmp_path)!r})).__name__)"
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert finished.stdout == f"{name}\n", finished.stderr
