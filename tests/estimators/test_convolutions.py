"""Estimators whose networks convolve pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits

import fewhot as fh
from fewhot.core.registry import ESTIMATORS
from fewhot.inference import OptimiserSpec
from fewhot.nn import Convolutions
from tests.estimators.cases import OWN, SMALL, UNLABELLED, assert_one_sentence, dense, grey_rows

PICTURES = grey_rows(n_columns=64)


def small(name: str = "VAE", **changes: Any) -> Any:
    grey = {"likelihood": "bernoulli"} if name == "NFA" else {}  # which is for counts unless told
    return ESTIMATORS[name](
        **(SMALL | {"encoder": "conv", "hidden_layer_sizes": (6, 4)} | grey | OWN.get(name, {}) | changes)
    )


@pytest.fixture(scope="module")
def digits() -> np.ndarray:
    return (load_digits().data / 16).astype(np.float32)


@pytest.mark.parametrize("name", UNLABELLED)
def test_every_estimator_takes_them(name: str, tmp_path: Path) -> None:
    estimator = small(name).fit(PICTURES)
    assert isinstance(estimator.module_.encoder.body, Convolutions)
    assert estimator.inverse_transform(estimator.transform(PICTURES)).shape == PICTURES.shape
    assert estimator.sample(3, random_state=0).shape == (3, 64)
    assert estimator.set_params(refine_steps=20).codes(PICTURES[:9]).gap.mean() > 0
    estimator.set_params(refine_steps=0).save(tmp_path / "run")
    again = fh.load(tmp_path / "run", device="cpu")
    np.testing.assert_array_equal(dense(again.transform(PICTURES)), dense(estimator.transform(PICTURES)))
    np.testing.assert_array_equal(again.score_samples(PICTURES), estimator.score_samples(PICTURES))


def test_they_learn_digits(digits: np.ndarray) -> None:
    fit, held_out = digits[:1400], digits[1400:]
    before, after = (
        small(n_components=10, hidden_layer_sizes=(32, 64), batch_size=100, max_steps=steps).fit(fit)
        for steps in (1, 250)
    )
    assert after.score(held_out) > before.score(held_out) + 1.5


def test_sparse_rows_have_the_codes_of_dense_ones() -> None:
    estimator = small("VSC", l0=3).fit(PICTURES)
    np.testing.assert_allclose(
        dense(estimator.transform(sp.csr_array(PICTURES))), dense(estimator.transform(PICTURES)), rtol=1e-4, atol=1e-6
    )


def test_a_code_does_not_depend_on_the_batch() -> None:
    estimator = small().fit(PICTURES)
    alone = np.concatenate([estimator.transform(row[None]) for row in PICTURES[:5]])
    np.testing.assert_allclose(alone, estimator.transform(PICTURES)[:5], rtol=1e-4, atol=1e-5)


def test_layers_have_channels_of_their_own_unless_given() -> None:
    assert small(hidden_layer_sizes=None).fit(PICTURES).module_.decoder.hidden_layer_sizes == [128, 64, 32]
    assert small().fit(PICTURES).module_.decoder.hidden_layer_sizes == [4, 6]


@pytest.mark.parametrize("cls", [fh.VAE, fh.MATVAE])
def test_rows_that_are_no_pictures_are_refused(cls: type) -> None:
    asked = {"recipe": "mathieu2019"} if cls is fh.MATVAE else {"encoder": "conv"}
    with pytest.raises(fh.FewhotError, match="square pictures") as error:
        cls(**SMALL, **asked).fit(grey_rows())
    assert_one_sentence(error.value)


def test_the_published_mat_vae_has_them_and_its_optimiser() -> None:
    module = fh.MATVAE(recipe="mathieu2019", max_steps=2, random_state=0, device="cpu").fit(PICTURES).module_
    assert module.encoder.body.hidden_layer_sizes == [32, 64, 128]
    assert module.decoder.hidden_layer_sizes == [128, 64, 32]
    (phase,) = module.inference.phases(module)
    assert phase.optimiser == OptimiserSpec(amsgrad=True)
