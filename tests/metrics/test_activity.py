"""Activity: the four definitions, on codes made by hand."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fewhot.metrics import activity


def codes_with_shares(*shares: float, n_rows: int = 1000) -> np.ndarray:
    """Return codes whose units are active in given shares of the rows."""
    codes = np.zeros((n_rows, len(shares)))
    for unit, share in enumerate(shares):
        codes[: round(share * n_rows), unit] = -1.5
    return codes


def test_active_is_the_mean_number_of_units_a_row() -> None:
    assert activity(np.array([[1.0, 0, -2], [0, 0, 0], [0, 3, 0]])).active == pytest.approx(1.0)


def test_used_begins_at_half_a_percent_of_the_rows() -> None:
    assert activity(codes_with_shares(0.004, 0.005, 0.006, 0.0)).used == 2


def test_dead_units_are_active_in_no_row() -> None:
    assert activity(codes_with_shares(0.001, 0.0, 0.0)).dead == 2


def test_always_on_is_more_than_half_of_the_rows() -> None:
    assert activity(codes_with_shares(0.5, 0.501, 1.0, 0.2)).always_on == 2


def test_effective_units_count_equal_units_and_weigh_unequal_ones() -> None:
    assert activity(np.eye(7)).effective == pytest.approx(7.0)
    assert activity(codes_with_shares(1.0, 0.0, 0.0)).effective == pytest.approx(1.0)
    entropy = -(0.75 * math.log(0.75) + 0.25 * math.log(0.25))
    assert activity(codes_with_shares(0.6, 0.2, 0.0)).effective == pytest.approx(math.exp(entropy))


def test_rows_without_an_active_unit_are_counted() -> None:
    assert activity(codes_with_shares(0.25, 0.1)).empty_rows == pytest.approx(0.75)


def test_a_code_without_any_activation() -> None:
    nothing = activity(np.zeros((5, 3)))
    assert (nothing.active, nothing.used, nothing.dead, nothing.effective, nothing.empty_rows) == (0.0, 0, 3, 0.0, 1.0)


@settings(deadline=None)
@given(
    codes=arrays(np.float64, (9, 4), elements=st.sampled_from([0.0, 0.0, 1.0, -2.5])), order=st.permutations(range(4))
)
def test_permuting_units_changes_nothing(codes: np.ndarray, order: list[int]) -> None:
    one, other = activity(codes).to_dict(), activity(codes[:, order]).to_dict()
    assert one == pytest.approx(other)


def test_sparse_dense_and_boolean_codes_count_alike() -> None:
    codes = codes_with_shares(0.3, 0.6, 0.0)
    stored_zero = sp.csr_array(codes)
    stored_zero.data[0] = 0.0
    assert activity(codes) == activity(sp.csr_array(codes)) == activity(codes != 0)
    assert activity(stored_zero).active == pytest.approx(activity(codes).active - 1 / 1000)


def test_the_numbers_can_be_written_as_json() -> None:
    assert set(json.loads(json.dumps(activity(np.eye(3)).to_dict()))) == {
        "active",
        "used",
        "dead",
        "always_on",
        "effective",
        "empty_rows",
    }
