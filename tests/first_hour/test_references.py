"""A first fit on real rows comes with numbers to compare with, and says which of them it does not reach."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import norm
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.decomposition import PCA, FactorAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

import fewhot as fh
from fewhot.metrics import Summary, alarms, summarise

QUICK: dict[str, Any] = {"n_components": 8, "hidden_layer_sizes": (32,), "n_iter_no_change": None, "random_state": 0}


class Split(NamedTuple):
    train: np.ndarray
    test: np.ndarray
    y_train: np.ndarray
    y_test: np.ndarray


def split(table: Any, scale: float = 1.0) -> Split:
    X, y = table.data.astype(np.float32) / np.float32(scale), table.target
    rows = np.random.default_rng(0).permutation(len(X))
    n = int(0.8 * len(X))
    return Split(X[rows[:n]], X[rows[n:]], y[rows[:n]], y[rows[n:]])


@pytest.fixture(scope="module")
def cancer() -> Split:
    return split(load_breast_cancer())


@pytest.fixture(scope="module")
def model(cancer: Split) -> fh.VSC:
    return fh.VSC(l0=3, max_steps=300, **QUICK).fit(cancer.train)


@pytest.fixture(scope="module")
def summary(model: fh.VSC, cancer: Split) -> Summary:
    return summarise(model, cancer.test, cancer.y_test, cancer.train, cancer.y_train)


def test_the_first_reference_is_mean_and_variance_of_the_training_rows(summary: Summary, cancer: Split) -> None:
    columns = norm(cancer.train.mean(axis=0, dtype=float), cancer.train.std(axis=0, dtype=float))
    expected = columns.logpdf(cancer.test).sum(axis=1)
    assert summary.value("reference_columns") == pytest.approx(expected.mean(), abs=1e-3)
    assert summary.get("reference_columns").se == pytest.approx(expected.std(ddof=1) / len(expected) ** 0.5, rel=1e-3)


def test_the_second_is_a_factor_analysis_of_as_many_factors_as_units_are_active(
    summary: Summary, model: fh.VSC, cancer: Split
) -> None:
    n_factors = round(float((model.transform(cancer.train) != 0).sum() / len(cancer.train)))
    assert summary.facts["references"]["factors"] == f"factor analysis with {n_factors} factors"
    loc, scale = cancer.train.mean(axis=0, dtype=float), cancer.train.std(axis=0, dtype=float)
    known = FactorAnalysis(n_factors).fit((cancer.train - loc) / scale)
    expected = known.score((cancer.test - loc) / scale) - np.log(scale).sum()
    assert summary.value("reference_factors") == pytest.approx(expected, abs=0.3)  # of a table of 30 columns


def test_reconstructions_stand_beside_those_of_pca(summary: Summary, model: fh.VSC, cancer: Split) -> None:
    loc, scale = cancer.train.mean(axis=0, dtype=float), cancer.train.std(axis=0, dtype=float)
    z = (cancer.test - loc) / scale
    decoded = (model.inverse_transform(model.transform(cancer.test)) - loc) / scale
    assert summary.value("fvu") == pytest.approx(((z - decoded) ** 2).sum() / (z**2).sum(), rel=1e-3)
    pca = PCA(model.references_.n_factors).fit((cancer.train - loc) / scale)
    left = z - pca.inverse_transform(pca.transform(z))
    assert summary.value("fvu_pca") == pytest.approx((left**2).sum() / (z**2).sum(), rel=1e-3)
    number = summary.get("fvu")
    assert number is not None
    assert "variance of standardized columns unexplained" in number.meaning


def test_probes_stand_beside_the_commonest_class_and_the_columns(summary: Summary, cancer: Split) -> None:
    assert summary.value("probe_majority") == pytest.approx(np.bincount(cancer.y_test).max() / len(cancer.y_test))
    scaler = StandardScaler().fit(cancer.train)
    known = LogisticRegression(max_iter=2000).fit(scaler.transform(cancer.train), cancer.y_train)
    assert summary.value("probe_columns") == known.score(scaler.transform(cancer.test), cancer.y_test)


def test_a_model_below_its_references_is_told_so(cancer: Split) -> None:
    # a decoder that was never trained: 20 steps
    poor = fh.VSC(l0=3, max_steps=20, learning_rate=1e-5, **QUICK).fit(cancer.train)
    found = summarise(poor, cancer.test)
    assert found.verdict("bound") == "poor"
    told = {alarm.name: alarm for alarm in alarms(found)}
    worst = told.get("below_columns") or told["below_factors"]
    assert f"{found.value('bound'):.4g} nats per row" in worst.sentence
    assert "max_steps=" in worst.sentence


@pytest.mark.parametrize("table", [load_wine, load_diabetes])
def test_a_dense_code_is_compared_with_as_many_factors_as_units_vary(table: Any) -> None:
    rows = split(table())
    vae = fh.VAE(max_steps=300, **QUICK).fit(rows.train)
    found = summarise(vae, rows.test)
    assert vae.references_.n_factors == min(found.value("active_units"), rows.train.shape[1] - 1)
    assert np.isfinite(found.value("reference_factors"))


def test_pictures_have_no_factor_analysis_and_say_why() -> None:
    rows = split(load_digits(), scale=16)
    found = summarise(fh.VSC(l0=3, max_steps=300, **QUICK).fit(rows.train), rows.test)
    assert found.get("reference_factors") is None
    assert "no density of values in [0, 1]" in found.facts["references"]["no_factors"]
    p = rows.train.mean(axis=0, dtype=float).clip(0.5 / len(rows.train), 1 - 0.5 / len(rows.train))
    expected = (rows.test * np.log(p) + (1 - rows.test) * np.log(1 - p)).sum(axis=1).mean()
    assert found.value("reference_columns") == pytest.approx(expected)
    assert found.value("fvu_pca") < found.value("fvu") * 2
    number = found.get("fvu")
    assert number is not None
    assert number.meaning.startswith("fraction of variance unexplained")


def test_counts_are_compared_with_their_columns_alone(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = sp.csr_array(rng.poisson(rng.dirichlet(np.full(40, 0.2), size=300) * 30))
    for likelihood in ("multinomial", "poisson"):
        nfa = fh.NFA(5, likelihood=likelihood, max_steps=30, random_state=0).fit(X[:200])
        found = summarise(nfa, X[200:])
        assert found.get("fvu") is None
        assert found.facts["references"]["no_factors"] == "factor analysis has no density of counts"
        assert np.isfinite(found.value("reference_columns"))
    assert summarise(fh.NFA(5, max_steps=30, random_state=0).fit(X[:200]), X[200:]).value("perplexity_columns") > 1


def test_texts_are_compared_with_the_shares_of_their_words() -> None:
    texts = ["few units are hot", "hot days are few", "a cold day", "units are cold"] * 8
    model = fh.HSVAE(4, encoder="gru", hidden_layer_sizes=(8,), max_steps=5, n_iter_no_change=None, random_state=0).fit(
        texts
    )
    words = [word for text in texts for word in [*text.split(), "the end"]]
    share = {word: words.count(word) / len(words) for word in words}
    expected = np.mean([sum(np.log(share[word]) for word in [*text.split(), "the end"]) for text in texts])
    assert summarise(model, texts).value("reference_columns") == pytest.approx(expected, rel=0.01)  # unknown words too


def test_references_are_saved_with_the_model(model: fh.VSC, cancer: Split, summary: Summary, tmp_path: Path) -> None:
    model.save(tmp_path / "run")
    again = summarise(fh.load(tmp_path / "run", device="cpu"), cancer.test)
    for name in ("bound", "reference_columns", "reference_factors", "fvu", "fvu_pca"):
        assert again.value(name) == pytest.approx(summary.value(name), rel=1e-6)


def test_a_model_handed_on_without_its_references_still_has_its_own_numbers(
    model: fh.VSC, cancer: Split, tmp_path: Path
) -> None:
    model.save(tmp_path / "run")
    (tmp_path / "run" / "references.safetensors").unlink()
    found = summarise(fh.load(tmp_path / "run", device="cpu"), cancer.test)
    assert found.verdict("bound") == ""
    assert found.get("reference_columns") is None
    assert "references" not in found.facts
