"""Images are images: arrays of pictures go in, pictures come out, and defaults reconstruct them better than PCA."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

import fewhot as fh
from fewhot.core.errors import InvalidInputError

N_TEST = 360


def digits() -> np.ndarray:
    """Return small pictures as bytes, (1797, 8, 8), shuffled."""
    images = (load_digits().images * 255 / 16).round().astype(np.uint8)
    return images[np.random.default_rng(0).permutation(len(images))]


def colored(grey: np.ndarray) -> np.ndarray:
    """Return pictures (n, 8, 6, 3), each in a color of its own."""
    hues = np.random.default_rng(1).random((len(grey), 1, 1, 3))
    return (grey[:, :, 1:-1, None] * hues).astype(np.uint8)


def fvu_and_pca(model: Any, train: np.ndarray, test: np.ndarray) -> tuple[float, float]:
    """Return what the model leaves unexplained of pixels in [0, 1], and what as many principal axes do."""
    Z = model.transform(test)
    k = max(1, round(float((Z != 0).sum()) / Z.shape[0]))
    train, test = (images.reshape(len(images), -1) / 255 for images in (train, test))
    found = model.inverse_transform(Z).reshape(len(test), -1)
    pca = PCA(k, random_state=0).fit(train)
    whole = ((test - train.mean(0)) ** 2).sum()
    linear = pca.inverse_transform(pca.transform(test))
    return float(((found - test) ** 2).sum() / whole), float(((linear - test) ** 2).sum() / whole)


def quick(X: Any, **options: Any) -> fh.VSC:
    return fh.VSC(16, l0=3, max_steps=5, random_state=0, **options).fit(X)


def test_a_default_fit_of_pictures_reconstructs_better_than_principal_axes() -> None:
    images = digits()
    train, test = images[N_TEST:], images[:N_TEST]
    vsc = fh.VSC(l0=8, max_steps=600, random_state=0).fit(train)
    fvu, pca = fvu_and_pca(vsc, train, test)
    assert fvu < 0.7 * pca, (fvu, pca)  # 0.16 and 0.33; Bernoulli columns had 0.35


@pytest.mark.parametrize("shape", [(8, 8), (8, 8, 1), (8, 6, 3)])
def test_pictures_come_back_in_their_shape_and_range(shape: tuple[int, ...], tmp_path: Path) -> None:
    X = colored(digits()) if shape[-1] == 3 else digits().reshape(-1, *shape)
    vsc = quick(X)
    Z = vsc.transform(X[:5])
    vsc.save(tmp_path / "run")
    for model in (vsc, fh.load(tmp_path / "run")):
        assert model.image_shape_ == shape
        for made in (model.inverse_transform(Z), model.sample(5, 0), model.sample_like(X[:5], 0)):
            assert made.shape == (5, *shape)
            assert made.min() >= 0
            assert made.max() <= 1
        np.testing.assert_array_equal(model.transform(X[:5]).toarray(), Z.toarray())


def test_bytes_and_the_same_pixels_as_fractions_or_flat_are_one() -> None:
    X = digits()
    vsc = quick(X)
    Z = vsc.transform(X[:20]).toarray()
    for same in (X[:20] / 255, X[:20].reshape(20, -1), list(X[:20]), X[:20].astype(int), X[:20, ..., None]):
        np.testing.assert_allclose(vsc.transform(same).toarray(), Z, atol=1e-5)


def test_bytes_of_pictures_are_pixels() -> None:
    X = digits()
    assert quick(X).likelihood_ == "gaussian"
    assert quick(X > 100).likelihood_ == "bernoulli"
    own = quick(load_digits().images)
    assert own.inverse_transform(own.transform(load_digits().images[:50])).max() > 2  # in the units of the fit


def test_flat_bytes_that_spread_as_pixels_do_are_such_and_that_is_said(tmp_path: Path) -> None:
    X = digits()
    flat = X.reshape(len(X), -1)
    with pytest.warns(UserWarning, match=r"X holds bytes from 0 to 255, which are taken as pixels and divided by 255"):
        vsc = quick(flat)
    assert (vsc.likelihood_, vsc.image_shape_) == ("gaussian", None)
    vsc.save(tmp_path / "run")
    for model in (vsc, fh.load(tmp_path / "run")):
        Z = model.transform(flat[:20]).toarray()
        np.testing.assert_allclose(Z, quick(X).transform(X[:20]).toarray(), atol=1e-5)
        np.testing.assert_allclose(model.transform(flat[:20] / 255).toarray(), Z, atol=1e-5)
        assert model.inverse_transform(Z).shape == (20, 64)
        assert model.inverse_transform(Z).max() <= 1
    with pytest.raises(InvalidInputError, match=r"pixels up to 255, and the model was fitted on pixels in \[0, 1\]"):
        vsc.transform(flat.astype(float))


def test_bytes_that_are_counts_stay_counts() -> None:
    rng = np.random.default_rng(0)
    words = (rng.gamma(0.05, 40, (300, 64))).clip(0, 255).astype(np.uint8)  # heavy tails: most counts are 1 or 2
    assert words.max() > 128
    assert quick(words).likelihood_ == "negative-binomial"
    flat = digits().reshape(-1, 64)
    assert quick(flat.astype(int)).likelihood_ == "negative-binomial"
    assert quick(flat, likelihood="poisson").likelihood_ == "poisson"
    assert fh.NFA(4, max_steps=3, random_state=0).fit(flat).likelihood_ == "multinomial"


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda X: X[:, :4], r"images of shape \(4, 8\), and the model was fitted on images of shape \(8, 8\)"),
        (lambda X: X.astype(float), r"pixels up to 255, and the model was fitted on pixels in \[0, 1\]"),
        (lambda X: X.astype(int) * 2, "whole-number pixels run from 0 to 255"),
        (lambda X: np.stack([X] * 3, axis=1), "channels come last"),
        (lambda X: [X[0], X[1, :4]], "resize them to one shape first"),
    ],
)
def test_other_pictures_are_refused_in_a_sentence(change: Any, sentence: str) -> None:
    X = digits()
    with pytest.raises(InvalidInputError, match=sentence):
        quick(X).transform(change(X))


def test_a_model_of_rows_refuses_pictures() -> None:
    X = digits().astype(int)
    with pytest.raises(InvalidInputError, match="fitted on rows that are no images"):
        quick(X.reshape(len(X), -1)).transform(X)


@pytest.mark.parametrize("name", ["VAE", "BetaTCVAE", "MATVAE", "HSVAE", "SDLGM", "GumbelVAE", "NFA"])
def test_every_model_takes_pictures(name: str) -> None:
    X = digits()[:200]
    model = getattr(fh, name)(n_components=8, max_steps=3, random_state=0).fit(X)
    Z = model.transform(X[:5])
    assert model.inverse_transform(Z).shape == model.sample(5).shape == (5, 8, 8)
    assert np.isfinite(model.score(X[:20]))
    assert model.partial_fit(X).image_shape_ == (8, 8)
