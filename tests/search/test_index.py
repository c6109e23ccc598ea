"""Search: equal to comparing with every row, whatever the codes are stored like; and what it refuses."""

from __future__ import annotations

import pickle
import subprocess
import sys
import tracemalloc
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fewhot.codes import Codes
from fewhot.core.errors import InvalidInputError, InvalidParameterError
from fewhot.metrics import top_items
from fewhot.search import SparseIndex
from fewhot.search.best import best_counts, best_rows

SIMILARITIES = ("dot", "cosine", "shared")
CODES = np.array([[1.0, 0.0, 2.0], [0.0, -3.0, 0.0], [0.0, 0.0, 0.0], [1.0, 0.0, 2.0]])


def brute_force(codes: np.ndarray, queries: np.ndarray, n: int, similarity: str) -> tuple[np.ndarray, np.ndarray]:
    """Compare every query with every row, one pair and one unit at a time."""
    ids, scores = np.full((len(queries), n), -1), np.full((len(queries), n), -np.inf)
    z, q = (_unit_rows(codes), _unit_rows(queries)) if similarity == "cosine" else (codes, queries)
    for i in range(len(q)):
        dots = [sum((a * b for a, b in zip(q[i], row, strict=True)), 0.0) for row in z]
        counts = [int(((q[i] != 0) & (row != 0)).sum()) for row in z]
        first = counts if similarity == "shared" else dots
        order = sorted(range(len(z)), key=lambda r: (-first[r], -dots[r], r))[:n]
        ids[i, : len(order)], scores[i, : len(order)] = order, [first[r] for r in order]
    return ids, scores


def _unit_rows(rows: np.ndarray) -> np.ndarray:
    lengths = np.sqrt((rows**2).sum(axis=1, keepdims=True))
    return rows / np.where(lengths == 0, 1, lengths)


@st.composite
def few_values(draw: st.DrawFn, n_columns: int) -> np.ndarray:
    """Draw rows of few whole numbers, so that sums are exact, scores are often equal and rows often the same."""
    shape = (draw(st.integers(1, 40)), n_columns)
    return draw(arrays(np.float64, shape, elements=st.sampled_from([0.0, 0.0, 0.0, 1.0, -1.0, 2.0])))


def stored_oddly(dense: np.ndarray, seed: int) -> Any:
    """Return the same rows as CSR with entries twice, zeros stored, units in any order, and any types."""
    rng = np.random.default_rng(seed)
    rows, columns = np.nonzero((dense != 0) | (rng.random(dense.shape) < 0.2))
    values = dense[rows, columns]
    rows, columns = np.repeat(rows, 2), np.repeat(columns, 2)
    values = np.stack([values - 1, np.ones_like(values)], axis=1).ravel()
    order = np.lexsort((rng.random(len(rows)), rows))
    ends = np.searchsorted(rows[order], np.arange(len(dense) + 1))
    matrix = sp.csr_array(
        (values[order].astype(rng.choice([np.float32, np.float64])), columns[order], ends), dense.shape
    )
    if rng.random() < 0.5:
        matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    return matrix


@given(st.data(), st.integers(1, 6), st.integers(1, 45), st.sampled_from(["dot", "shared"]), st.integers(0, 99))
def test_it_is_equal_to_comparing_with_every_row(data: Any, k: int, n: int, similarity: str, seed: int) -> None:
    codes, queries = data.draw(few_values(k)), data.draw(few_values(k))
    found = SparseIndex(stored_oddly(codes, seed), similarity).search(stored_oddly(queries, seed + 1), n)
    ids, scores = brute_force(codes, queries, n, similarity)
    np.testing.assert_array_equal(found[0], ids)
    np.testing.assert_array_equal(found[1], scores)


@given(st.data(), st.integers(1, 6), st.integers(1, 45), st.integers(0, 99))
def test_cosines_are_those_of_every_row(data: Any, k: int, n: int, seed: int) -> None:
    codes, queries = data.draw(few_values(k)), data.draw(few_values(k))
    ids, scores = SparseIndex(stored_oddly(codes, seed), "cosine").search(stored_oddly(queries, seed + 1), n)
    every = _unit_rows(queries) @ _unit_rows(codes).T
    np.testing.assert_allclose(scores, brute_force(codes, queries, n, "cosine")[1], rtol=0, atol=1e-12)
    listed = np.take_along_axis(every, np.maximum(ids, 0), axis=1)
    np.testing.assert_allclose(np.where(ids < 0, -np.inf, listed), scores, rtol=0, atol=1e-12)
    same = (scores[:, 1:] == scores[:, :-1]) & (ids[:, 1:] >= 0)
    assert (ids[:, 1:] > ids[:, :-1])[same].all()


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_many_rows_are_ranked_as_by_the_whole_table_of_scores(similarity: str) -> None:
    rng = np.random.default_rng(0)
    codes = rng.normal(size=(3000, 20)) * (rng.random((3000, 20)) < 0.2)
    queries = rng.normal(size=(7, 20)) * (rng.random((7, 20)) < 0.2)
    for n in (1, 10, 700, 3000):
        found = SparseIndex(sp.csr_array(codes), similarity).search(sp.csr_array(queries), n)
        ids, scores = brute_force(codes, queries, n, similarity)
        np.testing.assert_allclose(found[1], scores, rtol=0, atol=1e-12)
        assert (found[0] == ids).mean() > 0.999  # but for rounding of cosines


@given(st.data(), st.integers(1, 5), st.sampled_from(SIMILARITIES), st.randoms(use_true_random=False))
def test_rows_in_another_order_are_found_with_the_same_scores(data: Any, k: int, similarity: str, random: Any) -> None:
    codes, queries = data.draw(few_values(k)), data.draw(few_values(k))
    order = np.array(random.sample(range(len(codes)), len(codes)))
    back, before = SparseIndex(codes, similarity).search(queries, len(codes))
    ids, after = SparseIndex(codes[order], similarity).search(queries, len(codes))
    np.testing.assert_array_equal(before, after)
    for i in range(len(queries)):  # the rows of each score are the same
        for score in np.unique(before[i]):
            assert set(order[ids[i][after[i] == score]]) == set(back[i][before[i] == score])


@given(arrays(np.float64, st.integers(1, 900), elements=st.sampled_from([-1.0, 0.0, 0.5, 2.0])), st.integers(1, 950))
def test_the_best_rows_are_those_of_a_sort(scores: np.ndarray, n: int) -> None:
    expected = np.argsort(-scores, kind="stable")[:n]
    np.testing.assert_array_equal(best_rows(scores, n), expected)
    ranked = np.lexsort((np.arange(len(scores)), -scores, -(scores > 0).astype(int)))[:n]
    np.testing.assert_array_equal(best_counts((scores > 0).astype(int), scores, n), ranked)


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.integers(1, 40))
def test_best_rows_of_real_numbers_are_those_of_a_recommender(seed: int, n: int) -> None:
    scores = np.random.default_rng(seed).normal(size=20_000)
    np.testing.assert_array_equal(best_rows(scores, n), top_items(scores[None], n)[0][0])


def test_a_score_does_not_depend_on_the_other_queries() -> None:
    rng = np.random.default_rng(1)
    codes, queries = rng.normal(size=(400, 12)), rng.normal(size=(9, 12))
    index = SparseIndex(codes)
    together = index.search(queries)
    alone = [index.search(queries[i : i + 1]) for i in range(len(queries))]
    np.testing.assert_array_equal(together[0], np.concatenate([ids for ids, _ in alone]))
    np.testing.assert_array_equal(together[1], np.concatenate([scores for _, scores in alone]))


def test_shared_units_are_counted_before_their_products_are_asked() -> None:
    index = SparseIndex([[9.0, 0.0, 0.0], [0.1, 0.1, 0.0], [0.1, 0.2, 5.0], [0.1, 0.2, 0.0]], "shared")
    ids, scores = index.search([[1.0, 1.0, 0.0]], n=4)
    assert ids.tolist() == [[2, 3, 1, 0]]
    assert scores.tolist() == [[2.0, 2.0, 2.0, 1.0]]


def test_rows_that_share_nothing_stand_before_negative_scores() -> None:
    ids, scores = SparseIndex(CODES).search([[0.0, 1.0, 0.0]], n=4)
    assert ids.tolist() == [[0, 2, 3, 1]]
    assert scores.tolist() == [[0.0, 0.0, 0.0, -3.0]]


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_a_query_without_active_units_is_as_like_every_row(similarity: str) -> None:
    ids, scores = SparseIndex(CODES, similarity).search(np.zeros((1, 3)), n=3)
    assert ids.tolist() == [[0, 1, 2]]
    assert scores.tolist() == [[0.0, 0.0, 0.0]]


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_codes_without_any_active_unit_are_searched(similarity: str) -> None:
    ids, scores = SparseIndex(sp.csr_array((2, 3)), similarity).search(CODES[:1], n=3)
    assert ids.tolist() == [[0, 1, -1]]
    assert scores.tolist() == [[0.0, 0.0, -np.inf]]


def test_lists_longer_than_the_index_end_as_those_of_a_recommender() -> None:
    ids, scores = SparseIndex(CODES).search(CODES[:1], n=6)
    expected = top_items(CODES[:1] @ CODES.T, n=6)
    assert ids.tolist() == expected[0].tolist()
    assert scores.tolist() == expected[1].tolist()


def test_what_transform_and_codes_return_is_taken() -> None:
    values = sp.csr_array(CODES.astype(np.float32))
    codes = Codes(values=values, variance=values, p_active=values, bound=np.zeros(4))
    for rows in (values, codes, CODES, sp.csc_matrix(CODES), CODES.tolist(), np.ma.array(CODES), pd.DataFrame(CODES)):
        assert SparseIndex(rows).search(rows, n=2)[0].tolist() == [[0, 3], [1, 0], [0, 1], [0, 3]]


def test_what_is_given_is_left_as_it_was() -> None:
    codes = stored_oddly(CODES, seed=0)
    before = [codes.data.copy(), codes.indices.copy(), codes.indptr.copy()]
    index = SparseIndex(codes, "cosine")
    first = index.search(codes)
    for kept, array in zip(before, (codes.data, codes.indices, codes.indptr), strict=True):
        np.testing.assert_array_equal(kept, array)
    codes.data[:] = 7.0
    np.testing.assert_array_equal(index.search(CODES)[1], first[1])


def test_cosines_of_the_largest_and_smallest_numbers_are_finite() -> None:
    codes = np.array([[1e300, 1e300], [1e-300, 1e-300], [5e-324, 0.0], [-1e300, 1e300]])
    _, scores = SparseIndex(codes, "cosine").search([[1.0, 1.0]], n=4)
    assert scores == pytest.approx(np.array([[1.0, 1.0, 0.5**0.5, 0.0]]), abs=1e-12)


@pytest.mark.parametrize("similarity", SIMILARITIES)
@given(data=st.data(), k=st.integers(1, 6), seed=st.integers(0, 99))
def test_contributions_make_up_the_score(similarity: str, data: Any, k: int, seed: int) -> None:
    codes, query = data.draw(few_values(k)), data.draw(few_values(k))[:1]
    index = SparseIndex(stored_oddly(codes, seed), similarity)
    ids, scores = index.search(query, len(codes))
    for row, score in zip(ids[0].tolist(), scores[0], strict=True):
        units, contributions = index.explain(query, row)
        assert set(units) == set(np.flatnonzero((query[0] != 0) & (codes[row] != 0)))
        made_up = len(units) if similarity == "shared" else contributions.sum()
        assert made_up == pytest.approx(score, abs=1e-12)
        assert (np.diff(contributions) <= 0).all()
        assert (np.diff(units)[np.diff(contributions) == 0] > 0).all()


def test_one_row_is_explained_in_any_shape() -> None:
    index, sparse = SparseIndex(CODES), sp.csr_array(CODES)
    for query in (CODES[0], CODES[:1], CODES[0].tolist(), sparse[[0]], sparse[0], sp.csr_matrix(CODES)[0]):
        shared = index.explain(query, 3)
        assert shared.units.tolist() == [2, 0]
        assert shared.contributions.tolist() == [4.0, 1.0]
    assert index.explain(CODES[2], 0).units.tolist() == []


@pytest.mark.parametrize(
    ("codes", "sentence"),
    [
        (np.zeros((0, 3)), r"codes is float64 of shape \(0, 3\); give a matrix of numbers"),
        (np.zeros(3), r"codes is float64 of shape \(3,\); give a matrix of numbers"),
        (sp.csr_array((0, 3)), r"codes is float64 of shape \(0, 3\)"),
        (np.array([["a"]]), "give a matrix of numbers"),
        (None, "give a matrix of numbers"),
        (np.array([[np.nan, 1.0]]), "codes contains NaN or infinity; give finite numbers"),
        (sp.csr_array(np.array([[np.inf, 1.0]])), "codes contains NaN or infinity"),
        (np.ma.array([[1.0, 2.0]], mask=[[True, False]]), "codes has 1 masked of 2 entries; impute or drop"),
    ],
)
def test_codes_that_cannot_be_searched_are_refused(codes: Any, sentence: str) -> None:
    with pytest.raises(InvalidInputError, match=sentence):
        SparseIndex(codes)


def test_a_sparse_matrix_with_entries_outside_of_it_is_refused() -> None:
    codes = sp.csr_array(CODES)
    codes.indices = codes.indices + 1
    with pytest.raises(InvalidInputError, match="codes has column indices from 1 to 3, and its 3 columns are numbered"):
        SparseIndex(codes)


@pytest.mark.parametrize(
    ("queries", "sentence"),
    [
        (np.zeros((0, 3)), r"queries is float64 of shape \(0, 3\); give a matrix of numbers"),
        (CODES[0], r"queries is float64 of shape \(3,\); give a matrix of numbers"),
        (np.zeros((2, 4)), "queries has 4 columns and the index 3 units; give codes of the same model"),
        (np.full((1, 3), np.nan), "queries contains NaN or infinity"),
        (np.ma.array(CODES, mask=CODES > 1), "queries has 2 masked of 12 entries"),
        (np.full((1, 3), 1e308), r"queries has values up to 1e\+308 and the index up to 3, .* divide both by a number"),
    ],
)
def test_queries_that_cannot_be_compared_are_refused(queries: Any, sentence: str) -> None:
    with pytest.raises(InvalidInputError, match=sentence):
        SparseIndex(CODES).search(queries)


def test_arguments_out_of_range_are_refused() -> None:
    index = SparseIndex(CODES)
    with pytest.raises(InvalidParameterError, match="similarity is 'l2'; it must be one of 'dot', 'cosine', 'shared'"):
        SparseIndex(CODES, "l2")
    with pytest.raises(InvalidParameterError, match="n is 0; it must be a whole number of at least 1"):
        index.search(CODES, 0)
    with pytest.raises(InvalidParameterError, match="n is 10001, and the index has 4 rows; give at most 10000"):
        index.search(CODES, 10_001)
    with pytest.raises(InvalidParameterError, match="row is 4, and the index has rows 0 to 3; give one of them"):
        index.explain(CODES[0], 4)
    with pytest.raises(InvalidParameterError, match="row is -1; it must be a whole number of at least 0"):
        index.explain(CODES[0], -1)
    with pytest.raises(InvalidInputError, match="query has 2 rows; give one of them"):
        index.explain(CODES[:2], 0)
    with pytest.raises(InvalidInputError, match="query has 1 masked of 3 entries"):
        index.explain(np.ma.array(CODES[0], mask=[True, False, False]), 0)


@pytest.mark.parametrize("n", [5, 150_000])
@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize("kind", ["one-hot", "the same", "dense"])
def test_memory_is_bounded_by_the_rows_whatever_the_queries(kind: str, similarity: str, n: int) -> None:
    n_rows, n_queries = 200_000, 8 if n > 5 else 40
    rng = np.random.default_rng(0)
    units = sp.csr_array((np.ones(n_rows), rng.integers(9, size=n_rows), np.arange(n_rows + 1)), shape=(n_rows, 9))
    codes = {"one-hot": units, "the same": np.ones((n_rows, 4)), "dense": rng.normal(size=(n_rows, 4))}[kind]
    index, queries = SparseIndex(codes, similarity), codes[:n_queries]
    tracemalloc.start()
    try:
        index.search(queries, n)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 72 * n_rows + 16 * n_queries * n + 10**5


def test_an_index_says_what_it_is_and_travels() -> None:
    index = pickle.loads(pickle.dumps(SparseIndex(CODES, "shared")))
    assert repr(index) == "SparseIndex(4 rows of 3 units, similarity='shared')"
    assert len(index) == 4
    assert index.search(CODES, n=1)[0].ravel().tolist() == [0, 1, 0, 0]


def test_importing_the_package_does_not_load_it() -> None:
    code = "import sys, fewhot; assert 'fewhot.search' not in sys.modules; fewhot.search.SparseIndex"
    subprocess.run([sys.executable, "-c", code], check=True)
