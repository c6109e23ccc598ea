"""Rare words, and how far refinement moves the codes of documents that have them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from torch.distributions import Normal, kl_divergence

import fewhot as fh
from fewhot.core.errors import FewhotError
from fewhot.metrics import code_divergence, rare_word_correlation, rare_words


@given(arrays(np.int64, (8, 5), elements=st.integers(0, 2)), st.sampled_from([0.125, 0.2, 0.5, 1.0]))
def test_rare_words_are_counted_as_a_loop_counts_them(X: np.ndarray, share: float) -> None:
    expected = [sum(1 for v in range(5) if row[v] and (X[:, v] > 0).sum() < share * 8) for row in X]
    assert rare_words(X, share).tolist() == expected
    assert rare_words(sp.csr_array(X), share).tolist() == expected


def test_training_documents_say_which_words_are_rare() -> None:
    training = np.array([[1, 0], [1, 0], [1, 1], [1, 0]])
    assert rare_words([[1, 1], [0, 5], [3, 0]], 0.5, training=training).tolist() == [1, 1, 0]


def test_columns_of_two_frames_are_told_by_their_names() -> None:
    X = pd.DataFrame([[1, 1], [0, 5], [3, 0]], columns=["common", "rare"])
    training = pd.DataFrame([[0, 1], [0, 1], [1, 1], [0, 1]], columns=["rare", "common"])
    assert rare_words(X, 0.5, training=training).tolist() == [1, 1, 0]
    with pytest.raises(FewhotError, match="training has the column 'new', which is not in X"):
        rare_words(X, 0.5, training=training.rename(columns={"rare": "new"}))


def test_a_stored_zero_is_no_word() -> None:
    X = sp.csr_array((np.array([0, 1]), np.array([0, 1]), np.array([0, 2])), shape=(1, 2))
    assert rare_words(X, training=np.zeros((3, 2), int)).tolist() == [1]


def test_the_divergence_is_torchs() -> None:
    torch.manual_seed(0)
    means, scales = torch.randn(2, 6, 3).double(), torch.rand(2, 6, 3).double() + 0.1
    q, p = Normal(means[0], scales[0]), Normal(means[1], scales[1])
    pairs = [(mean.numpy(), scale.square().numpy()) for mean, scale in zip(means, scales, strict=True)]
    assert code_divergence(*pairs) == pytest.approx(kl_divergence(q, p).sum(-1).numpy())
    assert code_divergence(pairs[0], pairs[0]) == pytest.approx(np.zeros(6))


def test_codes_of_an_estimator_are_taken_as_they_come() -> None:
    X = np.random.default_rng(0).poisson(1.0, size=(40, 6))
    vae = fh.VAE(2, likelihood="multinomial", max_steps=20, random_state=0).fit(X)
    amortised = vae.codes(X)
    refined = vae.set_params(refine_steps=5).codes(X)
    moved = code_divergence(amortised, refined)
    assert moved.shape == (40,)
    rows_moved = (amortised.values != refined.values).any(axis=1)  # a row that is not sure to gain stays
    assert rows_moved.any()
    assert ((moved > 0) == rows_moved).all()
    assert code_divergence(amortised, amortised) == pytest.approx(np.zeros(40))


def test_the_correlation_is_of_ranks() -> None:
    rng = np.random.default_rng(0)
    moved, rare = rng.random(50), rng.integers(0, 9, 50)

    def ranks(values: np.ndarray) -> np.ndarray:
        return np.array([(values < value).sum() + ((values == value).sum() - 1) / 2 for value in values])

    expected = np.corrcoef(ranks(moved), ranks(rare))[0, 1]
    assert rare_word_correlation(moved, rare) == pytest.approx(expected)
    assert rare_word_correlation(np.exp(moved), rare) == pytest.approx(expected)


def test_rows_that_are_all_alike_have_no_correlation() -> None:
    assert np.isnan(rare_word_correlation([1.0, 1.0], [1, 2]))


GOOD = (np.zeros((2, 3)), np.ones((2, 3)))


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: rare_words([[-1, 0]]), "negative values"),
        (lambda: rare_words([[0.5, 0]]), "fractional values"),
        (lambda: rare_words([[1, 0]], training=[[1, 0, 0]]), "training has 3 columns and the vocabulary 2 words"),
        (lambda: rare_words([[1, 0]], share=0.0), "share is 0.0"),
        (lambda: code_divergence(GOOD, (np.zeros((2, 3)), np.zeros((2, 3)))), "not above 0"),
        (lambda: code_divergence(GOOD, (np.zeros((2, 2)), np.ones((2, 2)))), r"\(2, 3\) and \(2, 2\)"),
        (lambda: code_divergence(GOOD, (sp.eye_array(2), sp.eye_array(2))), "sparse code"),
        (lambda: code_divergence(None, GOOD), "q is of type NoneType; give what codes"),
        (lambda: code_divergence(GOOD, np.zeros((3, 2))), "p is of type ndarray; give what codes"),
        (lambda: code_divergence(sp.eye_array(2), GOOD), "q is of type .*; give what codes"),
        (lambda: rare_word_correlation(sp.eye_array(2), [1, 2]), "divergence is of type"),
        (lambda: rare_word_correlation([1.0], [1]), "at least two rows"),
        (lambda: rare_word_correlation([1.0, np.nan], [1, 2]), "NaN"),
        (lambda: rare_word_correlation([1.0, 2.0], [1, 2, 3]), r"shapes \(2,\) and \(3,\)"),
    ],
)
def test_bad_input_gets_one_sentence(call: Any, sentence: str) -> None:
    with pytest.raises(FewhotError, match=sentence):
        call()
