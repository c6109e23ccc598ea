"""Sparsity: Hoyer against its definition and reference values; overlap and active units against slow counts."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fewhot.codes import Codes
from fewhot.core.errors import InvalidInputError
from fewhot.metrics import active_units, activity, average_hoyer, hoyer, support_overlap

N_ROWS = 20_000


def slow_average_hoyer(codes: np.ndarray) -> tuple[float, int]:
    scales = [np.std(column) for column in codes.T]
    values = []
    for row in codes:
        z = [value / scale if scale > 1e-12 else value for value, scale in zip(row, scales, strict=True)]
        l1, l2 = sum(abs(v) for v in z), math.sqrt(sum(v * v for v in z))
        if l2 > 0:
            values.append((math.sqrt(len(z)) - l1 / l2) / (math.sqrt(len(z)) - 1))
    return float(np.mean(values)), len(codes) - len(values)


def spike_and_slab(rate: float, d: int = 32, n: int = N_ROWS) -> np.ndarray:
    rng = np.random.default_rng(1)
    return rng.normal(size=(n, d)) * (rng.random((n, d)) < rate)


def test_one_hot_rows_are_1_and_constant_magnitudes_0() -> None:
    assert hoyer(-3 * np.eye(5)) == pytest.approx(np.ones(5))
    assert hoyer(np.array([[2.0, -2.0, 2.0, 2.0]])) == pytest.approx([0.0], abs=1e-12)


def test_hoyer_of_a_row_of_zeros_is_not_defined() -> None:
    assert np.isnan(hoyer(np.zeros((1, 4)))).all()


def test_hoyer_does_not_know_scale_or_sign() -> None:
    z = np.random.default_rng(0).normal(size=(7, 5))
    assert hoyer(-17 * z) == pytest.approx(hoyer(z))


@settings(deadline=None)
@given(codes=arrays(np.float64, (9, 4), elements=st.sampled_from([0.0, 0.0, 1.0, -2.5, 0.3])))
def test_average_hoyer_agrees_with_its_definition(codes: np.ndarray) -> None:
    if not codes.any():
        codes[0, 0] = 1.0
    mean, skipped = slow_average_hoyer(codes)
    for matrix in (codes, sp.csr_array(codes)):
        found = average_hoyer(matrix)
        assert found.mean == pytest.approx(mean, abs=1e-9)
        assert found.skipped == skipped


@pytest.mark.parametrize(("d", "value"), [(32, 0.238), (768, 0.209)])
def test_average_hoyer_of_gaussian_codes(d: int, value: float) -> None:
    found = average_hoyer(np.random.default_rng(0).normal(size=(N_ROWS // 4, d)))
    assert found.mean == pytest.approx(value, abs=0.0005 + 4 * found.se)


def test_average_hoyer_of_a_mixture_with_a_narrow_spike() -> None:
    rng = np.random.default_rng(0)
    wide = rng.random((N_ROWS, 32)) < 0.2
    found = average_hoyer(rng.normal(size=wide.shape) * np.where(wide, 1.0, 0.05))
    assert found.mean == pytest.approx(0.663, abs=0.0005 + 4 * found.se)


@pytest.mark.parametrize(("rate", "value"), [(0.5, 0.522), (0.2, 0.771), (0.1, 0.886), (0.02, 0.980)])
def test_average_hoyer_of_exact_spike_and_slab_codes(rate: float, value: float) -> None:
    found = average_hoyer(spike_and_slab(rate))
    assert found.mean == pytest.approx(value, abs=0.0005 + 4 * found.se)
    empty = (1 - rate) ** 32
    assert found.skipped / N_ROWS == pytest.approx(empty, abs=4 * math.sqrt(empty * (1 - empty) / N_ROWS) + 1e-4)


def test_a_constant_unit_is_left_undivided() -> None:
    codes = np.array([[0.1, 1.0, 0.0], [0.1, -1.0, 0.0], [0.1, 1.0, 0.0]])
    expected = hoyer(np.array([[0.1, 1.0 / np.std([1, -1, 1]), 0.0]]))[0]
    assert average_hoyer(codes).mean == pytest.approx(expected)
    assert average_hoyer(sp.csr_array(codes)).mean == pytest.approx(expected)


def test_codes_without_any_activation_have_no_average() -> None:
    found = average_hoyer(np.zeros((4, 3)))
    assert math.isnan(found.mean)
    assert found.skipped == 4


@pytest.mark.parametrize("codes", [np.ones(3), np.ones((3, 1)), np.array([[1.0, np.nan]]), np.array([["a", "b"]])])
def test_what_is_no_code_is_refused_in_one_sentence(codes: np.ndarray) -> None:
    with pytest.raises(InvalidInputError, match=r"(give|needs) .*\.$"):
        hoyer(codes)


@settings(deadline=None)
@given(hot=arrays(np.bool_, (6, 4)))
def test_overlap_is_the_mean_over_pairs_of_rows(hot: np.ndarray) -> None:
    shared = sum((hot[i] & hot[j]).sum() for i, j in permutations(range(6), 2))
    own = 5 * hot.sum()
    found = support_overlap(sp.csr_array(hot.astype(float)))
    assert math.isnan(found) if not own else found == pytest.approx(shared / own)


def test_overlap_of_units_used_by_chance_is_the_density() -> None:
    assert support_overlap(spike_and_slab(0.1)) == pytest.approx(0.1, abs=0.005)


def test_active_units_vary_over_rows() -> None:
    rng = np.random.default_rng(0)
    means = rng.normal(size=(500, 4)) * np.sqrt([1.0, 0.02, 0.005, 0.0]) + 3.0
    assert active_units(means).by_mean == 2
    assert active_units(means).by_gate is None


def test_units_that_are_hardly_ever_on_are_not_active() -> None:
    p = np.tile([0.5, 0.011, 0.009], (10, 1))
    assert active_units(np.zeros((10, 3)), p).by_gate == 2


def test_entries_stored_twice_are_summed() -> None:
    twice = sp.csr_array((np.array([3.0, -1.0, 4.0]), np.array([0, 0, 1]), np.array([0, 2, 3])), shape=(2, 3))
    assert hoyer(twice) == pytest.approx([1.0, 1.0])
    assert average_hoyer(twice).mean == pytest.approx(average_hoyer(twice.toarray()).mean)
    assert support_overlap(twice) == 0.0
    assert twice.nnz == 3  # what was given stays as it is


def test_what_codes_returns_is_read_by_its_values() -> None:
    values = sp.csr_array(spike_and_slab(0.2, n=50))
    codes = Codes(values=values, variance=values, p_active=values, bound=np.zeros(50), gap=None)
    assert average_hoyer(codes).mean == average_hoyer(values).mean
    assert active_units(codes) == active_units(values)
    assert activity(codes) == activity(values)
