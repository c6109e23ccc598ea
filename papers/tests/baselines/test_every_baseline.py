"""What every recommender promises, of those of papers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest import SkipTest

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import fewhot as fh
import fewhot_papers.baselines
from fewhot.core.errors import InvalidInputError, InvalidParameterError, RunFolderError
from fewhot.core.registry import BASELINES
from papers.tests.baselines.cases import EVERY, PERSONAL
from tests.baselines.cases import histories, recommender, two_tastes
from tests.baselines.contract import *  # noqa: F403
from tests.core.test_sparse import BAD
from tests.estimators.cases import assert_one_sentence
from tests.estimators.test_histories import NAMES, as_lists

__all__ = ["EVERY", "PERSONAL"]


@pytest.mark.parametrize("baseline", fewhot_papers.baselines.__all__)
def test_it_is_found_by_its_name(baseline: str) -> None:
    assert getattr(fewhot_papers.baselines, baseline) is BASELINES[baseline]


def test_lists_of_items_do_as_well_as_a_matrix(name: str) -> None:
    X = two_tastes()
    columns, scores = recommender(name).fit(X).recommend(X, 3)
    items, same = recommender(name).fit(as_lists(X)).recommend(as_lists(X), 3)
    assert items.tolist() == [[NAMES[column] for column in row] for row in columns]
    np.testing.assert_allclose(same, scores, atol=1e-5)


@pytest.mark.parametrize("shape", [[2, 2], [40, 9]])
def test_a_sparse_matrix_of_another_shape_is_refused(shape: list[int], tmp_path: Path) -> None:
    recommender("SLIM").fit(histories()).save(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    config["fitted"]["item_weights_"].update(sparse=shape)
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(RunFolderError, match="is damaged") as caught:
        fh.load(tmp_path)
    assert_one_sentence(caught.value)


@pytest.mark.parametrize("kind", BAD)
def test_matrices_that_are_not_whole_are_refused(name: str, kind: str) -> None:
    with pytest.raises(InvalidInputError) as error:
        BASELINES[name]().fit(BAD[kind])
    assert_one_sentence(error.value)


BAD_ARGUMENTS = [
    *(("SLIM", {key: -1}) for key in ("l1", "l2", "max_iter", "tol")),
    *(("CDAE", {key: "other"}) for key in ("loss", "activation", "new_users", "device")),
    *(("CDAE", {key: -1}) for key in ("n_components", "dropout", "positive_weight", "learning_rate", "max_epochs")),
    ("CDAE", {"dropout": 1.0}),
]


@pytest.mark.parametrize(("baseline", "argument"), BAD_ARGUMENTS)
def test_an_argument_out_of_range_is_refused_at_fit(baseline: str, argument: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameterError, match=f"^{next(iter(argument))} is ") as caught:
        recommender(baseline, **argument).fit(histories())
    assert_one_sentence(caught.value)


@parametrize_with_checks([recommender(name) for name in EVERY])
def test_scikit_learn_check(estimator: Any, check: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")  # without it scikit-learn skips its array-API check
    try:
        check(estimator)
    except SkipTest as reason:
        pytest.fail(f"scikit-learn skipped a check: {reason}")
