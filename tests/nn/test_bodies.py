"""Bodies: the arithmetic, and rows dense or sparse alike."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from fewhot.core.errors import InvalidParameterError
from fewhot.core.records import Dense, Ragged
from fewhot.nn import MLP, RowsLinear, RowsMLP, UserBody, rows_linear
from tests.parts import both_kinds, ragged, rows


def test_rows_linear_is_a_linear_map() -> None:
    layer, x = RowsLinear(5, 3), rows("real")
    torch.testing.assert_close(layer(Dense(x)), x @ layer.weight + layer.bias)


def test_rows_linear_starts_like_torchs_linear() -> None:
    ours, theirs = RowsLinear(10_000, 20), nn.Linear(10_000, 20)
    torch.testing.assert_close(ours.weight.std(), theirs.weight.std(), rtol=0.02, atol=0)
    assert ours.weight.abs().max() <= 0.01


def test_a_sparse_row_touches_the_weights_of_its_entries_only() -> None:
    layer, x = RowsLinear(5, 3), torch.tensor([[0.0, 2.0, 0.0, 0.0, -1.0]])
    layer(ragged(x)).sum().backward()
    assert layer.weight.grad.tolist() == [[0.0] * 3, [2.0] * 3, [0.0] * 3, [0.0] * 3, [-1.0] * 3]


def test_sparse_gradients_are_the_dense_ones() -> None:
    layer, gradients = RowsLinear(5, 3), []
    for x in both_kinds(rows("real")):
        gradients.append(torch.autograd.grad(layer(x).square().sum(), list(layer.parameters())))
    for dense, sparse in zip(*gradients, strict=True):
        torch.testing.assert_close(dense, sparse)


@pytest.mark.parametrize("n_rows", [1, 4])
def test_rows_without_entries_are_their_bias(n_rows: int) -> None:
    layer, x = RowsLinear(5, 3), rows("real")[:n_rows].clone()
    x[::2] = 0
    padded = Ragged(
        torch.nn.functional.pad(ragged(x).indices, (0, 6)), torch.nn.functional.pad(ragged(x).values, (0, 6)), 5
    )
    torch.testing.assert_close(layer(padded), layer(Dense(x)))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("largest", [0, 10**9], ids=["entries", "dense"])
def test_a_gpu_finds_what_a_cpu_finds(largest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows_linear, "LARGEST_DENSE", largest)
    layer, x, found = RowsLinear(5, 3), ragged(rows("real")), []
    for device in ("cpu", "cuda"):
        there = layer.to(device)
        h = there(Ragged(x.indices.to(device), x.values.to(device), x.n_columns))
        found.append([h.cpu(), *(g.cpu() for g in torch.autograd.grad(h.square().sum(), list(there.parameters())))])
    for a, b in zip(*found, strict=True):
        torch.testing.assert_close(a, b)


def test_mlp_is_layers_with_an_activation_after_each() -> None:
    body, h = MLP(4, [3, 2], "tanh"), torch.randn(6, 4)
    first, second = body.layers[0], body.layers[2]
    expected = torch.tanh(second(torch.tanh(first(h))))
    assert torch.equal(body(h), expected)
    assert body.n_out == 2


def test_an_mlp_without_layers_is_the_identity() -> None:
    h = torch.randn(6, 4)
    body = MLP(4, [])
    assert torch.equal(body(h), h)
    assert body.n_out == 4


def test_rows_mlp_is_the_mlp_with_the_same_weights() -> None:
    ours, plain, x = RowsMLP(5, [4, 3]), MLP(5, [4, 3]), rows("real")
    with torch.no_grad():
        plain.layers[0].weight.copy_(ours.first.weight.T)
        plain.layers[0].bias.copy_(ours.first.bias)
    plain.layers[2].load_state_dict(ours.rest.layers[0].state_dict())
    torch.testing.assert_close(ours(Dense(x)), plain(x))


@pytest.mark.parametrize("kind", [MLP, RowsMLP])
def test_an_unknown_activation_is_refused(kind: type) -> None:
    with pytest.raises(InvalidParameterError, match="activation is 'sin'; it must be one of 'relu', 'tanh'"):
        kind(4, [3], "sin")


def test_a_users_module_sees_sparse_batches_dense() -> None:
    module, x = nn.Linear(5, 3), rows("real")
    body = UserBody(module, n_out=3)
    for given in both_kinds(x):
        assert torch.equal(body(given), module(x))
