"""Draws that take a share of the slab, of a law that is whole."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from torch.distributions import kl_divergence

from fewhot.core.seeding import stream
from fewhot.distributions import BinaryConcreteGate, BlendedSpikeSlab, SpikeSlab

SHAPE = (50, 3)


def laws(share: float | torch.Tensor) -> tuple[SpikeSlab, BlendedSpikeSlab]:
    generator = stream(0, "law")
    arguments = [torch.randn(SHAPE, generator=generator) for _ in range(2)]
    scale = torch.randn(SHAPE, generator=generator).exp()
    gate = partial(BinaryConcreteGate, temperature=0.5, estimator="straight-through")
    return SpikeSlab(*arguments, scale, relaxation=gate), BlendedSpikeSlab(*arguments, scale, share, relaxation=gate)


def test_at_no_share_a_draw_is_gate_times_noise() -> None:
    _, blended = laws(0.0)
    noise = blended.noise_like(generator=stream(1))
    z, gate, _ = blended.draw(noise=noise)
    assert torch.equal(z, gate * noise["slab"])


def test_at_full_share_a_draw_is_the_laws_own() -> None:
    plain, blended = laws(torch.ones(()))
    noise = plain.noise_like(generator=stream(1))
    assert torch.equal(blended.draw(noise=noise).z, plain.draw(noise=noise).z)
    assert torch.equal(blended.draw(noise=noise).gate, plain.draw(noise=noise).gate)


@pytest.mark.parametrize("share", [0.25, 0.7])
def test_between_them_mean_and_log_variance_are_scaled(share: float) -> None:
    plain, blended = laws(torch.tensor(share))
    noise = plain.noise_like(generator=stream(1))
    z, gate, _ = blended.draw(noise=noise)
    deviation = torch.exp(0.5 * share * plain.scale.square().log())
    torch.testing.assert_close(z, gate * (share * plain.loc + deviation * noise["slab"]))


def test_the_law_is_not_blended() -> None:
    plain, blended = laws(0.0)
    noise = plain.noise_like(generator=stream(1))
    reference = SpikeSlab(torch.zeros(3), torch.zeros(3), torch.ones(3))
    assert torch.equal(blended.sample(noise=noise), plain.sample(noise=noise))
    assert torch.equal(blended.log_prob(torch.ones(3)), plain.log_prob(torch.ones(3)))
    assert torch.equal(kl_divergence(blended, reference), kl_divergence(plain, reference))


def test_only_gates_have_a_gradient_at_no_share() -> None:
    leaves = [torch.zeros(SHAPE).requires_grad_() for _ in range(3)]
    gate = partial(BinaryConcreteGate, temperature=0.5, estimator="straight-through")
    z = BlendedSpikeSlab(leaves[0], leaves[1], leaves[2].exp(), torch.zeros(()), relaxation=gate).rsample()
    on_gates, *on_slabs = torch.autograd.grad(z.square().sum(), leaves)
    assert on_gates.abs().sum() > 0
    assert all(torch.equal(g, torch.zeros(SHAPE)) for g in on_slabs)
