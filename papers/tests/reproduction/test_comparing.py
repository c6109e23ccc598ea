from __future__ import annotations

from fewhot_papers.reproduction.comparing import best, drop, falls, falls_less, more, rank_correlation
from fewhot_papers.reproduction.measurements import Value


def curve(*means: float, se: float = 0.1) -> dict[int, Value]:
    return {8 * 2**i: Value(mean, se, 3) for i, mean in enumerate(means)}


def test_more_needs_two_standard_errors_of_the_difference():
    assert not more("", Value(1.28, 0.1, 3), Value(1.0, 0.1, 3)).holds
    assert more("", Value(1.29, 0.1, 3), Value(1.0, 0.1, 3)).holds


def test_nothing_exceeds_without_a_standard_error():
    assert not more("", Value(9.0, float("nan"), 1), Value(1.0, 0.1, 3)).holds


def test_a_curve_that_rises_to_the_end_does_not_fall():
    assert drop(curve(1, 2, 3)) == Value(0.0, 0.0, 3)
    assert not falls("", curve(1, 2, 3)).holds


def test_a_fall_is_measured_from_the_best():
    assert best(curve(1, 5, 3)) == 16
    assert drop(curve(1, 5, 3)).mean == 2
    assert falls("", curve(1, 5, 3)).holds
    assert not falls("", curve(1, 5, 4.8)).holds


def test_a_smaller_fall_is_told_from_an_equal_one():
    assert falls_less("", curve(1, 4, 3.9), curve(1, 5, 3)).holds
    assert not falls_less("", curve(1, 4, 2), curve(1, 5, 3)).holds


def test_rank_correlation_has_the_sign_of_the_trend():
    assert rank_correlation(curve(1, 2, 3)) == 1
    assert rank_correlation(curve(3, 1, 2)) == -0.5
    assert rank_correlation(curve(1, 1, 1)) == 0
