"""Observation transforms on dense and ragged rows."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from fewhot.core.errors import InvalidInputError
from fewhot.core.records import DataSpec, Dense, Ragged
from fewhot.core.seeding import stream
from fewhot.features import AsIs, StochasticBinarise, UnitNorm
from tests.parts import both_kinds, ragged, rows, spec_of

N = 4000


def test_as_is_changes_nothing() -> None:
    for x in both_kinds(rows("real")):
        assert AsIs()(x) is x


@pytest.mark.parametrize("kind", ["binary", "grey", "counts", "real"])
def test_unit_norm_rows_have_norm_one(kind: str) -> None:
    x = rows(kind)
    for given in both_kinds(x):
        scaled = UnitNorm()(given).dense()
        torch.testing.assert_close(scaled[1:].norm(dim=1), torch.ones(len(x) - 1))
        torch.testing.assert_close(scaled * x.norm(dim=1, keepdim=True), x)


def test_a_row_of_zeros_stays_zero_under_unit_norm() -> None:
    for given in both_kinds(torch.zeros(2, 3)):
        assert torch.equal(UnitNorm()(given).dense(), torch.zeros(2, 3))


def test_unit_norm_describes_what_it_makes() -> None:
    small = UnitNorm().spec(DataSpec(n_columns=3, n_rows=2, minimum=-0.1, maximum=0.2, integral=False))
    assert (small.minimum, small.maximum) == (-1.0, 1.0)
    counts = UnitNorm().spec(DataSpec(n_columns=3, n_rows=2, minimum=0, maximum=9, integral=True))
    assert (counts.minimum, counts.maximum, counts.integral, counts.binary) == (0.0, 1.0, False, False)


def flipped(x: Tensor, *, as_ragged: bool, n_rows_of_noise: int | None = None, seed: int = 0) -> Tensor:
    transform = StochasticBinarise()
    noise = transform.noise(len(x) if n_rows_of_noise is None else n_rows_of_noise, x.shape[1], stream(seed, "flips"))
    out = transform(ragged(x) if as_ragged else Dense(x), noise)
    assert isinstance(out, Ragged if as_ragged else Dense)
    return out.dense()


@pytest.mark.parametrize("as_ragged", [False, True], ids=["dense", "ragged"])
def test_grey_levels_become_coin_flips_of_their_rate(as_ragged: bool) -> None:
    levels = torch.tensor([0.1, 0.5, 0.9])
    flips = flipped(levels.expand(N, 3), as_ragged=as_ragged)
    assert set(flips.unique().tolist()) == {0.0, 1.0}
    standard_error = (levels * (1 - levels) / N).sqrt()
    assert ((flips.mean(0) - levels).abs() < 4.5 * standard_error).all()


@pytest.mark.parametrize("as_ragged", [False, True], ids=["dense", "ragged"])
def test_whole_zeros_and_ones_stay(as_ragged: bool) -> None:
    x = rows("binary", n_rows=500)
    assert torch.equal(flipped(x, as_ragged=as_ragged), x)


@pytest.mark.parametrize("shared", [False, True])
def test_dense_and_ragged_rows_flip_alike(shared: bool) -> None:
    x, n = rows("grey", n_rows=50), 1 if shared else None
    dense, sparse = (flipped(x, as_ragged=flag, n_rows_of_noise=n) for flag in (False, True))
    assert torch.equal(dense, sparse)
    assert (dense != x).any()


def test_rows_flip_afresh_each_time() -> None:
    x = rows("grey", n_rows=50)
    assert not torch.equal(flipped(x, as_ragged=False, seed=0), flipped(x, as_ragged=False, seed=1))


def test_shared_noise_gives_equal_rows_equal_flips() -> None:
    flips = flipped(torch.full((20, 6), 0.5), as_ragged=False, n_rows_of_noise=1)
    assert (flips == flips[0]).all()
    assert 0 < flips[0].sum() < 6


def test_without_noise_grey_levels_stay() -> None:
    x = Dense(rows("grey"))
    assert StochasticBinarise()(x) is x


def test_binarised_rows_are_described_as_binary() -> None:
    spec = StochasticBinarise().spec(DataSpec(n_columns=1, n_rows=1, minimum=0.2, maximum=0.7, integral=False))
    assert (spec.minimum, spec.maximum, spec.integral, spec.binary) == (0.0, 1.0, True, True)


@pytest.mark.parametrize("kind", ["counts", "real"])
def test_what_holds_no_grey_levels_is_refused(kind: str) -> None:
    with pytest.raises(InvalidInputError, match=r"needs values in \[0, 1\].*divide by the largest value first\.$"):
        StochasticBinarise().check(spec_of(rows(kind)))
