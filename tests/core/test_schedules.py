"""Schedules at hand-made steps; what holds for all of them is in conformance."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fewhot.core.errors import InvalidParameterError
from fewhot.core.schedules import Constant, Cosine, Exponential, Linear, Piecewise, Schedule


def at(schedule: Schedule, *steps: int) -> list[float]:
    return [schedule(torch.tensor(step)).item() for step in steps]


def test_constant() -> None:
    assert at(Constant(0.5), 0, 10**6) == [0.5, 0.5]


def test_linear_waits_climbs_and_stays() -> None:
    assert at(Linear(1.0, 3.0, n_steps=4, begin=2), 0, 2, 3, 4, 6, 100) == [1.0, 1.0, 1.5, 2.0, 3.0, 3.0]


def test_vsc_sharpness_rises_by_the_published_slope() -> None:
    assert at(Linear(50.0, 200.0, 20_000), 1000)[0] == pytest.approx(50 + 1000 * 0.0075)


def test_cosine_is_flat_at_both_ends_and_half_way_in_the_middle() -> None:
    schedule = Cosine(1.0, 0.0, n_steps=100, begin=10)
    start, middle, end, after = at(schedule, 10, 60, 110, 500)
    assert (start, end, after) == (1.0, 0.0, 0.0)
    assert middle == pytest.approx(0.5)
    assert at(schedule, 35)[0] == pytest.approx(0.5 * (1 + math.cos(math.pi / 4)))


def test_exponential_decays_to_its_floor() -> None:
    schedule = Exponential(1.0, rate=0.1, floor=0.5)
    assert at(schedule, 0, 5, 6, 7, 1000) == pytest.approx([1.0, math.exp(-0.5), math.exp(-0.6), 0.5, 0.5])
    assert schedule.settled_at == 7


@pytest.mark.parametrize(("start", "floor"), [(1.0, 1.0), (0.2, 0.5), (0.0, 0.0)])
def test_an_exponential_that_begins_at_its_floor_is_settled(start: float, floor: float) -> None:
    assert Exponential(start, rate=0.1, floor=floor).settled_at == 0


@pytest.mark.parametrize("rate", [0.0, -1.0])
def test_an_exponential_that_does_not_decay_is_refused(rate: float) -> None:
    with pytest.raises(InvalidParameterError, match=r"^rate is .* above 0\.$"):
        Exponential(1.0, rate=rate)


def test_piecewise_changes_at_its_boundaries() -> None:
    schedule = Piecewise([3.0, 2.0, 1.0], boundaries=[10, 20])
    assert at(schedule, 0, 9, 10, 19, 20, 10**6) == [3.0, 3.0, 2.0, 2.0, 1.0, 1.0]
    assert schedule.settled_at == 20


@pytest.mark.parametrize(("values", "boundaries"), [([1.0], [5]), ([1.0, 2.0, 3.0], [9, 5]), ([], [])])
def test_piecewise_refuses_what_does_not_fit(values: list[float], boundaries: list[int]) -> None:
    with pytest.raises(InvalidParameterError, match="one value more than sorted boundaries"):
        Piecewise(values, boundaries)


@pytest.mark.parametrize("kind", [Linear, Cosine])
def test_a_ramp_of_no_steps_is_refused(kind: type) -> None:
    with pytest.raises(InvalidParameterError, match="n_steps >= 1, not 0"):
        kind(0.0, 1.0, n_steps=0)


@given(start=st.floats(-10, 10), end=st.floats(-10, 10), step=st.integers(0, 300))
def test_ramps_stay_between_their_ends(start: float, end: float, step: int) -> None:
    for kind in (Linear, Cosine):
        (value,) = at(kind(start, end, n_steps=100, begin=50), step)
        assert min(start, end) - 1e-5 <= value <= max(start, end) + 1e-5


def test_a_schedule_without_a_value_says_what_to_define() -> None:
    with pytest.raises(TypeError, match=r"define __call__\(step\)"):
        Schedule()(torch.tensor(0))
