"""Names of columns that come with an AnnData: learned, checked and shown as those of a frame are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anndata
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import fewhot as fh
from fewhot.baselines import EASE, LDA
from fewhot.core.errors import InvalidInputError
from fewhot.metrics import top_words
from fewhot.plots.rows import matrix_for
from tests.estimators.cases import assert_one_sentence

WORDS = [f"w{column}" for column in range(6)]
SHORT: dict[str, Any] = {"hidden_layer_sizes": (4,), "max_steps": 5, "random_state": 0}
MODELS: dict[str, Any] = {
    "NFA": lambda: fh.NFA(2, **SHORT),
    "VAE": lambda: fh.VAE(2, likelihood="multinomial", **SHORT),
    "EASE": lambda: EASE(2.0),
    "LDA": lambda: LDA(2, max_iter=2, random_state=0),
}
every = pytest.mark.parametrize("name", MODELS)
KINDS = ("sparse", "dense", "backed")


def counts() -> np.ndarray:
    return np.random.default_rng(0).poisson(0.8, (40, 6)).astype(np.float32)


def cells(kind: str, folder: Path, columns: list[str] = WORDS) -> Any:
    """Return the counts as an AnnData whose variables are in this order."""
    X = pd.DataFrame(counts(), columns=WORDS)[columns].to_numpy()
    data = anndata.AnnData(X if kind == "dense" else sp.csr_matrix(X), var=pd.DataFrame(index=columns))
    if kind != "backed":
        return data
    path = folder / f"{'-'.join(columns)}.h5ad"
    data.write_h5ad(path)
    return anndata.read_h5ad(path, backed="r")


def use(model: Any, X: Any) -> np.ndarray:
    return model.transform(X) if hasattr(model, "transform") else model.score_items(X)


@every
@pytest.mark.parametrize("kind", KINDS)
def test_names_are_learned_and_another_order_is_refused(name: str, kind: str, tmp_path: Path) -> None:
    X = cells(kind, tmp_path)
    model = MODELS[name]().fit(X)
    assert model.feature_names_in_.tolist() == WORDS
    assert len(use(model, X)) == len(counts())  # and without a warning
    with pytest.raises(InvalidInputError, match="same order as they were in fit") as caught:
        use(model, cells(kind, tmp_path, WORDS[::-1]))
    assert_one_sentence(caught.value)


@every
@pytest.mark.parametrize("kind", KINDS)
def test_other_names_are_refused(name: str, kind: str, tmp_path: Path) -> None:
    model = MODELS[name]().fit(cells(kind, tmp_path))
    other = cells("sparse", tmp_path)
    other.var_names = ["x", *WORDS[1:]]
    with pytest.raises(InvalidInputError, match=r"unseen at fit time: x; .* missing: w0\)"):
        use(model, other)


@every
def test_a_plain_matrix_after_names_warns_and_gives_the_same(name: str, tmp_path: Path) -> None:
    X = cells("sparse", tmp_path)
    model = MODELS[name]().fit(X)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        found = use(model, sp.csr_array(counts()))
    np.testing.assert_array_equal(found, use(model, X))


def test_names_go_when_rows_on_disk_without_names_are_fitted(tmp_path: Path) -> None:
    fh.data.write_rows(tmp_path / "rows", sp.csr_array(counts()))
    model = fh.NFA(2, **SHORT).fit(cells("sparse", tmp_path)).fit(fh.data.open_rows(tmp_path / "rows"))
    assert not hasattr(model, "feature_names_in_")


def test_a_frame_and_an_anndata_know_each_other(tmp_path: Path) -> None:
    frame = pd.DataFrame(counts(), columns=WORDS)
    model = fh.NFA(2, **SHORT).fit(frame)
    np.testing.assert_allclose(model.transform(cells("dense", tmp_path)), model.transform(frame), rtol=1e-6)


@pytest.mark.parametrize("name", ["NFA", "VAE", "LDA"])
def test_top_words_are_names(name: str, tmp_path: Path) -> None:
    found = top_words(MODELS[name]().fit(cells("sparse", tmp_path)), 6)
    assert found.vocabulary == tuple(WORDS)


def test_names_given_twice_are_refused(tmp_path: Path) -> None:
    X = cells("sparse", tmp_path)
    with pytest.warns(UserWarning, match="not unique"):
        X = anndata.AnnData(X.X, var=pd.DataFrame(index=["a", "a", *WORDS[2:]]))
    with pytest.raises(InvalidInputError, match=r"'a'; call X\.var_names_make_unique\(\) first\.$") as caught:
        fh.NFA(2, **SHORT).fit(X)
    assert_one_sentence(caught.value)


def test_plots_refuse_another_order(tmp_path: Path) -> None:
    model = fh.NFA(2, **SHORT).fit(cells("sparse", tmp_path))
    assert matrix_for(model, cells("sparse", tmp_path)).shape == (40, 6)
    with pytest.raises(InvalidInputError, match="the order of feature_names_in_"):
        matrix_for(model, cells("sparse", tmp_path, WORDS[::-1]))
