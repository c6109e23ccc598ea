"""The four kinds of code, against the posterior they come from."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch

import fewhot as fh
from fewhot.core.errors import InvalidParameterError
from fewhot.core.records import Batch, Dense
from fewhot.metrics import activity_probabilities, code_matrix
from tests.metrics.conftest import PlantedRows


@pytest.fixture(scope="module")
def psi(vsc: fh.VSC, planted: PlantedRows) -> dict[str, np.ndarray]:
    with torch.no_grad():
        local = vsc.module_.psi(Batch(Dense(torch.from_numpy(planted.X))))
    return {name: value.numpy().astype(float) for name, value in local.items()}


def test_the_map_code_is_what_transform_returns(vsc: fh.VSC, planted: PlantedRows) -> None:
    assert (code_matrix(vsc, planted.X, "map") != vsc.transform(planted.X)).nnz == 0


def test_the_mean_code_is_on_probability_times_slab_mean(
    vsc: fh.VSC, planted: PlantedRows, psi: dict[str, np.ndarray]
) -> None:
    p = 1 / (1 + np.exp(-psi["logits"]))
    assert code_matrix(vsc, planted.X, "mean") == pytest.approx(p * psi["loc"], abs=1e-4)
    assert activity_probabilities(vsc, planted.X) == pytest.approx(p, abs=1e-5)


def test_the_slab_mean_cut_at_one_half_is_the_map_code(vsc: fh.VSC, planted: PlantedRows) -> None:
    slab, p = code_matrix(vsc, planted.X, "slab_mean"), activity_probabilities(vsc, planted.X)
    assert np.where(p > 0.5, slab, 0.0) == pytest.approx(vsc.transform(planted.X).toarray(), abs=1e-5)


def test_all_kinds_see_the_same_binarised_rows() -> None:
    X = np.random.default_rng(0).random((40, 6))
    model = fh.VSC(n_components=4, l0=2, observation="stochastic-binarise", max_steps=5, random_state=0).fit(X)
    slab, p = code_matrix(model, X, "slab_mean"), activity_probabilities(model, X)
    assert np.where(p > 0.5, slab, 0.0) == pytest.approx(model.transform(X).toarray(), abs=1e-6)


def test_sampled_codes_have_the_moments_of_the_posterior(
    vsc: fh.VSC, planted: PlantedRows, psi: dict[str, np.ndarray]
) -> None:
    row, n = planted.X[:1], 4000
    draws = code_matrix(vsc, np.repeat(row, n, axis=0), "sample", random_state=3).toarray()
    p, loc, variance = 1 / (1 + np.exp(-psi["logits"][0])), psi["loc"][0], np.exp(psi["logvar"][0])
    std = np.sqrt(p * (variance + (1 - p) * loc**2))
    assert (np.abs((draws != 0).mean(axis=0) - p) <= 5 * np.sqrt(p * (1 - p) / n) + 1e-3).all()
    assert (np.abs(draws.mean(axis=0) - p * loc) <= 5 * std / np.sqrt(n) + 1e-3).all()


def test_codes_of_soft_gates_are_sampled_with_hard_ones(planted: PlantedRows) -> None:
    model = fh.VSC(n_components=6, recipe="iclr2019", hidden_layer_sizes=(8,), max_steps=5, random_state=0)
    X = planted.X[:100]
    codes, p = code_matrix(model.fit(X), X, "sample"), activity_probabilities(model, X)
    assert codes.nnz == pytest.approx(p.sum(), abs=4 * float(np.sqrt((p * (1 - p)).sum())))
    assert codes.nnz < codes.shape[0] * codes.shape[1]


def test_a_seed_fixes_the_draws(vsc: fh.VSC, planted: PlantedRows) -> None:
    one, same, other = (code_matrix(vsc, planted.X, "sample", seed) for seed in (0, 0, 1))
    assert (one != same).nnz == 0
    assert (one != other).nnz > 0


def test_sampled_codes_are_as_sparse_as_the_estimator_says(vsc: fh.VSC, planted: PlantedRows) -> None:
    assert isinstance(code_matrix(vsc, planted.X, "sample"), sp.csr_array)
    assert isinstance(code_matrix(vsc, planted.X, "mean"), np.ndarray)
    vsc.sparse_output = False
    try:
        assert isinstance(code_matrix(vsc, planted.X, "sample"), np.ndarray)
    finally:
        vsc.sparse_output = True


def test_without_gates_mean_map_and_slab_mean_agree(vae: fh.VAE, planted: PlantedRows) -> None:
    expected = vae.transform(planted.X)
    for kind in ("map", "mean", "slab_mean"):
        assert code_matrix(vae, planted.X, kind) == pytest.approx(expected, abs=1e-6)
    assert np.abs(code_matrix(vae, planted.X, "sample") - expected).mean() > 0.01


def test_a_model_without_gates_has_no_probabilities(vae: fh.VAE, planted: PlantedRows) -> None:
    with pytest.raises(InvalidParameterError, match="no gates"):
        activity_probabilities(vae, planted.X)


def test_an_unknown_kind_is_refused(vae: fh.VAE, planted: PlantedRows) -> None:
    with pytest.raises(InvalidParameterError, match="kind is 'mode'"):
        code_matrix(vae, planted.X, "mode")  # type: ignore[arg-type]


def test_of_refined_codes_only_the_map_is_known(planted: PlantedRows) -> None:
    model = fh.VSC(n_components=4, l0=2, hidden_layer_sizes=(8,), max_steps=5, refine_steps=2, random_state=0)
    X = planted.X[:20]
    model.fit(X)
    assert code_matrix(model, X, "map").shape == (20, 4)
    assert activity_probabilities(model, X).shape == (20, 4)
    with pytest.raises(InvalidParameterError, match="refine_steps=0"):
        code_matrix(model, X, "mean")
