"""Estimates: means over rows and their standard errors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from fewhot.core.errors import FewhotError
from fewhot.metrics import estimate


def test_the_standard_error_is_the_spread_of_means_over_repetitions() -> None:
    rng = np.random.default_rng(0)
    found = [estimate(rng.exponential(size=400)) for _ in range(800)]
    spread = np.std([one.mean for one in found])
    assert np.mean([one.se for one in found]) == pytest.approx(spread, rel=4 / math.sqrt(2 * 800))


def test_two_rows_already_have_a_standard_error() -> None:
    assert estimate([1.0, 3.0]).se == pytest.approx(1.0)


def test_without_rows_nothing_is_claimed() -> None:
    nothing = estimate([], skipped=3)
    assert math.isnan(nothing.mean)
    assert math.isnan(nothing.se)
    assert nothing.skipped == 3


def test_one_row_has_no_standard_error() -> None:
    assert estimate([2.5]).mean == 2.5
    assert math.isnan(estimate([2.5]).se)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("rows",), "values is of type str; give one number a row"),
        ((None,), "values is of type NoneType; give one number a row"),
        ((["a"],), "values is of type list; give one number a row"),
        (([[1.0, 2.0], [3.0]],), "values is of type list"),
        (([1.0], "none"), "skipped is 'none'; it must be a whole number of at least 0"),
    ],
)
def test_what_are_no_numbers_is_refused(arguments: Any, sentence: str) -> None:
    with pytest.raises(FewhotError, match=sentence):
        estimate(*arguments)
