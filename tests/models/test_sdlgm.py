"""How networks of slots begin."""

from __future__ import annotations

import pytest
import torch

from fewhot.core.records import DataSpec
from fewhot.models.sdlgm import sdlgm

SPEC = DataSpec(n_columns=5, n_rows=100)


@pytest.mark.parametrize(
    ("asked", "rate"),
    [({"l0": 3}, 0.3), ({"l0": 0.1}, 0.05), ({"l0": 10}, 0.95), ({}, 0.5), ({"alpha": 0.2}, 0.2)],
)
@pytest.mark.parametrize("joint", [False, True])
def test_slots_begin_as_often_on_as_they_are_to_be(asked: dict[str, float], rate: float, joint: bool) -> None:
    if joint and "alpha" in asked:
        pytest.skip("a joint prior learns its rates")
    model = sdlgm(SPEC, n_latent=20, n_slots=10, joint=joint, **asked)
    alone = model.prior.alone if joint else model.prior
    torch.testing.assert_close(alone.gates.sigmoid(), torch.full_like(alone.gates, rate))
    assert model.latent.initial_rate == rate
