"""Linear probes: what they see, and how labels are drawn."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

import fewhot as fh
from fewhot.core.errors import InvalidInputError
from fewhot.metrics import code_matrix, linear_probe, probe_codes, stratified_rows
from tests.metrics.conftest import PlantedRows


@settings(deadline=None)
@given(counts=st.lists(st.integers(1, 40), min_size=2, max_size=5), data=st.data())
def test_labels_are_drawn_in_proportion(counts: list[int], data: st.DataObject) -> None:
    labels = np.random.default_rng(0).permutation(np.repeat(np.arange(len(counts)), counts))
    n = data.draw(st.integers(1, len(labels)))
    rows = stratified_rows(labels, n, random_state=1)
    taken = np.bincount(labels[rows], minlength=len(counts))
    assert len(set(rows.tolist())) == n
    assert (np.abs(taken - n * np.asarray(counts) / sum(counts)) < 1).all()


def test_a_seed_fixes_the_labelled_rows() -> None:
    labels = np.arange(200) % 4
    assert (stratified_rows(labels, 20, 0) == stratified_rows(labels, 20, 0)).all()
    assert (stratified_rows(labels, 20, 0) != stratified_rows(labels, 20, 1)).any()


def test_a_budget_beyond_the_rows_takes_all() -> None:
    assert stratified_rows(np.array([0, 1, 1]), 5000).tolist() == [0, 1, 2]


def noisy_classes(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, n)
    codes = rng.normal(size=(n, 5)) * [1, 10, 0.1, 1, 1] + np.eye(5)[labels] * [1.5, 15, 0.15, 0, 0]
    return codes * (rng.random(codes.shape) < 0.6), labels


def test_the_probe_is_a_logistic_regression_on_scaled_codes() -> None:
    codes, labels = noisy_classes(600)
    mean, std = codes[:400].mean(axis=0), codes[:400].std(axis=0)
    by_hand = LogisticRegression(C=1.0, max_iter=5000).fit((codes[:400] - mean) / std, labels[:400])
    found = probe_codes(codes[:400], labels[:400], codes[400:], labels[400:])
    accuracy = by_hand.score((codes[400:] - mean) / std, labels[400:])
    assert found.accuracy == pytest.approx(accuracy)
    assert found.se == pytest.approx(np.sqrt(accuracy * (1 - accuracy) / 200))
    assert found.majority == pytest.approx(np.bincount(labels[400:]).max() / 200)


def test_sparse_and_dense_codes_give_the_same_probe() -> None:
    codes, labels = noisy_classes(600)
    dense = probe_codes(codes[:400], labels[:400], codes[400:], labels[400:])
    sparse = probe_codes(sp.csr_array(codes[:400]), labels[:400], sp.csr_array(codes[400:]), labels[400:])
    assert sparse.accuracy == pytest.approx(dense.accuracy, abs=1 / 200)


@pytest.mark.parametrize("kind", ["map", "mean", "sample"])
def test_a_probe_reads_a_planted_unit_from_codes(vsc: fh.VSC, planted: PlantedRows, kind: str) -> None:
    X, y = planted.X, planted.labels
    found = linear_probe(vsc, X[:400], y[:400], X[400:], y[400:], n_labels=200, kind=kind)  # type: ignore[arg-type]
    assert (found.n_labels, found.kind) == (200, kind)
    assert found.accuracy > found.majority + 4 * found.se


def test_only_the_labelled_rows_are_seen(vsc: fh.VSC, planted: PlantedRows) -> None:
    X, y = planted.X, planted.labels
    rows = stratified_rows(y[:400], 100, 5)
    codes = code_matrix(vsc, X)
    expected = probe_codes(codes[rows], y[rows], codes[400:], y[400:])
    assert linear_probe(vsc, X[:400], y[:400], X[400:], y[400:], n_labels=100, random_state=5) == expected


def test_rows_that_cannot_be_indexed_are_probed_too(vsc: fh.VSC, planted: PlantedRows) -> None:
    X, y = planted.X, planted.labels
    arrays = linear_probe(vsc, X[:400], y[:400], X[400:], y[400:], n_labels=100)
    lists = linear_probe(vsc, X[:400].tolist(), y[:400].tolist(), X[400:].tolist(), y[400:].tolist(), n_labels=100)
    assert arrays == lists


def test_labels_of_one_class_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="all of one class"):
        probe_codes(np.eye(3), [1, 1, 1], np.eye(3), [0, 1, 1])


def test_a_label_too_few_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="one label a row"):
        probe_codes(np.eye(3), [0, 1], np.eye(3), [0, 1, 1])
