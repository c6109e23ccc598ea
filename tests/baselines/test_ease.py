"""EASE against the published value and the formula written plainly."""

from __future__ import annotations

import numpy as np
import pytest

from fewhot.baselines import EASE, ease, gram
from fewhot.core.errors import InvalidParameterError
from tests.baselines.cases import histories


def slow_weights(X: np.ndarray, regularisation: float) -> np.ndarray:
    P = np.linalg.inv(X.T @ X + regularisation * np.eye(X.shape[1]))
    B = np.zeros_like(P)
    for i in range(len(P)):
        for j in range(len(P)):
            B[i, j] = 0 if i == j else -P[i, j] / P[j, j]
    return B


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_reference_value(dtype: str) -> None:
    X = np.array([[1, 1, 0], [1, 0, 1], [0, 1, 1], [1, 1, 1]])
    weights = EASE(regularisation=0.5, dtype=dtype).fit(X).item_weights_
    assert weights == pytest.approx(0.363636 * (1 - np.eye(3)), abs=1e-6)
    assert weights.dtype == dtype


@pytest.mark.parametrize("block", [1, 3, 4, 1024])
@pytest.mark.parametrize("counts", [False, True])
def test_it_is_the_formula_whatever_the_blocks(block: int, counts: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ease, "_BLOCK", block)
    monkeypatch.setattr(gram, "_BLOCK", block)
    X = histories().toarray().astype(np.float64)
    X *= 1 + np.arange(X.shape[1]) % 3 if counts else 1
    model = EASE(regularisation=3.0, dtype="float64").fit(X)
    assert model.item_weights_ == pytest.approx(slow_weights(X, 3.0), abs=1e-10)
    assert model.score_items(X) == pytest.approx(X @ slow_weights(X, 3.0), abs=1e-6)


def test_each_column_is_the_ridge_regression_on_the_others() -> None:
    X = histories().toarray().astype(np.float64)
    weights = EASE(regularisation=3.0, dtype="float64").fit(X).item_weights_
    for j in range(X.shape[1]):
        others = np.delete(X, j, axis=1)
        ridge = np.linalg.solve(others.T @ others + 3.0 * np.eye(others.shape[1]), others.T @ X[:, j])
        assert np.delete(weights[:, j], j) == pytest.approx(ridge, abs=1e-10)


def test_single_precision_ranks_like_double() -> None:
    X = histories(n_users=300, n_items=60)
    single, double = (EASE(50.0, dtype=dtype).fit(X) for dtype in ("float32", "float64"))
    assert single.item_weights_ == pytest.approx(double.item_weights_, abs=1e-5)
    assert np.array_equal(single.recommend(X, n=5)[0], double.recommend(X, n=5)[0])


def test_a_matrix_that_is_singular_in_its_precision_is_refused() -> None:
    X = np.tile([[1.0, 1.0, 0.0]], (50_000, 1))
    with pytest.raises(InvalidParameterError, match="more regularisation or dtype='float64'"):
        EASE(regularisation=1e-6).fit(X)
