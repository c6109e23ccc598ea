"""Encoders: what is left out in training."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from fewhot.core.records import Dense
from fewhot.features.transforms import Identity
from fewhot.models.encoder import Encoder
from fewhot.nn import UserBody


class _AsItIs(torch.nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x


def _encoder(dropout: float = 0.0, hidden_dropout: float = 0.0) -> Encoder:
    return Encoder(Identity(), UserBody(_AsItIs(), 5000), dropout, hidden_dropout)


@pytest.mark.parametrize("which", ["dropout", "hidden_dropout"])
def test_in_training_a_share_is_left_out_and_the_others_scaled_up(which: str) -> None:
    encoder, x = _encoder(**{which: 0.25}), Dense(torch.ones(3, 5000))
    keys = encoder.noise(3, torch.Generator().manual_seed(0))["dropout"]
    h = encoder(x, keys)
    torch.testing.assert_close(h.unique(), torch.tensor([0.0, 4 / 3]))
    assert float((h == 0).float().mean()) == pytest.approx(0.25, abs=0.02)
    assert not torch.equal(h[0], h[1])
    assert torch.equal(encoder(x), x.x)


def test_features_and_hidden_units_are_left_out_apart() -> None:
    encoder = _encoder(0.5, 0.5)
    keys = encoder.noise(1, torch.Generator().manual_seed(0))["dropout"]
    kept = float((encoder(Dense(torch.ones(1, 5000)), keys) > 0).float().mean())
    assert kept == pytest.approx(0.25, abs=0.03)


def test_without_dropout_nothing_is_drawn() -> None:
    assert _encoder().noise(3, torch.Generator()) == {}
