"""What inference networks read of counts: tf-idf, proportions, rows of length 1, and dropout."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from sklearn.feature_extraction.text import TfidfTransformer

from fewhot.core.records import Dense
from fewhot.data import as_dataset
from fewhot.features import Proportions, TfIdf, UnitLength
from fewhot.features.dropout import thinned, uniforms
from tests.parts import both_kinds, rows


def tf_idf(x: torch.Tensor, *, smooth: bool = False, sparse: bool = False) -> TfIdf:
    transform = TfIdf(x.shape[1], smooth)
    transform.fit(as_dataset(sp.csr_array(x.numpy()) if sparse else x.numpy()).moments())
    return transform


@pytest.mark.parametrize("sparse", [False, True])
def test_the_published_weights(sparse: bool) -> None:
    x = rows("counts", n_rows=12)
    out = tf_idf(x, sparse=sparse)(Dense(x)).x
    for row in range(12):
        idf = [math.log(12 / int((x[:, v] != 0).sum())) for v in range(x.shape[1])]
        weighted = [float(x[row, v]) * idf[v] for v in range(x.shape[1])]
        length = math.sqrt(sum(w * w for w in weighted)) or 1.0
        torch.testing.assert_close(out[row], torch.tensor([w / length for w in weighted]))


def test_the_smooth_weights_are_those_of_scikit_learn() -> None:
    x = rows("counts", n_rows=30)
    expected = TfidfTransformer().fit_transform(sp.csr_array(x.numpy())).toarray()
    torch.testing.assert_close(tf_idf(x, smooth=True)(Dense(x)).x, torch.tensor(expected, dtype=torch.float32))


def test_a_column_that_training_has_not_seen_weighs_nothing() -> None:
    x = rows("counts", n_rows=20)
    later = x.clone()
    x[:, 2] = 0
    plain, smooth = tf_idf(x), tf_idf(x, smooth=True)
    seen = [0, 1, 3, 4]
    assert plain.idf[2] == smooth.idf[2] == 0
    assert (plain.idf[seen] > 0).all()
    assert (plain.idf[seen] != smooth.idf[seen]).all()
    assert (later[:, 2] != 0).any()
    for transform in (plain, smooth):
        for with_it, without in zip(both_kinds(later), both_kinds(x), strict=True):
            torch.testing.assert_close(transform(with_it).dense(), transform(without).dense())


def test_rows_that_have_every_column_keep_some_weight() -> None:
    x = torch.ones(6, 3)
    assert (tf_idf(x)(Dense(x)).x > 0).all()
    x[:, 1] = 0
    assert torch.equal(tf_idf(x).idf, torch.tensor([1.0, 0.0, 1.0]))


@pytest.mark.parametrize("transform", [Proportions(), UnitLength()], ids=["proportions", "unit-length"])
def test_rows_are_divided_by_their_size_and_empty_ones_stay(transform: Proportions | UnitLength) -> None:
    x = rows("counts")
    size = x.sum(1) if isinstance(transform, Proportions) else x.square().sum(1).sqrt()
    for given in both_kinds(x):
        out = transform(given)
        assert type(out) is type(given)
        torch.testing.assert_close(out.dense(), x / size.clamp(min=1e-9)[:, None])
    assert (transform(Dense(x)).x[0] == 0).all()


def test_the_same_entries_are_left_out_whether_rows_come_dense_or_sparse() -> None:
    x, keys = rows("counts", n_rows=8, n_columns=40), torch.arange(8)[:, None] * 7919
    dense, sparse = (thinned(given, keys, 0.4).dense() for given in both_kinds(x))
    assert torch.equal(dense, sparse)
    left = (dense == 0) & (x != 0)
    assert 0 < left.sum() < (x != 0).sum()
    torch.testing.assert_close(dense[dense != 0], x[dense != 0] / 0.6)


def test_keys_give_uniform_and_unrelated_numbers() -> None:
    keys = torch.randint(2**62, (400, 1), generator=torch.Generator().manual_seed(0))
    u = uniforms(keys, torch.arange(500)).numpy()
    assert u.min() >= 0
    assert u.max() < 1
    counts = np.histogram(u, bins=20, range=(0, 1))[0]
    expected = u.size / 20
    assert ((counts - expected) ** 2 / expected).sum() < 45  # chi-square, 19 degrees of freedom, about 1 in 1,000
    correlation = np.corrcoef(u[:, :50].T) - np.eye(50)
    assert np.abs(correlation).max() < 5 / np.sqrt(400)
    assert np.abs(np.corrcoef(u[:50]) - np.eye(50)).max() < 5 / np.sqrt(500)
