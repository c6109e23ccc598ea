"""Writing rows to a folder: from every container the same, and nothing that a fit would refuse."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anndata
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import torch

from fewhot import NFA, FewhotError
from fewhot.data import open_data, open_rows, write_rows
from fewhot.data.stored import FACTS
from fewhot.metrics import top_words
from tests.estimators.cases import SMALL, assert_one_sentence


def counts() -> np.ndarray:
    return np.random.default_rng(0).poisson(1.0, (20, 5)).astype(np.float32)


def _backed(X: np.ndarray, folder: Path) -> Any:
    anndata.AnnData(sp.csr_matrix(X)).write_h5ad(folder / "rows.h5ad")
    return anndata.read_h5ad(folder / "rows.h5ad", backed="r")


def _written(X: np.ndarray, folder: Path) -> Any:
    write_rows(folder / "before", X)
    return open_rows(folder / "before")


KINDS: dict[str, Callable[[np.ndarray, Path], Any]] = {
    "array": lambda X, _: X,
    "half": lambda X, _: X.astype(np.float16),
    "objects": lambda X, _: X.astype(object),
    "bool": lambda X, _: X.astype(bool),
    "list": lambda X, _: X.tolist(),
    "csc": lambda X, _: sp.csc_array(X),
    "pandas": lambda X, _: pd.DataFrame(X),
    "nullable": lambda X, _: pd.DataFrame(X).astype("Float32"),
    "polars": lambda X, _: pl.DataFrame(X),
    "tensor": lambda X, _: torch.from_numpy(X),
    "anndata": lambda X, _: anndata.AnnData(X),
    "sparse-anndata": lambda X, _: anndata.AnnData(sp.csr_matrix(X)),
    "backed-anndata": _backed,
    "rows-on-disk": _written,
    "single-rows": lambda X, _: iter(X),
    "blocks-of-many-kinds": lambda X, folder: [X[:5], sp.csr_array(X[5:9]), _written(X[9:], folder)],
}


@pytest.mark.parametrize("kind", KINDS)
def test_rows_in_any_container_are_written(kind: str, tmp_path: Path) -> None:
    X = counts() > 0 if kind == "bool" else counts()
    write_rows(tmp_path / "rows", KINDS[kind](X, tmp_path))
    np.testing.assert_array_equal(open_rows(tmp_path / "rows").tocsr().toarray(), X)


def _with(value: Any, dtype: Any = np.float64) -> np.ndarray:
    X = counts().astype(dtype)
    X[3, 2] = value
    return X


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "nan": (lambda: _with(np.nan), "X contains NaN; impute or drop"),
    "infinity": (lambda: _with(-np.inf), "X contains infinity; remove or replace"),
    "beyond-float32": (lambda: _with(1e39), r"as large as 1e\+39.*; rescale the columns"),
    "beyond-float32-negative": (lambda: _with(-1e39), r"as large as 1e\+39.*; rescale the columns"),
    "inexact": (lambda: _with(16777217), "whole numbers up to 16,777,217.*exact up to 16,777,216; count in larger"),
    "inexact-integers": (lambda: _with(16777217, np.int64), "whole numbers up to 16,777,217"),
    "complex": (lambda: counts() * 1j, "X holds complex numbers; pass real numbers"),
    "text": (lambda: np.array([["a", "b"]]), "no matrix of numbers.*convert the text"),
    "text-frame": (lambda: pd.DataFrame({"a": ["x", "y"]}), "columns that are not plain numbers: 'a' "),
    "strings": (lambda: ["a", "b"], "list of strings"),
    "rows-of-different-lengths": (lambda: [[1, 2], [3]], "rows of equal length"),
    "one-row": (lambda: np.ones(3), r"shape \(3,\); give a matrix"),
    "a-list-of-numbers": (lambda: [1, 2], r"shape \(2,\); give a matrix"),
    "too-many-columns": (lambda: sp.csr_array((1, 2**31)), "X has 2,147,483,648 columns; rows are stored with"),
    "int": (lambda: 3, "X is int; give a sparse matrix"),
    "none": (lambda: None, "NoneType"),
    "anndata-without-a-matrix": (lambda: anndata.AnnData(obs=pd.DataFrame(index=["a"])), "NoneType"),
}


@pytest.mark.parametrize("kind", REFUSED)
@pytest.mark.parametrize("in_blocks", [False, True])
def test_what_no_fit_could_use_is_not_written(kind: str, in_blocks: bool, tmp_path: Path) -> None:
    make, words = REFUSED[kind]
    if in_blocks and kind == "one-row":
        pytest.skip("single rows may come one by one")
    with pytest.raises(FewhotError, match=words) as error:
        write_rows(tmp_path / "rows", (block for block in [make()]) if in_blocks else make())
    assert_one_sentence(error.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("value", [2**24, 2**25, -(2**24), 16777217.5])
def test_large_numbers_that_float32_holds_or_that_are_no_counts_are_written(value: float, tmp_path: Path) -> None:
    X = _with(value)
    write_rows(tmp_path / "rows", X)
    np.testing.assert_array_equal(open_rows(tmp_path / "rows").tocsr().toarray(), X.astype(np.float32))


NAMES = [f"word {column}" for column in range(5)]
NAMED: dict[str, Callable[[], Any]] = {
    "pandas": lambda: pd.DataFrame(counts(), columns=NAMES),
    "polars": lambda: pl.DataFrame(counts(), schema=NAMES),
    "anndata": lambda: anndata.AnnData(counts(), var=pd.DataFrame(index=NAMES)),
    "blocks": lambda: (pd.DataFrame(counts()[rows], columns=NAMES) for rows in (slice(5), slice(5, None))),
}


@pytest.mark.parametrize("kind", NAMED)
def test_names_of_columns_are_kept(kind: str, tmp_path: Path) -> None:
    write_rows(tmp_path / "rows", NAMED[kind]())
    write_rows(tmp_path / "again", open_rows(tmp_path / "rows")[2:])
    rows = open_rows(tmp_path / "again")
    assert rows.names == rows[:3].names == NAMES
    assert open_data(tmp_path / "again").feature_names == NAMES
    model = NFA(**SMALL).fit(rows)
    assert model.feature_names_in_.tolist() == NAMES
    assert set(top_words(model, 2).vocabulary) == set(NAMES)


def test_columns_of_other_names_are_refused_where_rows_are_on_disk(tmp_path: Path) -> None:
    write_rows(tmp_path / "rows", pd.DataFrame(counts(), columns=NAMES[::-1]))
    model, rows = NFA(**SMALL).fit(NAMED["pandas"]()), open_rows(tmp_path / "rows")
    for verb in (model.transform, model.recommend):
        with pytest.raises(FewhotError, match=r"feature names should match .*; pass the columns it was fitted on"):
            verb(rows)


def test_names_that_not_all_blocks_share_are_not_kept(tmp_path: Path) -> None:
    frame = pd.DataFrame(counts(), columns=NAMES)
    write_rows(tmp_path / "rows", [frame, counts()])
    assert open_rows(tmp_path / "rows").names is None
    with pytest.raises(FewhotError, match="Blocks whose columns have other names"):
        write_rows(tmp_path / "other", [frame, frame[NAMES[::-1]]])
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("names", [["a"], [1, 2, 3, 4, 5], 3])
def test_names_that_are_not_those_of_the_columns_are_damage(names: Any, tmp_path: Path) -> None:
    write_rows(tmp_path / "rows", counts())
    facts = json.loads((tmp_path / "rows" / FACTS).read_text())
    (tmp_path / "rows" / FACTS).write_text(json.dumps({**facts, "names": names}))
    with pytest.raises(FewhotError, match="is damaged; write the folder anew"):
        open_rows(tmp_path / "rows")
