"""The records that travel between parts."""

from __future__ import annotations

import json

import pytest
import torch

from fewhot.core.records import DataSpec, Dense, Knobs, Ragged, Terms
from tests.parts import ragged, rows


def test_ragged_rows_spread_out_are_the_dense_ones() -> None:
    x = rows("real")
    assert torch.equal(ragged(x).dense(), x)
    assert torch.equal(Dense(x).dense(), x)


def test_padding_does_not_overwrite_column_zero() -> None:
    stored = Ragged(torch.tensor([[0, 0, 0]]), torch.tensor([[5.0, 0.0, 0.0]]), 2)
    assert stored.dense().tolist() == [[5.0, 0.0]]


def test_rows_are_counted() -> None:
    x = rows()
    assert Dense(x).n_rows == ragged(x).n_rows == len(x)


@pytest.mark.parametrize(
    ("low", "high", "integral", "unit", "counts"),
    [(0, 1, True, True, True), (0, 1, False, True, False), (0, 9, True, False, True), (-1, 1, True, False, False)],
)
def test_a_spec_knows_unit_intervals_and_counts(low: float, high: float, integral: bool, unit: bool, counts: bool):
    spec = DataSpec(n_columns=2, n_rows=3, minimum=low, maximum=high, integral=integral)
    assert (spec.unit_interval, spec.counts) == (unit, counts)


def test_a_spec_comes_back_from_json() -> None:
    spec = DataSpec(n_columns=2, n_rows=3, sparse=True, minimum=-1.5, maximum=7.0)
    assert DataSpec(**json.loads(json.dumps(spec.to_dict()))) == spec


def test_terms_add_up_and_keep_every_name() -> None:
    one = Terms(torch.ones(2), torch.tensor(1.0), {"a": torch.ones(2)}, {"c": torch.tensor(0.0)})
    two = Terms(-torch.ones(()), torch.tensor(3.0), {"b": torch.ones(2)}, signals={"d": torch.tensor(0.0)})
    both = one + two
    assert both.bound.tolist() == [0.0, 0.0]
    assert both.loss == 4.0
    assert (set(both.per_example), set(both.per_batch), set(both.signals)) == ({"a", "b"}, {"c"}, {"d"})


def test_a_knob_that_is_not_scheduled_has_its_default() -> None:
    knobs = Knobs({"kl_weight": torch.tensor(0.25)})
    assert knobs.get("kl_weight", 1.0) == 0.25
    assert knobs.get("temperature", 0.5) == 0.5
