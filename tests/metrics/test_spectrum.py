"""The Jacobian of log proportions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import fewhot as fh
from fewhot.core.errors import FewhotError, InvalidParameterError
from fewhot.core.seeding import stream
from fewhot.metrics import jacobian_spectrum
from tests.estimators.cases import assert_one_sentence


@pytest.fixture(scope="module")
def counter() -> fh.VAE:
    X = np.random.default_rng(0).poisson(2.0, size=(60, 7))
    return fh.VAE(n_components=3, likelihood="multinomial", hidden_layer_sizes=(8,), max_steps=5, random_state=0).fit(X)


def test_a_linear_map_has_its_own_singular_values() -> None:
    weights = torch.randn(9, 4)
    found = jacobian_spectrum(lambda z: weights @ z, at=np.ones(4))
    assert found.values == pytest.approx(torch.linalg.svdvals(weights).numpy(), rel=1e-5)
    assert found.used == int((torch.linalg.svdvals(weights) > 1).sum())


def test_the_jacobian_of_a_decoder_agrees_with_finite_differences(counter: fh.VAE) -> None:
    at, step = np.array([0.3, -0.2, 0.5]), 1e-4
    decoder = counter.module_.decoder.double()

    def log_proportions(z: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return torch.log_softmax(decoder.output(decoder.body(torch.from_numpy(z)[None])), -1)[0].numpy()

    columns = [(log_proportions(at + step * e) - log_proportions(at - step * e)) / (2 * step) for e in np.eye(3)]
    decoder.float()
    expected = np.linalg.svd(np.stack(columns, axis=1), compute_uv=False)
    assert jacobian_spectrum(counter, at).values == pytest.approx(expected, rel=1e-3, abs=1e-5)


def test_the_zero_code_is_where_it_is_taken_when_nothing_is_said(counter: fh.VAE) -> None:
    assert jacobian_spectrum(counter).values == pytest.approx(jacobian_spectrum(counter, np.zeros(3)).values)


def test_another_likelihood_is_refused(vae: fh.VAE) -> None:
    with pytest.raises(InvalidParameterError, match="multinomial"):
        jacobian_spectrum(vae)


def test_a_function_needs_a_code() -> None:
    with pytest.raises(InvalidParameterError, match="at is None"):
        jacobian_spectrum(lambda z: z)


def test_the_mean_over_the_prior_is_of_jacobians(counter: fh.VAE) -> None:
    found = jacobian_spectrum(counter, n_draws=40, random_state=3)
    module = counter.module_
    codes = module.prior.sample(40, module.posterior_of, stream(3, "spectrum"))
    slow = [
        torch.autograd.functional.jacobian(lambda z: module.decoder.generate(z[None]).log_probs[0], z) for z in codes
    ]
    expected = np.linalg.svd(torch.stack(slow).double().mean(0).numpy(), compute_uv=False)
    assert found.values == pytest.approx(expected, rel=1e-4)


def test_a_large_vocabulary_needs_no_matrix_of_words_by_words() -> None:
    layer = torch.nn.Linear(20, 50_000)  # by words it would be 10 GB
    found = jacobian_spectrum(lambda z: layer(z).log_softmax(-1), at=np.zeros(20))
    assert found.values.shape == (20,)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [({"at": [0.0], "n_draws": 2}, "has no prior"), ({"n_draws": 2}, "has no prior")],
)
def test_a_function_has_no_prior_to_draw_from(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidParameterError, match=sentence):
        jacobian_spectrum(lambda z: z, **given)


def test_a_code_and_draws_are_not_both_taken(counter: fh.VAE) -> None:
    with pytest.raises(InvalidParameterError, match="Both at and n_draws"):
        jacobian_spectrum(counter, np.zeros(3), n_draws=2)


@pytest.mark.parametrize("at", [[0.0], [[0.0, 0.0]], "a", np.full(3, np.nan)])
def test_what_is_no_code_is_refused(counter: fh.VAE, at: Any) -> None:
    with pytest.raises(FewhotError) as caught:
        jacobian_spectrum(counter, at)
    assert_one_sentence(caught.value)


@pytest.mark.parametrize("at", [[[1.0, 2.0]], "abc", [np.nan], [], 1.0, [[1.0], [2.0, 3.0]]])
def test_what_is_no_code_of_a_function_is_refused(at: Any) -> None:
    with pytest.raises(FewhotError) as caught:
        jacobian_spectrum(lambda z: z, at)
    assert_one_sentence(caught.value)
