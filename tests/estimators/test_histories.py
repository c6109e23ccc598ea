"""Every recommender takes lists of items and frames of pairs, and recommends items by their names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import fewhot as fh
from fewhot.baselines import EASE, MultVAE, Popularity
from fewhot.core.errors import FewhotError
from fewhot.metrics import evaluate_recommender
from tests.baselines.cases import EVERY, PERSONAL, recommender, two_tastes

from .cases import SMALL, assert_one_sentence

NAMES = [f"item {letter}" for letter in "abcdefghij"]
NFAS = {"NFA": lambda: fh.NFA(**SMALL), "MultVAE": lambda: MultVAE(**SMALL)}
MODELS = {**{name: lambda name=name: recommender(name) for name in EVERY}, **NFAS}
every = pytest.mark.parametrize("name", MODELS)


def as_lists(X: Any) -> list[list[str]]:
    return [[NAMES[column] for column in row.nonzero()[0]] for row in X.toarray()]


def as_pairs(X: Any) -> dict[str, list[Any]]:
    users, items = X.nonzero()
    return {"user": users.tolist(), "item": [NAMES[item] for item in items], "rating": X.data.tolist()}


@every
def test_all_forms_fit_and_recommend_alike(name: str, tmp_path: Path) -> None:
    X = two_tastes()
    plain = MODELS[name]().fit(X)
    columns, scores = plain.recommend(X, 3)
    for fit, forms in (
        (as_lists(X), [as_lists(X), pd.DataFrame(as_pairs(X)), X]),
        (pl.DataFrame(as_pairs(X)), [X]),
        (pd.DataFrame(X.toarray(), columns=NAMES), [pd.DataFrame(X.toarray(), columns=NAMES), as_lists(X)]),
    ):
        model = MODELS[name]().fit(fit)
        for form in forms:
            items, values = model.recommend(form, 3)
            assert items.tolist() == [[NAMES[column] for column in row] for row in columns]
            np.testing.assert_allclose(values, scores, rtol=1e-5)
    model.save(tmp_path)
    assert fh.load(tmp_path).recommend(as_lists(X), 3)[0].tolist() == items.tolist()


@every
def test_names_are_saved(name: str, tmp_path: Path) -> None:
    model = MODELS[name]().fit(as_lists(two_tastes()))
    model.save(tmp_path)
    again = fh.load(tmp_path)
    assert again.items_.tolist() == model.items_.tolist() == NAMES
    assert again.recommend([NAMES[:2]], 2)[0].tolist() == model.recommend([NAMES[:2]], 2)[0].tolist()


@pytest.mark.parametrize("name", [*PERSONAL, *NFAS])
def test_items_like_one_by_its_name(name: str) -> None:
    X = two_tastes()
    model = MODELS[name]().fit(as_lists(X))
    plain = MODELS[name]().fit(X)
    columns = plain.similar_items(2, 3)[0]
    assert model.similar_items(NAMES[2], 3)[0].tolist() == [[NAMES[column] for column in columns[0]]]
    with pytest.raises(FewhotError, match="has 'tea', which was not in the fit") as caught:
        model.similar_items(["tea"])
    assert_one_sentence(caught.value)


def test_whole_numbers_are_names_too() -> None:
    model = EASE(2.0).fit([[10, 20], [10, 20, 30], [40]])
    assert model.recommend([[10]], 1)[0].tolist() == [[20]]
    assert model.similar_items(10, 1)[0].tolist() == [[20]]
    assert model.recommend([[10, 20, 30]], 2)[0].tolist() == [[40, None]]


def test_a_model_of_a_matrix_takes_lists_of_columns() -> None:
    X = two_tastes()
    model = EASE(2.0).fit(X)
    assert model.recommend([[0, 2]], 3)[0].tolist() == model.recommend(np.eye(10)[[0]] + np.eye(10)[[2]], 3)[0].tolist()


def test_weights_are_never_taken_for_items() -> None:
    stars = pd.DataFrame({"user": ["u1", "u1", "u2"], "stars": [3, 4, 5]})
    for model in (EASE(2.0).fit(two_tastes()), EASE(2.0).fit(as_lists(two_tastes()))):
        with pytest.raises(FewhotError, match="'user', 'stars', and 'stars' stands where items are") as caught:
            model.recommend(stars)
        assert_one_sentence(caught.value)
    with pytest.raises(FewhotError, match="stands where items are"):
        EASE(2.0).fit(stars)


def test_pairs_are_told_to_be_columns_of_a_matrix_that_had_no_names() -> None:
    X = two_tastes()
    model = EASE(2.0).fit(X)
    with pytest.warns(UserWarning, match="the items of X are taken for its columns, 0 to 9"):
        found = model.recommend(pd.DataFrame({"user": ["u", "u"], "item": [0, 2]}), 3)[0]
    assert found.tolist() == model.recommend([[0, 2]], 3)[0].tolist()


@pytest.mark.parametrize("name", NFAS)
def test_users_of_whom_nothing_is_known_are_recommended_what_is_popular(name: str) -> None:
    X = two_tastes()
    model = MODELS[name]().fit(as_lists(X))
    popular = np.argsort(-np.asarray(X.astype(bool).sum(axis=0)).ravel(), kind="stable")[:3]
    with pytest.warns(UserWarning, match="Nothing is known of 1 of 2 users: they have no item of the fit"):
        items, scores = model.recommend([[], NAMES[:2]], 3)
    assert items[0].tolist() == [NAMES[column] for column in popular]
    assert (np.diff(scores[0]) <= 0).all()
    np.testing.assert_allclose(scores[0].sum(), X.astype(bool).mean(axis=0)[popular].sum(), rtol=1e-4)
    assert items[1].tolist() == model.recommend([NAMES[:2]], 3)[0][0].tolist()


def test_items_that_nobody_had_are_told_once() -> None:
    model = Popularity().fit(as_lists(two_tastes()))
    with pytest.warns(UserWarning, match="2 items of X were not in the fit, such as 'tea', and are left out") as caught:
        model.recommend([["tea", NAMES[0]], ["milk", "tea", NAMES[1]]], 1)
    assert len(caught) == 1
    with pytest.raises(FewhotError, match="No item of X was in the fit, such as 'tea'; give items") as refused:
        model.recommend([["tea"]])
    assert_one_sentence(refused.value)


@every
def test_what_teaches_nothing_is_refused(name: str) -> None:
    for X, said in (
        ([["a", "b"]], "has one user"),
        (pd.DataFrame({"user": [1], "item": ["a"]}), "has one user"),
        (pd.DataFrame({"user": [1, 2], "item": ["a", "b"], "weight": [1, -1]}), "Negative values"),
    ):
        with pytest.raises(FewhotError, match=said) as caught:
            MODELS[name]().fit(X)
        assert_one_sentence(caught.value)


def test_pairs_are_likes_however_often() -> None:
    often = as_pairs(two_tastes()) | {"rating": [1] * 100 + [2] * 20}
    assert fh.NFA(**SMALL).fit(pd.DataFrame(often)).recipe_ == "likes"
    assert fh.NFA(**SMALL).fit([["a", "a", "b"], ["a", "b", "c"]] * 20).recipe_ == "counts"  # words, it may be


def test_a_flat_list_is_no_user() -> None:
    model = EASE(2.0).fit(as_lists(two_tastes()))
    with pytest.raises(FewhotError, match="give a list of items for each user"):
        model.recommend(NAMES[:2])


def test_a_fit_on_a_matrix_forgets_names() -> None:
    X = two_tastes()
    model = EASE(2.0).fit(as_lists(X)).fit(X)
    assert not hasattr(model, "items_")
    assert model.recommend(X, 1)[0].dtype.kind == "i"


def test_models_with_names_are_evaluated_by_columns() -> None:
    X = two_tastes()
    held_out = np.zeros(X.shape)
    held_out[np.arange(len(held_out)), X.toarray().argmin(axis=1)] = 1
    named, plain = EASE(2.0).fit(as_lists(X)), EASE(2.0).fit(X)
    assert (
        evaluate_recommender(named, X, held_out)["ndcg@100"].mean
        == evaluate_recommender(plain, X, held_out)["ndcg@100"].mean
    )


def test_codes_are_of_lists_too() -> None:
    X = two_tastes()
    model = fh.NFA(**SMALL).fit(as_lists(X))
    np.testing.assert_array_equal(model.transform(as_lists(X)), model.transform(X))
    assert model.fit(as_lists(X), X_val=as_lists(X)[:5]).score(as_lists(X)) < 0
