"""Recognising input without importing the library it came from."""

from __future__ import annotations

import re
from typing import Any

import anndata
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import torch

from fewhot.core.errors import InvalidInputError, InvalidTypeError
from fewhot.data import DenseDataset, RaggedDataset, TextDataset, as_dataset, as_matrix
from fewhot.data.text import is_text

X = np.array([[0.0, 1.0], [2.0, 0.0]], dtype=np.float32)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int64])
def test_torch_tensors_become_arrays(dtype: torch.dtype) -> None:
    np.testing.assert_array_equal(as_matrix(torch.tensor(X, dtype=dtype)), X)


def test_a_tensor_that_needs_gradients_is_read() -> None:
    np.testing.assert_array_equal(as_matrix(torch.tensor(X, requires_grad=True)), X)


@pytest.mark.parametrize("matrix", [X, sp.csr_matrix(X)], ids=["dense", "sparse"])
def test_anndata_gives_its_matrix(matrix: object) -> None:
    found = as_matrix(anndata.AnnData(matrix))
    np.testing.assert_array_equal(found.toarray() if sp.issparse(found) else found, X)


def test_arrays_sparse_matrices_and_lists_pass() -> None:
    for given in (X, sp.csr_array(X), sp.dok_array(X), [[0.0, 1.0]]):
        assert as_matrix(given) is given


@pytest.mark.parametrize("given", ["text", b"text", {"a": 1}, {1}, None, ["one", "two"], ("one",)], ids=str)
def test_what_holds_no_numbers_is_refused_with_what_is_accepted(given: object) -> None:
    with pytest.raises(InvalidTypeError, match=r"accepted are numpy arrays, scipy sparse matrices.*\.$"):
        as_matrix(given)


def test_the_kind_of_data_set_follows_the_matrix() -> None:
    assert isinstance(as_dataset(X), DenseDataset)
    assert isinstance(as_dataset(sp.csr_array(X)), RaggedDataset)


@pytest.mark.parametrize("size", [1e300, 1e30, 2e18])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_values_whose_squares_leave_float32_are_refused_in_a_sentence(make: object, sign: int, size: float) -> None:
    given = re.escape(f"{size:g}")
    with pytest.raises(
        InvalidInputError, match=rf"^X holds values as large as {given}, .*rescale the columns first\.$"
    ):
        as_dataset(make(np.array([[sign * size, 1.0]])))


def test_large_values_whose_squares_add_up_are_read() -> None:
    x = as_dataset(np.full((1, 300), 1e18)).batch(torch.zeros(1, dtype=torch.int64)).x
    assert x.x.square().sum().isfinite()


@pytest.mark.parametrize(
    "container",
    [list, tuple, np.array, lambda texts: np.array(texts, dtype=object), pd.Series, pl.Series],
    ids=["list", "tuple", "array", "objects", "pandas", "polars"],
)
def test_strings_are_texts(container: Any) -> None:
    data = as_dataset(container(["Few hot!", "few"]))
    assert isinstance(data, TextDataset)
    assert [data.words(row) for row in range(2)] == [["few", "hot", "!"], ["few"]]


@pytest.mark.parametrize("hole", [None, float("nan"), b"few"])
def test_a_hole_among_texts_is_named(hole: Any) -> None:
    with pytest.raises(InvalidTypeError, match=r"^Text 0 of texts is (bytes|of type \w+); "):
        as_dataset([hole, "few"], "texts")


def test_a_matrix_of_strings_is_no_list_of_texts() -> None:
    assert not is_text(np.array([["few", "hot"]]))
    assert not is_text(sp.csr_array(np.eye(2)))
    assert not is_text(pd.DataFrame({"text": ["few"]}))
