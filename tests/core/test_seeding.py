"""One seed in, separate streams out."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from fewhot.core.errors import InvalidParameterError
from fewhot.core.seeding import PrivateDraws, derive_seed, resolve_seed, seeded, stream


def test_names_and_seeds_give_different_streams() -> None:
    seeds = {derive_seed(s, *names) for s in (0, 1) for names in ((), ("a",), ("b",), ("a", "b"), ("a", 1), ("a", 11))}
    assert len(seeds) == 12
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_a_seed_is_the_same_on_every_machine() -> None:
    assert derive_seed(0, "noise") == 1129392339022293447


def test_a_stream_repeats_and_leaves_the_global_one_alone() -> None:
    before = torch.get_rng_state()
    first, again = (torch.rand(5, generator=stream(3, "noise")) for _ in range(2))
    assert torch.equal(first, again)
    assert torch.equal(before, torch.get_rng_state())


def test_streams_of_different_names_are_different() -> None:
    noise, order, other_seed = (
        torch.rand(5, generator=g) for g in (stream(3, "noise"), stream(3, "order"), stream(4, "noise"))
    )
    assert not torch.equal(noise, order)
    assert not torch.equal(noise, other_seed)


def test_seeded_gives_the_callers_state_back() -> None:
    before = torch.get_rng_state()
    with seeded(0, "dropout"):
        inside = torch.rand(3)
    with seeded(0, "dropout"):
        assert torch.equal(inside, torch.rand(3))
    assert torch.equal(before, torch.get_rng_state())


def test_seeded_gives_the_state_back_after_an_error() -> None:
    before = torch.get_rng_state()

    def fail() -> None:
        with seeded(0):
            torch.rand(3)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert torch.equal(before, torch.get_rng_state())


@pytest.mark.parametrize("given", [7, np.int64(7)])
def test_an_integer_is_its_own_seed(given: object) -> None:
    assert resolve_seed(given) == 7


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
def test_generators_give_repeatable_seeds_that_move_on(make: type) -> None:
    one, other = make(0), make(0)
    first = resolve_seed(one)
    assert first == resolve_seed(other)
    assert first != resolve_seed(one)


def test_none_gives_a_fresh_seed() -> None:
    assert len({resolve_seed(None) for _ in range(5)}) > 1


@pytest.mark.parametrize("given", [-1, 1.5, "seven", True])
def test_anything_else_is_refused(given: object) -> None:
    with pytest.raises(InvalidParameterError, match=r"^random_state is .*; it must be None"):
        resolve_seed(given)


def test_modules_are_initialised_privately_and_repeatably() -> None:
    def weights() -> list[torch.Tensor]:
        with PrivateDraws(0, "initialisation"):
            layers = nn.Linear(3, 4), nn.Conv2d(2, 3, 3), nn.Embedding(5, 2), nn.GRU(2, 3)
            recurrent = nn.init.orthogonal_(torch.empty(4, 4))
            return [*(p for layer in layers for p in layer.parameters()), recurrent, torch.randperm(50), torch.randn(3)]

    before = torch.get_rng_state()
    first, again = weights(), weights()
    assert torch.equal(before, torch.get_rng_state())
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))


def test_private_draws_are_those_of_a_seeded_global_generator() -> None:
    with PrivateDraws(7, "x"):
        private = nn.Linear(3, 4).weight
    with seeded(7, "x"):
        assert torch.equal(private, nn.Linear(3, 4).weight)


def test_a_generator_that_is_named_stays() -> None:
    named = stream(1)
    with PrivateDraws(0):
        drawn = torch.rand(3, generator=named)
    assert torch.equal(drawn, torch.rand(3, generator=stream(1)))
