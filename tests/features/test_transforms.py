"""Feature transforms: what the encoder reads."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from fewhot.core.records import Dense, Ragged
from fewhot.data import as_dataset
from fewhot.features import Identity, Log1p, Standardise
from tests.parts import both_kinds, ragged, rows


def fitted(x: torch.Tensor, *, centre: bool = True) -> Standardise:
    transform = Standardise(x.shape[1], centre=centre)
    transform.fit(as_dataset(x.numpy()).moments())
    return transform


def test_identity_changes_nothing() -> None:
    for x in both_kinds(rows("real")):
        assert Identity()(x) is x


def test_log1p_of_counts_keeps_sparse_rows_sparse() -> None:
    x = rows("counts")
    for given in both_kinds(x):
        out = Log1p()(given)
        assert type(out) is type(given)
        torch.testing.assert_close(out.dense(), torch.log1p(x))


def test_standardised_columns_have_mean_zero_and_deviation_one() -> None:
    x = rows("real", n_rows=200)
    out = fitted(x)(Dense(x)).x
    torch.testing.assert_close(out.mean(0), torch.zeros(x.shape[1]), rtol=0, atol=1e-5)
    torch.testing.assert_close(out.std(0, correction=0), torch.ones(x.shape[1]))


def test_a_constant_column_becomes_zero_and_stays_finite() -> None:
    x = rows("real", n_rows=50)
    x[:, 1], x[:, 2] = 3.25, 0.0
    out = fitted(x)(Dense(x)).x
    assert out.isfinite().all()
    torch.testing.assert_close(out[:, [1, 2]], torch.zeros(50, 2), rtol=0, atol=1e-5)
    new = fitted(x)(Dense(x + 1.0)).x
    torch.testing.assert_close(new[:, [1, 2]], torch.ones(50, 2))


@pytest.mark.parametrize("centre", [False, True])
def test_the_same_rows_give_the_same_features_dense_or_sparse(centre: bool) -> None:
    x = rows("real", n_rows=30)
    transform = fitted(x, centre=centre)
    dense, sparse = (transform(given).dense() for given in both_kinds(x))
    torch.testing.assert_close(dense, sparse)


def test_sparse_rows_that_are_not_centred_stay_sparse() -> None:
    x = rows("real", n_rows=30)
    out = fitted(x, centre=False)(ragged(x))
    assert isinstance(out, Ragged)
    assert torch.equal(out.dense() == 0, x == 0)
    torch.testing.assert_close(out.dense().std(0, correction=0), torch.ones(x.shape[1]))


def test_moments_of_sparse_and_dense_training_rows_fit_the_same_transform() -> None:
    x = rows("real", n_rows=30).numpy().astype(np.float64)
    one, other = Standardise(x.shape[1]), Standardise(x.shape[1])
    one.fit(as_dataset(x).moments())
    other.fit(as_dataset(sp.csr_array(x)).moments())
    torch.testing.assert_close(one.state_dict(), other.state_dict())
