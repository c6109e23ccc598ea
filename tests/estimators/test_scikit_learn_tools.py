"""Life inside scikit-learn: pipelines, searches, output containers, copies."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fewhot import NFA, VAE, VSC, RunFolder
from fewhot.core.errors import InvalidParameterError
from fewhot.metrics import class_activation, code_matrix, summarise, traverse
from tests.estimators.cases import BOTH, SMALL, assert_one_sentence, count_rows, dense, grey_rows, same_weights, small


@BOTH
def test_fits_between_a_scaler_and_a_classifier(cls: type) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 120)
    X = rng.normal(size=(120, 6)) + 4 * y[:, None]
    pipeline = make_pipeline(StandardScaler(), small(cls, max_steps=300), LogisticRegression())
    assert pipeline.fit(X, y).score(X, y) > 0.9


def test_grid_search_in_two_processes_ranks_by_the_bound() -> None:
    search = GridSearchCV(small(VSC), {"n_components": [3, 6], "max_steps": [1, 60]}, cv=2, n_jobs=2)
    search.fit(grey_rows())
    assert search.best_params_["max_steps"] == 60
    assert search.best_score_ == pytest.approx(max(search.cv_results_["mean_test_score"]))


@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_frames_come_out_with_unit_names(container: str) -> None:
    estimator = small(VSC, sparse_output=False).set_output(transform=container)
    frame = estimator.fit_transform(grey_rows())
    assert type(frame).__module__.split(".")[0] == container
    assert list(frame.columns) == [f"vsc{j}" for j in range(6)]


@pytest.mark.parametrize("container", ["pandas", "polars"])
@pytest.mark.parametrize("everywhere", [False, True], ids=["set-output", "set-config"])
def test_frames_of_sparse_codes_are_refused_before_training(container: str, everywhere: bool) -> None:
    seen: list[Any] = []
    estimator = small(VSC, callbacks=[seen.append])
    if not everywhere:
        estimator.set_output(transform=container)
    for ask in (estimator.fit_transform, make_pipeline(estimator, LogisticRegression()).fit):
        with (
            config_context(transform_output=container if everywhere else None),
            pytest.raises(InvalidParameterError, match=f"return {container} frames; give sparse_output=False") as error,
        ):
            ask(grey_rows(), np.arange(50) % 2)
        assert_one_sentence(error.value)
    assert not seen
    assert not hasattr(estimator, "module_")


def test_frames_of_sparse_codes_are_refused_by_a_fitted_model(rows: np.ndarray) -> None:
    estimator = small(VSC).fit(rows).set_output(transform="pandas")
    with pytest.raises(InvalidParameterError, match="to return pandas frames; give sparse_output=False or set_output"):
        estimator.transform(rows)
    assert estimator.set_params(sparse_output=False).transform(rows).shape == (50, 6)


def test_metrics_of_sparse_codes_do_not_ask_for_frames(rows: np.ndarray) -> None:
    estimator = small(VSC).fit(rows)
    labels = np.arange(len(rows)) % 2
    with config_context(transform_output="pandas"):
        assert sp.issparse(code_matrix(estimator, rows))
        assert class_activation(estimator, rows, labels).p_active.shape == (2, 6)
        assert summarise(estimator, rows).value("active") >= 0
        assert traverse(estimator, rows[:1], [0], values=[1.0]).decoded.shape == (1, 1, rows.shape[1])


def test_dense_codes_come_out_as_frames_though_sparse_ones_were_allowed() -> None:
    estimator = NFA(**SMALL).set_output(transform="pandas")
    assert isinstance(estimator.fit_transform(count_rows()), pd.DataFrame)
    assert isinstance(estimator.transform(count_rows()), pd.DataFrame)


def test_a_pandas_frame_keeps_its_index() -> None:
    X = pd.DataFrame(grey_rows(), index=[f"row{i}" for i in range(50)])
    Z = small(VAE).set_output(transform="pandas").fit_transform(X.rename(columns=str))
    assert list(Z.index) == list(X.index)


@BOTH
def test_feature_names_out_number_the_units(fitted: dict[type, Any], cls: type) -> None:
    assert list(fitted[cls].get_feature_names_out()) == [f"{cls.__name__.lower()}{j}" for j in range(6)]


def test_columns_in_another_order_are_refused() -> None:
    X = pd.DataFrame(grey_rows(), columns=list("abcdefg"))
    estimator = small(VSC).fit(X)
    assert list(estimator.feature_names_in_) == list("abcdefg")
    with pytest.raises(ValueError, match="same order as they were in fit"):
        estimator.transform(X[list("gfedcba")])
    with pytest.raises(ValueError, match=r"unseen at fit time: B; .* missing: b\)"):
        estimator.transform(X.rename(columns={"b": "B"}))


@BOTH
def test_a_clone_is_unfitted_and_fits_alike(fitted: dict[type, Any], rows: np.ndarray, cls: type) -> None:
    twin = clone(fitted[cls])
    assert not hasattr(twin, "module_")
    assert same_weights(twin.fit(rows), fitted[cls])


def test_a_clone_with_a_run_folder_keeps_its_settings(tmp_path: Any) -> None:
    twin = clone(small(VSC, callbacks=[RunFolder(tmp_path, checkpoint_steps=7)]))
    assert twin.callbacks[0].checkpoint_steps == 7


@BOTH
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e))], ids=["deepcopy", "pickle"])
def test_copies_encode_and_score_alike(fitted: dict[type, Any], rows: np.ndarray, cls: type, copied: Any) -> None:
    twin = copied(fitted[cls])
    np.testing.assert_array_equal(dense(twin.transform(rows)), dense(fitted[cls].transform(rows)))
    np.testing.assert_array_equal(twin.score_samples(rows), fitted[cls].score_samples(rows))


@BOTH
def test_a_pickled_estimator_goes_on_training_like_the_original(cls: type) -> None:
    first = small(cls, warm_start=True).fit(grey_rows())
    twin = pickle.loads(pickle.dumps(first))
    assert same_weights(first.fit(grey_rows()), twin.fit(grey_rows()))


def test_sparse_rows_give_sparse_codes_with_exact_zeros() -> None:
    X = sp.csr_array(count_rows())
    Z = small(VSC).fit_transform(X)
    assert isinstance(Z, sp.csr_array)
    assert Z.shape == (50, 6)
    assert 0 < Z.nnz < 50 * 6
    assert (Z.data != 0).all()
    assert Z.has_canonical_format


def test_dense_output_is_the_sparse_output_filled_with_zeros(vsc: VSC, rows: np.ndarray) -> None:
    filled = clone(vsc).set_params(sparse_output=False).fit(rows).transform(rows)
    assert isinstance(filled, np.ndarray)
    assert filled.dtype == np.float32
    np.testing.assert_array_equal(filled, vsc.transform(rows).toarray())


def test_a_family_without_gates_gives_dense_codes(vae: VAE, rows: np.ndarray) -> None:
    Z = vae.transform(sp.csr_array(rows))
    assert isinstance(Z, np.ndarray)
    assert (Z != 0).all()
