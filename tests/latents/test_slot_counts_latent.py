"""The family of gated counts: the heads of gates and units."""

from __future__ import annotations

import pytest
import torch

from fewhot.latents import SlotCountsLatent

N_IN, N_UNITS, N_SLOTS = 5, 7, 3


def latent(shared: bool, n_gate_in: int = 0) -> SlotCountsLatent:
    torch.manual_seed(0)
    return SlotCountsLatent(N_IN, N_UNITS, N_SLOTS, shared=shared, n_gate_in=n_gate_in, initial_rate=0.3)


@pytest.mark.parametrize("n_gate_in", [0, 2])
@pytest.mark.parametrize("shared", [False, True])
def test_a_shift_moves_the_gates_and_nothing_else(shared: bool, n_gate_in: int) -> None:
    family, h = latent(shared, n_gate_in), torch.randn(4, N_IN)
    before = family.psi(h)
    family.shift_gates(0.5)
    after = family.psi(h)
    torch.testing.assert_close(after["gates"], before["gates"] + 0.5)
    assert torch.equal(after["features"], before["features"])


@pytest.mark.parametrize("n_gate_in", [0, 2])
def test_gates_of_a_fresh_network_are_on_at_the_rate_asked_for(n_gate_in: int) -> None:
    family = SlotCountsLatent(N_IN, 2, 400, shared=False, n_gate_in=n_gate_in, initial_rate=0.3)
    gates = family.psi(torch.zeros(1, N_IN))["gates"]
    assert gates.shape == (1, 400)
    assert gates.sigmoid().mean().item() == pytest.approx(0.3, abs=0.05)


@pytest.mark.parametrize("shared", [False, True])
def test_heads_that_were_saved_one_by_one_are_read(shared: bool) -> None:
    family, h, n_laws = latent(shared), torch.randn(4, N_IN), 1 if shared else N_SLOTS
    gates, units = torch.nn.Linear(N_IN, n_laws), torch.nn.Linear(N_IN, n_laws * N_UNITS)
    heads = {"gate_head": gates, "feature_head": units}
    family.load_state_dict({f"{name}.{k}": v for name, head in heads.items() for k, v in head.state_dict().items()})
    psi = family.psi(h)
    torch.testing.assert_close(psi["gates"], gates(h))
    torch.testing.assert_close(psi["features"], units(h))


def test_a_family_can_be_built_on_another_device() -> None:
    with torch.device("meta"):
        family = latent(shared=True)
    assert {parameter.device.type for parameter in family.parameters()} == {"meta"}
