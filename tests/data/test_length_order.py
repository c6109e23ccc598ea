"""Batches of rows of similar length: an order like any other, with less padding."""

from __future__ import annotations

import itertools

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fewhot.data import LengthOrder, Order
from fewhot.data.length_order import BATCHES_A_BLOCK

CPU = torch.device("cpu")


def lengths_of(n_rows: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(1, 60, n_rows)


def order_of(n_rows: int, batch_size: int, seed: int = 0, **group: int) -> LengthOrder:
    return LengthOrder(lengths_of(n_rows), batch_size, seed, CPU, **group)


def visits(order: Order, n_steps: int) -> np.ndarray:
    return np.concatenate([order(step)[0] for step in range(n_steps)])


@settings(deadline=None)
@given(n_rows=st.integers(1, 60), batch_size=st.integers(1, 80), seed=st.integers(0, 5))
def test_every_row_is_visited_once_an_epoch(n_rows: int, batch_size: int, seed: int) -> None:
    seen = visits(order_of(n_rows, batch_size, seed), n_steps=3 * n_rows)
    n_epochs = len(seen) // n_rows
    for epoch in seen[: n_epochs * n_rows].reshape(n_epochs, n_rows):
        assert sorted(epoch) == list(range(n_rows))


@settings(deadline=None)
@given(n_rows=st.integers(1, 60), batch_size=st.integers(1, 80))
def test_every_batch_is_full(n_rows: int, batch_size: int) -> None:
    order = order_of(n_rows, batch_size)
    assert order.steps_per_epoch == Order(n_rows, batch_size, 0, CPU).steps_per_epoch
    assert all(len(order(step)[0]) == min(n_rows, batch_size) for step in range(10))


@settings(deadline=None)
@given(n_rows=st.integers(1, 40), batch_size=st.integers(1, 50), steps=st.permutations(range(12)))
def test_a_batch_depends_on_the_step_alone(n_rows: int, batch_size: int, steps: list[int]) -> None:
    in_order, jumping = (order_of(n_rows, batch_size, 7) for _ in range(2))
    expected = [in_order(step)[0].tolist() for step in range(12)]
    for step in steps:
        host, device = jumping(step)
        assert host.tolist() == device.tolist() == expected[step]


@settings(deadline=None)
@given(n_rows=st.integers(1, 200), batch_size=st.integers(1, 30), epoch=st.integers(0, 6))
def test_batches_within_an_epoch_share_no_lengths_but_at_their_edges(n_rows: int, batch_size: int, epoch: int) -> None:
    """Where one block holds the epoch, its whole batches are runs of the rows sorted by length."""
    if n_rows // batch_size >= BATCHES_A_BLOCK:
        return
    order, lengths = order_of(n_rows, batch_size), lengths_of(n_rows)
    size = order.batch_size
    steps = range(epoch * n_rows // size, (epoch + 1) * n_rows // size + 1)
    whole = [step for step in steps if epoch * n_rows <= step * size and (step + 1) * size <= (epoch + 1) * n_rows]
    ranges = sorted((lengths[order(step)[0]].min(), lengths[order(step)[0]].max()) for step in whole)
    assert all(high <= low for (_, high), (low, _) in itertools.pairwise(ranges))


def test_epochs_seeds_and_sequences_of_lengths_differ() -> None:
    order, lengths = order_of(400, 20), lengths_of(400)
    assert order(0)[0].tolist() != order(20)[0].tolist() != order_of(400, 20, 1)(0)[0].tolist()
    longest = [int(lengths[order(step)[0]].max()) for step in range(20)]
    assert longest not in (sorted(longest), sorted(longest, reverse=True))


@settings(deadline=None)
@given(n_rows=st.integers(4, 60), world=st.integers(1, 4), batch_size=st.integers(1, 30))
def test_processes_of_a_group_see_disjoint_rows(n_rows: int, world: int, batch_size: int) -> None:
    share = n_rows // world
    epochs = [
        visits(order_of(n_rows, batch_size, 3, rank=rank, world=world), 2 * share)[:share] for rank in range(world)
    ]
    together = np.concatenate(epochs)
    assert len(set(together.tolist())) == len(together) == share * world


def test_processes_of_a_group_see_similar_lengths_in_a_step() -> None:
    lengths = lengths_of(4000)
    orders = [order_of(4000, 20, rank=rank, world=2) for rank in range(2)]
    longest = np.array([[lengths[order(step)[0]].max() for order in orders] for step in range(100)])
    assert np.abs(longest[:, 0] - longest[:, 1]).max() <= 2


def test_less_of_the_batches_is_padding() -> None:
    lengths = lengths_of(5000)
    padded = [
        sum(64 * lengths[order(step)[0]].max() for step in range(78))
        for order in (Order(5000, 64, 0, CPU), order_of(5000, 64))
    ]
    assert padded[1] < 1.1 * lengths.sum() < 1.9 * lengths.sum() < padded[0]
