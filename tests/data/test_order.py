"""The order of rows: a pure function of the seed and the step."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fewhot.data import Order

CPU = torch.device("cpu")


def visits(order: Order, n_steps: int) -> np.ndarray:
    return np.concatenate([order(step)[0] for step in range(n_steps)])


@settings(deadline=None)
@given(n_rows=st.integers(1, 60), batch_size=st.integers(1, 80), seed=st.integers(0, 5))
def test_every_row_is_visited_once_an_epoch(n_rows: int, batch_size: int, seed: int) -> None:
    seen = visits(Order(n_rows, batch_size, seed, CPU), n_steps=3 * n_rows)
    n_epochs = len(seen) // n_rows
    for epoch in seen[: n_epochs * n_rows].reshape(n_epochs, n_rows):
        assert sorted(epoch) == list(range(n_rows))


@settings(deadline=None)
@given(n_rows=st.integers(1, 60), batch_size=st.integers(1, 80))
def test_every_batch_is_full(n_rows: int, batch_size: int) -> None:
    order = Order(n_rows, batch_size, 0, CPU)
    assert order.batch_size == min(n_rows, batch_size)
    assert all(len(order(step)[0]) == order.batch_size for step in range(10))


@settings(deadline=None)
@given(n_rows=st.integers(1, 40), batch_size=st.integers(1, 50), steps=st.permutations(range(12)))
def test_a_batch_depends_on_the_step_alone(n_rows: int, batch_size: int, steps: list[int]) -> None:
    in_order, jumping = (Order(n_rows, batch_size, 7, CPU) for _ in range(2))
    expected = [in_order(step)[0].tolist() for step in range(12)]
    for step in steps:
        assert jumping(step)[0].tolist() == expected[step]


def test_host_and_device_see_the_same_rows() -> None:
    order = Order(10, 4, 0, CPU)
    for step in range(6):
        host, device = order(step)
        assert device.dtype == torch.int64
        assert device.tolist() == host.tolist()


def test_epochs_and_seeds_differ() -> None:
    order = Order(50, 50, 0, CPU)
    assert order(0)[0].tolist() != order(1)[0].tolist() != Order(50, 50, 1, CPU)(0)[0].tolist()
    assert order(0)[0].tolist() != list(range(50))


@settings(deadline=None)
@given(n_rows=st.integers(4, 60), world=st.integers(1, 4), batch_size=st.integers(1, 30))
def test_processes_of_a_group_see_disjoint_rows(n_rows: int, world: int, batch_size: int) -> None:
    share = n_rows // world
    epochs = [
        visits(Order(n_rows, batch_size, 3, CPU, rank=rank, world=world), 2 * share)[:share] for rank in range(world)
    ]
    together = np.concatenate(epochs)
    assert len(set(together.tolist())) == len(together) == share * world


def test_rows_left_over_by_a_group_change_from_epoch_to_epoch() -> None:
    orders = [Order(7, 1, 0, CPU, rank=rank, world=2) for rank in range(2)]
    left_out = [
        set(range(7)) - {int(order(3 * epoch + i)[0][0]) for order in orders for i in range(3)} for epoch in range(8)
    ]
    assert all(len(rows) == 1 for rows in left_out)
    assert len(set.union(*left_out)) > 1


@pytest.mark.parametrize(("n_rows", "batch_size", "steps"), [(10, 5, 2), (10, 4, 3), (10, 100, 1)])
def test_steps_per_epoch_visit_every_row(n_rows: int, batch_size: int, steps: int) -> None:
    order = Order(n_rows, batch_size, 0, CPU)
    assert order.steps_per_epoch == steps
    assert set(visits(order, steps).tolist()) == set(range(n_rows))
