"""Planted codes: the laws hold, and one seed decides all."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from fewhot.core.errors import InvalidParameterError
from fewhot.data import Planted, load_dataset, planted

N, P, K, L0 = 6000, 30, 20, 4.0
CASES = [(kind, decoder) for kind in ("real", "counts") for decoder in ("linear", "nonlinear")]
every_case = pytest.mark.parametrize(("kind", "decoder"), CASES, ids=["-".join(case) for case in CASES])


def make(n_rows: int = N, **options: object) -> Planted:
    return planted(n_rows, P, K, L0, **options)


def dense(matrix: np.ndarray | sp.csr_array) -> np.ndarray:
    return matrix.toarray() if sp.issparse(matrix) else matrix


@every_case
def test_one_seed_decides_all(kind: str, decoder: str) -> None:
    first, again, other = (make(50, kind=kind, decoder=decoder, random_state=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(dense(first.X), dense(again.X))
    np.testing.assert_array_equal(dense(first.codes), dense(again.codes))
    np.testing.assert_array_equal(first.dictionary, again.dictionary)
    assert not np.array_equal(dense(first.codes), dense(other.codes))
    assert not np.array_equal(first.dictionary, other.dictionary)
    assert first.seed == 1


@every_case
def test_more_rows_leave_the_earlier_ones(kind: str, decoder: str) -> None:
    few, many = make(1100, kind=kind, decoder=decoder), make(2500, kind=kind, decoder=decoder)
    np.testing.assert_array_equal(dense(few.X), dense(many.X)[:1100])
    np.testing.assert_array_equal(dense(few.codes), dense(many.codes)[:1100])


@every_case
def test_shapes_types_and_patterns(kind: str, decoder: str) -> None:
    made = make(70, kind=kind, decoder=decoder)
    assert (made.X.shape, made.codes.shape, made.supports.shape) == ((70, P), (70, K), (70, K))
    assert made.dictionary.shape == (K, P)
    assert {made.X.dtype, made.codes.dtype, made.dictionary.dtype} == {np.dtype(np.float32)}
    np.testing.assert_array_equal(dense(made.supports), dense(made.codes) != 0)
    assert sp.issparse(made.X) == (kind == "counts")
    assert (made.mixing is None) == ((kind, decoder) != ("real", "nonlinear"))


@every_case
def test_the_support_is_bernoulli(kind: str, decoder: str) -> None:
    on = dense(make(kind=kind, decoder=decoder).supports)
    rate = L0 / K
    standard_error = np.sqrt(rate * (1 - rate) / N)
    assert np.abs(on.mean(axis=0) - rate).max() < 4.5 * standard_error
    assert abs(on.sum(axis=1).var() - K * rate * (1 - rate)) < 5 * K * rate * (1 - rate) * np.sqrt(2 / N)


def test_amplitudes_keep_away_from_zero_and_have_both_signs() -> None:
    values = make().codes.data
    assert 0.5 <= np.abs(values).min() < 0.51
    assert 1.49 < np.abs(values).max() <= 1.5
    assert abs(np.abs(values).mean() - 1) < 4 * np.sqrt(1 / 12 / len(values))
    assert abs((values > 0).mean() - 0.5) < 4 * 0.5 / np.sqrt(len(values))


def test_topics_have_positive_amplitudes() -> None:
    made = make(kind="counts")
    assert made.codes.data.min() >= 0.5
    np.testing.assert_allclose(made.dictionary.sum(axis=1), 1, rtol=1e-5)


def test_atoms_have_one_length_and_features_variance_one() -> None:
    made = make(noise=0.0)
    np.testing.assert_allclose(np.linalg.norm(made.dictionary, axis=1) ** 2, P / (L0 * 13 / 12), rtol=1e-5)
    assert abs(dense(made.X).var(axis=0).mean() - 1) < 0.05


def test_without_noise_the_rows_are_the_decoded_codes() -> None:
    linear, bent = make(noise=0.0), make(noise=0.0, decoder="nonlinear")
    np.testing.assert_allclose(linear.X, linear.codes @ linear.dictionary, atol=1e-5)
    np.testing.assert_allclose(bent.X, 1.5925 * np.tanh(bent.codes @ bent.dictionary) @ bent.mixing, atol=1e-5)
    np.testing.assert_allclose(bent.mixing @ bent.mixing.T, np.eye(P), atol=1e-5)


def test_the_gain_brings_tanh_of_a_normal_to_variance_one() -> None:
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    assert round(float(1 / np.sqrt(weights @ np.tanh(nodes) ** 2 / weights.sum())), 3) == round(1.5925, 3)


@pytest.mark.parametrize("decoder", ["linear", "nonlinear"])
def test_the_noise_has_the_given_size(decoder: str) -> None:
    clean, noisy = make(noise=0.0, decoder=decoder), make(noise=0.3, decoder=decoder)
    np.testing.assert_array_equal(dense(clean.codes), dense(noisy.codes))
    residual = noisy.X - clean.X
    assert abs(residual.std() - 0.3) < 4 * 0.3 / np.sqrt(2 * residual.size)


def test_counts_of_the_linear_decoder_follow_the_mixture() -> None:
    made = make(kind="counts", noise=0.2, mean_count=50.0)
    X, z = dense(made.X).astype(np.float64), dense(made.codes).astype(np.float64)
    rates = 50 * (0.8 * z @ made.dictionary / L0 + 0.2 / P)
    np.testing.assert_array_equal(X, np.floor(X))
    deviations = (X - rates) / np.sqrt(rates)
    assert abs(deviations.mean()) < 4 / np.sqrt(X.size)
    assert abs(deviations.var() - 1) < 0.05


def test_counts_of_the_nonlinear_decoder_follow_the_softmax() -> None:
    made = make(kind="counts", decoder="nonlinear", noise=0.0, mean_count=50.0)
    logits = (made.codes @ made.dictionary).astype(np.float64)
    rates = 50 * np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    X = dense(made.X)
    assert abs(X.sum(axis=1).mean() - 50) < 4 * np.sqrt(50 / N)
    assert abs(((X - rates) / np.sqrt(rates)).mean()) < 4 / np.sqrt(X.size)


def test_the_record_is_as_every_other_dataset() -> None:
    loaded = make(20).loaded()
    assert (loaded.name, loaded.y, len(loaded), len(loaded.digest)) == ("planted", None, 20, 64)


def test_the_named_dataset_is_the_generator_with_its_defaults() -> None:
    np.testing.assert_array_equal(load_dataset("planted", split="all").X, planted().X)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_rows": 0}, "n_rows is 0; it must be a whole number of at least 1"),
        ({"l0": 0}, "l0 is 0; it must be a number above 0 and at most 32"),
        ({"l0": 33}, "l0 is 33"),
        ({"kind": "text"}, "kind is 'text'; it must be one of 'real', 'counts'"),
        ({"decoder": "deep"}, "decoder is 'deep'; it must be one of 'linear', 'nonlinear'"),
        ({"noise": -1}, "noise is -1"),
        ({"noise": 2, "kind": "counts"}, "noise is 2; it must be a number at least 0 and at most 1"),
        ({"mean_count": 0}, "mean_count is 0"),
        ({"random_state": "x"}, "random_state is 'x'"),
    ],
)
def test_arguments_are_checked(options: dict, words: str) -> None:
    with pytest.raises(InvalidParameterError, match=words):
        planted(**options)
