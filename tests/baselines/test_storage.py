"""Recommenders on disk and back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

import fewhot as fh
from fewhot.baselines import EASE, LDA, LabelHead, Popularity
from fewhot.cli.runs import load_run
from fewhot.core.errors import NotSavableError, RunFolderError
from tests.baselines.cases import histories, recommender
from tests.estimators.cases import assert_one_sentence


def test_topics_are_saved(tmp_path: Path) -> None:
    X = pd.DataFrame(histories(n_items=3).toarray(), columns=["a", "b", "c"])
    model = LDA(2, max_iter=3, random_state=0).fit(X)
    model.save(tmp_path / "run")
    again = fh.load(tmp_path / "run")
    assert isinstance(again, LDA)
    assert again.get_params() == model.get_params()
    assert vars(again).keys() == vars(model).keys()
    assert np.array_equal(again.transform(X), model.transform(X))
    assert again.perplexity(X) == model.perplexity(X)
    assert again.top_words(2).up == model.top_words(2).up
    assert list(again.get_feature_names_out()) == ["lda0", "lda1"]


@pytest.mark.parametrize("sizes", [(100,), [100], ()], ids=str)
def test_sequences_come_back_as_they_were_given(sizes: Any, tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(20, 3))
    model = LabelHead(hidden_layer_sizes=sizes, max_steps=2, random_state=0).fit(X, (X > 0).astype(int))
    model.save(tmp_path)
    assert fh.load(tmp_path).get_params() == model.get_params()


def test_names_of_items_are_kept(tmp_path: Path) -> None:
    X = pd.DataFrame(histories(n_items=3).toarray(), columns=["a", "b", "c"])
    Popularity().fit(X).save(tmp_path)
    again = fh.load(tmp_path)
    assert again.feature_names_in_.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="feature names should match"):
        again.recommend(X[["c", "b", "a"]])


def test_a_generator_is_not_saved_but_what_it_drew_is(tmp_path: Path) -> None:
    X = histories()
    model = recommender("WMF", random_state=np.random.default_rng(3)).fit(X)
    model.save(tmp_path)
    again = fh.load(tmp_path)
    assert again.random_state is None
    assert np.array_equal(again.item_factors_, model.item_factors_)


def test_nothing_is_saved_before_a_fit(tmp_path: Path) -> None:
    with pytest.raises(NotFittedError):
        EASE().save(tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_class_that_is_not_registered_is_not_saved(tmp_path: Path) -> None:
    class Mine(Popularity):
        pass

    with pytest.raises(NotSavableError, match="not a registered baseline"):
        Mine().fit(histories()).save(tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(RunFolderError, match="is not a run folder"):
        Popularity().fit(histories()).save(tmp_path)


DAMAGES = {
    "no arrays": lambda config: config["fitted"].update({"other_": {"dense": [2]}}),
    "another shape": lambda config: config["fitted"]["item_weights_"].update(dense=[2, 2]),
    "no parameters": lambda config: config.pop("parameters"),
    "a parameter nobody knows": lambda config: config["parameters"].update(colour="red"),
    "something missing": lambda config: config["fitted"].pop("item_weights_"),
    "a number": lambda config: config["fitted"].update(item_weights_=1),
    "a method": lambda config: config["fitted"].update(recommend=1),
    "something private": lambda config: config["fitted"].update(__class__=1),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_configuration_is_refused(damage: str, tmp_path: Path) -> None:
    EASE(2.0).fit(histories()).save(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    DAMAGES[damage](config)
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(RunFolderError, match="is damaged") as caught:
        fh.load(tmp_path)
    assert_one_sentence(caught.value)


@pytest.mark.parametrize("model", [EASE(2.0), LDA(2, max_iter=2)], ids=["EASE", "LDA"])
def test_the_commands_say_that_a_baseline_has_no_codes(model: Any, tmp_path: Path) -> None:
    model.fit(histories()).save(tmp_path)
    with pytest.raises(RunFolderError, match=f"holds {type(model).__name__}, a baseline without codes"):
        load_run(tmp_path, "cpu")
