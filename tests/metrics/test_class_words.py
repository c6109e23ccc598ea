"""Words of classes, against loops that can be read at a glance."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

import fewhot as fh
from fewhot import FewhotError
from fewhot.data import Vocabulary, text_dataset
from fewhot.metrics import class_distances, class_divergences, gamma_class
from tests.estimators.cases import assert_one_sentence
from tests.metrics.texts import KINDS, TEXTS, counted, reader


def by_hand(counts: np.ndarray, y: np.ndarray) -> np.ndarray:
    laws = []
    for label in sorted(set(y.tolist())):
        n = [1 + sum(counts[row, word] for row in range(len(y)) if y[row] == label) for word in range(counts.shape[1])]
        laws.append([times / sum(n) for times in n])
    return np.array([[sum(p * np.log(p / q) for p, q in zip(a, b, strict=True)) for b in laws] for a in laws])


def decided(model: Any) -> Any:
    """Return a model whose gates have made up their minds, each text's differently."""
    rows = model.module_.encoder(next(model._rows(TEXTS).batches(len(TEXTS))).x, None)
    heads = model.module_.latent.heads
    with torch.no_grad():
        heads.weight.mul_(100)
        heads.bias.copy_(-heads.weight @ rows.mean(0))
    return model


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 1000), n_classes=st.integers(1, 4), n_words=st.integers(1, 6))
def test_divergences_agree_with_loops(seed: int, n_classes: int, n_words: int) -> None:
    rng = np.random.default_rng(seed)
    counts, y = rng.poisson(1.0, (12, n_words)), rng.integers(0, n_classes, 12)
    found = class_divergences(counts, y)
    np.testing.assert_allclose(found, by_hand(counts, y), atol=1e-12)
    assert (found >= 0).all()
    assert (np.diag(found) == 0).all()


def test_sparse_counts_and_frames_are_read_as_dense_ones() -> None:
    counts, y = np.random.default_rng(0).poisson(1.0, (30, 5)), np.arange(30) % 3
    known = class_divergences(counts, y)
    for form in (sp.csr_array(counts), sp.coo_matrix(counts), pd.DataFrame(counts)):
        np.testing.assert_allclose(class_divergences(form, y), known, atol=1e-12)


def test_texts_are_counted_with_unknown_words_as_one() -> None:
    known = ["sea", "sun", "the"]
    counts = counted(TEXTS, known)
    others = np.array([len(text.split()) for text in TEXTS]) - counts.sum(axis=1)
    expected = by_hand(np.c_[others, counts], KINDS)
    vocabulary = Vocabulary(known)
    np.testing.assert_allclose(class_divergences(TEXTS, KINDS, vocabulary=vocabulary), expected, atol=1e-12)
    prepared = text_dataset(TEXTS, vocabulary)
    np.testing.assert_allclose(class_divergences(prepared, KINDS), expected, atol=1e-12)


def test_texts_bring_words_of_their_own() -> None:
    known = sorted({word for text in TEXTS for word in text.split()})
    counts = np.c_[np.zeros(len(TEXTS)), counted(TEXTS, known)]
    np.testing.assert_allclose(class_divergences(TEXTS, KINDS), by_hand(counts, KINDS), atol=1e-12)


def test_wide_sparse_counts_stay_sparse() -> None:
    n, n_words = 200_000, 100_000  # 160 GB if dense
    rng = np.random.default_rng(0)
    counts = sp.csr_array((np.ones(n), (np.arange(n), rng.integers(0, n_words, n))), (n, n_words))
    assert class_divergences(counts, np.arange(n) % 2).shape == (2, 2)


def test_distances_of_units_and_words_are_correlated_over_pairs() -> None:
    model = decided(reader())
    y = np.arange(len(TEXTS)) % 5
    found = class_distances(model, TEXTS, y)
    gamma, divergence = gamma_class(model, TEXTS, y), class_divergences(TEXTS, y, vocabulary=model.vocabulary_)
    pairs = list(combinations(range(5), 2))
    words = [(divergence[a, b] + divergence[b, a]) / 2 for a, b in pairs]
    units = [np.mean([abs(gamma[a, j] - gamma[b, j]) for j in range(6)]) for a, b in pairs]
    assert np.ptp(units) > 0
    assert found.classes.tolist() == [0, 1, 2, 3, 4]
    np.testing.assert_allclose([found.words[pair] for pair in pairs], words)
    np.testing.assert_allclose([found.units[pair] for pair in pairs], units)
    assert found.correlation == pytest.approx(spearmanr(words, units).statistic)
    np.testing.assert_array_equal(found.words, found.words.T)


def test_units_that_serve_all_classes_alike_have_no_correlation() -> None:
    model = reader()
    same = ["the sea is blue"] * 30  # one code for all
    assert np.isnan(class_distances(model, same, np.arange(30) % 3).correlation)


@pytest.mark.parametrize(
    ("X", "y", "sentence"),
    [
        ([[1.5, 0.0]], [0], "fractional values"),
        ([[-1, 0]], [0], "negative values"),
        ([[np.nan, 0]], [0], "NaN or infinity"),
        ([[1, 0]], [0, 1], r"y has shape \(2,\) and X has 1 rows"),
        (["sea", "sun"], [0, None], "1 of 2 labels in y are missing"),
        (["sea", 1], [0, 1], "Text 1 of X is of type int"),
        ("sea", [0], "give a matrix of numbers"),
        ([""], [0], "no words"),
    ],
)
def test_what_has_no_words_or_classes_is_refused_in_one_sentence(X: Any, y: Any, sentence: str) -> None:
    with pytest.raises(FewhotError, match=sentence) as caught:
        class_divergences(X, y)
    assert_one_sentence(caught.value)


def test_vocabularies_that_do_not_suit_are_refused() -> None:
    with pytest.raises(FewhotError, match="vocabulary is of type list"):
        class_divergences(TEXTS, KINDS, vocabulary=["sea"])  # type: ignore[arg-type]
    with pytest.raises(FewhotError, match="X is of type ndarray without strings"):
        class_divergences(np.ones((2, 3)), [0, 1], vocabulary=Vocabulary(["sea"]))
    with pytest.raises(FewhotError, match="another vocabulary"):
        class_divergences(text_dataset(TEXTS), KINDS, vocabulary=Vocabulary(["sea"]))


def test_classes_too_few_and_models_without_gates_are_refused() -> None:
    with pytest.raises(FewhotError, match="y has 2 classes"):
        class_distances(reader(), TEXTS, np.arange(len(TEXTS)) % 2)
    with pytest.raises(FewhotError, match="VAE has no gates"):
        class_distances(reader(fh.VAE), TEXTS, KINDS)
