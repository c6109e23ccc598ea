"""How networks of slots begin."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from fewhot.core.records import ColumnMoments, DataSpec
from fewhot.estimators import SDLGM, fitting
from fewhot.models.gumbel_vae import gumbel_vae
from fewhot.models.sdlgm import sdlgm
from fewhot.training.settings import CLIP_FACTOR, UNCLIPPED

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


@pytest.mark.parametrize("build", [sdlgm, gumbel_vae])
def test_as_published_neither_the_mean_nor_a_warm_up_helps_at_the_start(build: Any) -> None:
    moments = ColumnMoments(torch.full((5,), 0.9), torch.full((5,), 0.3), 4.5, torch.ones(5), 100)
    ours, published = (build(SPEC, n_latent=16, likelihood="bernoulli", faithful=it_is) for it_is in (False, True))
    for model in (ours, published):
        model.decoder.fit(moments)
    torch.testing.assert_close(ours.decoder.output.bias.sigmoid(), moments.mean)
    assert (published.decoder.output.bias.abs() < 1).all()
    assert {"kl_weight", "learning_rate"} <= set(ours.schedules)
    assert not published.schedules


def test_as_published_gradients_are_not_clipped(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[float] = []
    before = fitting.Trainer.__init__

    def watched(self: Any, model: Any, settings: Any, **options: Any) -> None:
        seen.append(settings.clip_factor)
        before(self, model, settings, **options)

    monkeypatch.setattr(fitting.Trainer, "__init__", watched)
    X = np.random.default_rng(0).random((30, 5)).astype(np.float32)
    for recipe in (None, "xu"):
        SDLGM(6, recipe=recipe, hidden_layer_sizes=(4,), max_steps=2, random_state=0).fit(X)
    assert seen == [CLIP_FACTOR, UNCLIPPED]
