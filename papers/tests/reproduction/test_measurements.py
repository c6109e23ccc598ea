from __future__ import annotations

import math

import numpy as np
import pytest

from fewhot_papers.reproduction.measurements import Measurements, Row, Value, value_of


def rows(**numbers):
    return [Row({"units": units, "seed": seed}, {"y": y}) for units, ys in numbers.items() for seed, y in enumerate(ys)]


def test_the_standard_error_is_that_of_the_mean():
    numbers = np.random.default_rng(0).normal(size=7)
    value = value_of(numbers.tolist())
    assert value.mean == pytest.approx(numbers.mean())
    assert value.se == pytest.approx(np.sqrt(((numbers - numbers.mean()) ** 2).sum() / (7 * 6)))
    assert value.n == 7


def test_the_standard_error_covers_the_truth_as_often_as_it_should():
    generator = np.random.default_rng(1)
    draws = [value_of(generator.normal(size=30).tolist()) for _ in range(2000)]
    share = np.mean([abs(value.mean) <= value.se for value in draws])
    assert share == pytest.approx(0.675, abs=4 * math.sqrt(0.675 * 0.325 / 2000))  # Student, 29 degrees of freedom


def test_one_seed_has_no_standard_error():
    assert math.isnan(value_of([1.0]).se)


def test_errors_of_a_difference_add_in_squares():
    assert (Value(5.0, 3.0, 3) - Value(1.0, 4.0, 3)) == Value(4.0, 5.0, 3)


def test_a_number_is_asked_by_setting():
    measured = Measurements(rows(a=[1.0, 3.0], b=[10.0, 10.0]))
    assert measured.value("y", units="a").mean == 2.0
    assert measured.along("y", "units")["b"] == Value(10.0, 0.0, 2)


def test_what_was_not_measured_is_left_out_of_a_curve():
    measured = Measurements([*rows(a=[1.0]), Row({"units": "b", "seed": 0}, {})])
    assert list(measured.along("y", "units")) == ["a"]


def test_the_table_has_one_line_a_setting():
    table = Measurements(rows(a=[1.0, 3.0], b=[2.0])).table()
    assert [line["settings"] for line in table] == [{"units": "a"}, {"units": "b"}]
    assert table[0]["numbers"]["y"] == {"mean": 2.0, "se": 1.0, "n": 2, "values": [1.0, 3.0]}
    assert table[1]["numbers"]["y"]["se"] is None
