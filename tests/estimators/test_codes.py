"""Codes, their uncertainty and their bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from fewhot import VAE, VSC, Codes
from fewhot.codes import encoding
from tests.estimators.cases import BOTH, count_rows, dense, grey_rows, one_of_four, small


@BOTH
def test_a_bound_does_not_depend_on_the_other_rows(fitted: dict[type, Any], rows: np.ndarray, cls: type) -> None:
    bounds = fitted[cls].score_samples(rows)
    order = np.random.default_rng(0).permutation(len(rows))
    np.testing.assert_allclose(fitted[cls].score_samples(rows[order]), bounds[order], rtol=1e-5)
    alone = np.concatenate([fitted[cls].score_samples(row[None]) for row in rows[:8]])
    np.testing.assert_allclose(alone, bounds[:8], rtol=1e-5)


@BOTH
@pytest.mark.parametrize("refine_steps", [0, 3])
def test_bounds_and_codes_do_not_depend_on_the_batch_size(
    rows: np.ndarray, cls: type, refine_steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    estimator = small(cls, refine_steps=refine_steps).fit(rows)
    bounds, codes = estimator.score_samples(rows), dense(estimator.transform(rows))
    monkeypatch.setattr(encoding, "BATCH", 7)
    np.testing.assert_allclose(estimator.score_samples(rows), bounds, rtol=1e-4)
    np.testing.assert_allclose(dense(estimator.transform(rows)), codes, rtol=1e-3, atol=1e-5)


def test_batches_of_sparse_rows_are_stacked_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    X = sp.csr_array(count_rows())
    estimator = small(VSC).fit(X)
    whole = estimator.codes(X)
    monkeypatch.setattr(encoding, "BATCH", 7)
    parts = estimator.codes(X)
    for name in ("values", "variance", "p_active"):
        np.testing.assert_allclose(getattr(parts, name).toarray(), getattr(whole, name).toarray(), rtol=1e-4, atol=1e-6)


@BOTH
def test_score_is_the_mean_bound(fitted: dict[type, Any], rows: np.ndarray, cls: type) -> None:
    bounds = fitted[cls].score_samples(rows)
    assert bounds.shape == (50,)
    assert fitted[cls].score(rows) == pytest.approx(bounds.astype(np.float64).mean(), rel=1e-7)


@BOTH
@pytest.mark.parametrize("refine_steps", [0, 3])
def test_codes_carry_the_bound_of_score_samples(rows: np.ndarray, cls: type, refine_steps: int) -> None:
    estimator = small(cls, refine_steps=refine_steps).fit(rows)
    codes = estimator.codes(rows)
    assert isinstance(codes, Codes)
    assert len(codes) == 50
    np.testing.assert_array_equal(codes.bound, estimator.score_samples(rows))
    np.testing.assert_array_equal(dense(codes.values), dense(estimator.transform(rows)))


def test_values_and_variance_share_their_pattern(vsc: VSC, rows: np.ndarray) -> None:
    codes = vsc.codes(rows)
    np.testing.assert_array_equal(codes.values.indices, codes.variance.indices)
    np.testing.assert_array_equal(codes.values.indptr, codes.variance.indptr)
    assert codes.variance.data.min() > 0


def test_p_active_holds_what_is_at_least_one_in_a_hundred(vsc: VSC, rows: np.ndarray, monkeypatch: Any) -> None:
    monkeypatch.setattr(encoding, "P_ACTIVE_FROM", 0.4)  # a fresh model has no unit below one in a hundred
    some = vsc.codes(rows).p_active
    monkeypatch.setattr(encoding, "P_ACTIVE_FROM", 0.0)
    every = vsc.codes(rows).p_active.toarray()
    assert every.min() < 0.4
    assert some.data.min() >= 0.4
    assert some.data.max() <= 1.0
    np.testing.assert_array_equal(some.toarray(), np.where(every >= 0.4, every, 0))


def test_the_threshold_of_p_active_is_one_in_a_hundred() -> None:
    assert encoding.P_ACTIVE_FROM == 0.01


def test_active_means_more_probable_than_not(vsc: VSC, rows: np.ndarray) -> None:
    codes = vsc.codes(rows)
    np.testing.assert_array_equal(codes.values.toarray() != 0, codes.p_active.toarray() > 0.5)


def test_a_family_without_gates_has_no_activity(vae: VAE, rows: np.ndarray) -> None:
    codes = vae.codes(rows)
    assert codes.p_active is None
    assert codes.values.shape == codes.variance.shape == (50, 6)
    assert (codes.variance > 0).all()


@BOTH
def test_a_gap_exists_only_when_codes_are_refined(cls: type, rows: np.ndarray) -> None:
    estimator = small(cls).fit(rows)
    plain = estimator.codes(rows)
    assert plain.gap is None
    refined = estimator.set_params(refine_steps=20).codes(rows)
    np.testing.assert_allclose(refined.bound - refined.gap, plain.bound, rtol=1e-4, atol=1e-4)
    assert refined.gap.mean() > 0
    assert not np.array_equal(dense(refined.values), dense(plain.values))


def test_a_bound_has_weight_one_whatever_beta_trained_with(rows: np.ndarray) -> None:
    one, four = small(VAE, beta=1.0).fit(rows), small(VAE, beta=4.0).fit(rows)
    four.module_.load_state_dict(one.module_.state_dict())
    np.testing.assert_array_equal(one.score_samples(rows), four.score_samples(rows))


@BOTH
def test_importance_weights_tighten_the_bound(cls: type) -> None:
    X = one_of_four()
    estimator = small(cls, max_steps=400, learning_rate=1e-2).fit(X)
    tighter = estimator.log_likelihood(X, n_draws=500)
    assert tighter.shape == (200,)
    assert estimator.score(X) + 0.03 < tighter.mean() < -1.3  # no model of four equal patterns beats -log 4


def test_reconstructions_are_means_in_the_units_of_the_data() -> None:
    X = 100 + 5 * np.random.default_rng(0).normal(size=(80, 4))
    estimator = small(VAE, max_steps=200).fit(X)
    back = estimator.inverse_transform(estimator.transform(X))
    assert back.shape == X.shape
    assert abs(back.mean() - 100) < 5


def test_sparse_and_dense_codes_decode_alike(vsc: VSC, rows: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    Z = vsc.transform(rows)
    from_sparse = vsc.inverse_transform(Z)
    np.testing.assert_array_equal(from_sparse, vsc.inverse_transform(Z.toarray()))
    np.testing.assert_array_equal(from_sparse, vsc.inverse_transform(sp.csc_array(Z)))
    np.testing.assert_allclose(from_sparse, vsc.inverse_transform(Z.toarray().astype(np.float64)), rtol=1e-6)
    assert from_sparse.min() >= 0
    assert from_sparse.max() <= 1


def test_reconstruction_improves_on_the_mean_row() -> None:
    X = one_of_four()
    estimator = small(VAE, n_components=3, max_steps=600, learning_rate=1e-2).fit(X)
    error = np.square(estimator.inverse_transform(estimator.transform(X)) - X).mean()
    assert error < 0.25 * np.square(X - X.mean(0)).mean()


def test_encoding_leaves_the_module_as_it_is(vsc: VSC, rows: np.ndarray) -> None:
    before = {name: value.clone() for name, value in vsc.module_.state_dict().items()}
    vsc.set_params(refine_steps=3)
    try:
        vsc.codes(rows)
    finally:
        vsc.set_params(refine_steps=0)
    assert all((before[name] == value).all() for name, value in vsc.module_.state_dict().items())
    assert not vsc.module_.training
    assert all(parameter.grad is None or not parameter.grad.isnan().any() for parameter in vsc.module_.parameters())


def test_one_row_is_encoded(vsc: VSC) -> None:
    assert vsc.transform(grey_rows(1)).shape == (1, 6)
