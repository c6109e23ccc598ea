"""The contract, on every registered schedule."""

from __future__ import annotations

import pytest
import torch

from fewhot.core.parts import Configurable
from fewhot.core.registry import SCHEDULES

from .examples import build, every, identify

every_schedule = pytest.mark.parametrize(("name", "options"), every(SCHEDULES), ids=identify)

STEPS = [0, 1, 7, 10, 25, 30, 39, 40, 100, 10_000]


@every_schedule
def test_a_step_in_gives_a_scalar_tensor_out(name: str, options: dict) -> None:
    schedule = build(SCHEDULES, name, **options)
    for step in STEPS:
        value = schedule(torch.tensor(step))
        assert isinstance(value, torch.Tensor)
        assert (value.shape, value.dtype) == ((), torch.float32)
        assert value.isfinite()


@every_schedule
def test_the_value_depends_on_the_step_alone(name: str, options: dict) -> None:
    schedule = build(SCHEDULES, name, **options)
    forwards = [schedule(torch.tensor(step)) for step in STEPS]
    backwards = [schedule(torch.tensor(step)) for step in reversed(STEPS)]
    assert forwards == backwards[::-1]


@every_schedule
def test_the_step_is_left_as_it_is(name: str, options: dict) -> None:
    step = torch.tensor(10)
    build(SCHEDULES, name, **options)(step)
    assert step == 10


@every_schedule
def test_once_settled_the_value_stays(name: str, options: dict) -> None:
    schedule = build(SCHEDULES, name, **options)
    settled = schedule(torch.tensor(schedule.settled_at))
    for later in (1, 2, 50, 10**5, 10**7):
        assert schedule(torch.tensor(schedule.settled_at + later)) == settled


@every_schedule
def test_a_rebuilt_schedule_has_the_same_values(name: str, options: dict) -> None:
    schedule = build(SCHEDULES, name, **options)
    again = Configurable.from_config(schedule.to_config())
    assert [again(torch.tensor(s)) for s in STEPS] == [schedule(torch.tensor(s)) for s in STEPS]
    assert again.settled_at == schedule.settled_at


@every_schedule
def test_it_compiles_as_one_graph_for_all_steps(name: str, options: dict) -> None:
    torch.compiler.reset()
    schedule = build(SCHEDULES, name, **options)
    compiled = torch.compile(schedule.__call__, fullgraph=True, backend="eager")
    for step in STEPS:
        torch.testing.assert_close(compiled(torch.tensor(step)), schedule(torch.tensor(step)))
