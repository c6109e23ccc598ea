"""Amortised inference: one phase over everything that can be trained."""

from __future__ import annotations

import pytest
import torch

from fewhot.core.seeding import stream
from tests.parts import FAMILIES, batch_of, rows, small_model


@pytest.mark.parametrize("family", FAMILIES)
def test_one_phase_moves_every_parameter(family: str) -> None:
    model, batch = small_model(family), batch_of(rows())
    (phase,) = model.inference.phases(model)
    terms = phase.loss(batch, model.knobs(torch.tensor(0)), phase.noise(batch.x.n_rows, stream(0)), {})
    terms.loss.backward()
    assert len(list(phase.parameters)) == len(list(model.parameters()))
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in phase.parameters)


def test_frozen_parameters_are_left_out() -> None:
    model = small_model("gaussian")
    model.decoder.requires_grad_(False)
    (phase,) = model.inference.phases(model)
    frozen = {id(p) for p in model.decoder.parameters()}
    assert not any(id(p) in frozen for p in phase.parameters)


def test_the_loss_is_the_models_objective() -> None:
    model, batch = small_model("spike-slab"), batch_of(rows())
    (phase,) = model.inference.phases(model)
    knobs, noise = model.knobs(torch.tensor(0)), model.noise(6, stream(0))
    direct = model.terms(model.run(model.psi(batch), batch, knobs, noise), knobs)
    assert torch.equal(phase.loss(batch, knobs, noise, {}).loss, direct.loss)
