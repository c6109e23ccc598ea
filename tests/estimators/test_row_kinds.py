"""Likes or counts: told by the values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import fewhot as fh
from fewhot.data import as_dataset, load_dataset
from fewhot.estimators.row_kinds import kind_of_rows

from .cases import SMALL
from .test_nfa import documents


def graded(levels: Any, weights: Any, density: float = 0.1, seed: int = 0) -> sp.csr_array:
    """Return 200 users and 100 items with grades drawn from ``levels``."""
    rng = np.random.default_rng(seed)
    has = rng.random((200, 100)) < density
    return sp.csr_array(np.where(has, rng.choice(levels, size=has.shape, p=weights), 0).astype(np.float32))


STARS = [0.06, 0.11, 0.27, 0.34, 0.22]  # the shares of MovieLens 100K
KINDS = {
    "yes or no": (graded([1], [1]), "likes"),
    "yes or no, by another number": (graded([3.5], [1]), "likes"),
    "yes or no, for most items": (graded([1], [1], density=0.7), "likes"),
    "stars": (graded([1, 2, 3, 4, 5], STARS), "likes"),
    "half stars": (graded([0.5, 1, 2.5, 4.5, 5], STARS), "likes"),
    "as many single stars": (graded([1, 2, 3, 4, 5], np.full(5, 0.2)), "likes"),
    "weights": (graded(np.linspace(0.1, 2, 50), np.full(50, 0.02)), "likes"),
    "words": (documents(), "counts"),
    "words of short texts": (graded([1, 2, 3], [0.97, 0.02, 0.01]), "counts"),
    "dense counts": (sp.csr_array(np.random.default_rng(0).poisson(20.0, (50, 30))), "counts"),
    "grades of most columns": (graded([1, 2, 3, 4, 5], STARS, density=0.8), "counts"),
    "numbers below 0": (graded([-1, 1], [0.5, 0.5]), "counts"),
}


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("form", ["sparse", "dense"])
def test_kinds(name: str, form: str) -> None:
    X, kind = KINDS[name]
    assert kind_of_rows(as_dataset(X if form == "sparse" else X.toarray()))[0] == kind


def test_a_scale_does_not_matter_to_stars() -> None:
    X = graded([1, 2, 3, 4, 5], STARS)
    small, large = (fh.NFA(**SMALL).fit(factor * X) for factor in (0.125, 16))
    assert (small.recipe_, large.recipe_) == ("likes", "likes")
    assert large.settings_["kl_weight"] == pytest.approx(128 * small.settings_["kl_weight"])
    assert small.recommend(X)[0].tolist() == large.recommend(X)[0].tolist()


def test_the_labels_and_the_words_of_real_data() -> None:
    assert kind_of_rows(as_dataset(load_dataset("digits").X))[0] == "counts"


def test_the_recipe_follows_the_rows_and_what_is_named_wins() -> None:
    likes = graded([1], [1])
    model = fh.NFA(**SMALL).fit(likes)
    assert (model.recipe_, model.settings_["features"], model.module_.encoder.dropout) == ("likes", "unit", 0.6)
    assert model.settings_["hidden_layer_sizes"] == SMALL["hidden_layer_sizes"]
    assert model.module_.objective.terms[1].weight == model.settings_["kl_weight"] == 0.2
    assert fh.NFA(**SMALL, recipe="counts").fit(likes).settings_["dropout"] == 0
    assert fh.NFA(**SMALL, dropout=0.1).fit(likes).module_.encoder.dropout == 0.1
    assert fh.NFA(**SMALL).fit(documents()).recipe_ == "counts"
    assert fh.NFA(**SMALL, recipe="likes").fit(documents()).settings_["n_layers"] == 1
    assert fh.NFA(**SMALL, likelihood="poisson").fit(likes).recipe_ == "counts"


def test_a_decay_that_is_given_is_not_made_another_kind() -> None:
    likes = graded([1], [1])
    assert fh.NFA(**SMALL).fit(likes).settings_["decoupled_weight_decay"] is True
    assert fh.NFA(**SMALL, weight_decay=1e-3).fit(likes).settings_["decoupled_weight_decay"] is False
    assert fh.NFA(**SMALL, weight_decay=0.1, decoupled_weight_decay=True).fit(likes).settings_["weight_decay"] == 0.1
    with pytest.raises(fh.FewhotError, match="weight_decay is 0"):
        fh.NFA(**SMALL, decoupled_weight_decay=True).fit(documents())


def test_likes_are_gone_through_sixty_times_and_a_few_users_more_often() -> None:
    small = {name: value for name, value in SMALL.items() if name not in ("max_steps", "batch_size")}
    assert fh.NFA(**small).fit(graded([1], [1])).n_iter_ == 300
    assert fh.NFA(**small, max_epochs=2).fit(graded([1], [1])).n_iter_ == 4
    assert fh.NFA(**small | {"hidden_layer_sizes": (2,)}, batch_size=2).fit(graded([1], [1])).n_iter_ == 6000


def test_what_was_chosen_is_saved_and_kept_by_a_warm_start(tmp_path: Any) -> None:
    model = fh.NFA(**SMALL, warm_start=True).fit(graded([1], [1]))
    model.save(tmp_path)
    assert fh.load(tmp_path, device="cpu").settings_ == model.settings_
    assert model.fit(2 * graded([1, 2], [0.9, 0.1])).recipe_ == "likes"
    assert fh.NFA(**SMALL).fit(graded([1], [1])).fit(documents()).recipe_ == "counts"
