"""The records that travel between parts."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fewhot.core.records import DataSpec, Dense, Knobs, Ragged, Terms, Tokens, as_numbers
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


texts = arrays(np.int64, st.tuples(st.integers(1, 5), st.integers(1, 12)), elements=st.integers(0, 6))


def tokens(ids: np.ndarray, n_columns: int = 7) -> Tokens:
    """Return texts that end with id 1 and are padded behind it, whatever the numbers were."""
    ended = np.concatenate([ids, np.ones((len(ids), 1), np.int64)], axis=1)
    ended[ended == 0] = 2
    behind = (ended == 1).cumsum(1) - (ended == 1) > 0
    return Tokens(torch.from_numpy(np.where(behind, 0, ended)), n_columns)


@settings(deadline=None)
@given(ids=texts)
def test_texts_spread_out_are_their_word_counts(ids: np.ndarray) -> None:
    x = tokens(ids)
    slow = [[float(row.count(word)) if word > 1 else 0.0 for word in range(7)] for row in x.ids.tolist()]
    assert x.dense().tolist() == slow


@settings(deadline=None)
@given(ids=texts)
def test_counts_of_a_text_have_every_word_once(ids: np.ndarray) -> None:
    """A likelihood adds up stored entries, so a duplicate would count as two observations."""
    for indices, values in zip(*tokens(ids).counts()[:2], strict=True):
        stored = indices[values > 0].tolist()
        assert len(set(stored)) == len(stored)
        assert not set(stored) & {0, 1}


def test_the_length_of_a_text_has_its_end_and_no_padding() -> None:
    x = Tokens(torch.tensor([[4, 3, 1, 0], [1, 0, 0, 0], [2, 2, 2, 1]]), 5)
    assert (x.lengths.tolist(), x.n_rows) == ([3, 1, 4], 3)


def test_nothing_about_texts_is_read_on_the_host() -> None:
    """Tensors without content raise when a value is asked for."""
    x = Tokens(torch.empty(4, 9, dtype=torch.int64, device="meta"), 7)
    assert (x.lengths.shape, x.counts().values.shape, x.dense().shape) == ((4,), (4, 9), (4, 7))


def test_texts_become_numbers_and_numbers_stay() -> None:
    x = tokens(np.array([[3, 3, 5]]))
    assert torch.equal(as_numbers(x).dense(), x.dense())
    for given_rows in (Dense(rows()), ragged(rows())):
        assert as_numbers(given_rows) is given_rows
