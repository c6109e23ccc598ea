"""The masked network: outputs see only what comes before them."""

from __future__ import annotations

import pytest
import torch

from fewhot.nn import Autoregression
from tests.parts import shake


@pytest.mark.parametrize(("n", "n_hidden"), [(1, 3), (2, 1), (5, 4), (5, 40)])
def test_an_output_depends_on_earlier_inputs_alone(n: int, n_hidden: int) -> None:
    network = Autoregression(n, n_hidden, n_outputs=2)
    shake(network)
    one, other = torch.autograd.functional.jacobian(network, torch.rand(n))
    assert (one.triu() == 0).all()
    assert (other.triu() == 0).all()


def test_enough_hidden_units_reach_every_earlier_input() -> None:
    slopes = torch.zeros(5, 5)
    network = Autoregression(5, 400)
    shake(network)
    for _ in range(20):
        slopes += torch.autograd.functional.jacobian(network, torch.randn(5))[0].abs()
    assert (slopes.tril(-1) > 0).sum() == 10


def test_it_begins_at_zero() -> None:
    (out,) = Autoregression(4, 9)(torch.rand(3, 4))
    assert torch.equal(out, torch.zeros(3, 4))
