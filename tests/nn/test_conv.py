"""Convolutions: where a pixel is in a row, what a layer sees of a picture, and what a map paints of one."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from fewhot.core.errors import InvalidParameterError
from fewhot.core.records import Dense
from fewhot.core.seeding import seeded, stream
from fewhot.nn import Convolutions, PictureOutput, TransposedConvolutions
from fewhot.nn.conv import Picture
from tests.parts import both_kinds, rows

SHAPES = pytest.mark.parametrize(("side", "channels"), [(8, 1), (9, 1), (28, 1), (8, 3), (13, 3)])


def pictures(side: int, channels: int, n: int = 4) -> Tensor:
    return torch.rand(n, side, side, channels, generator=stream(0, "pictures"))


@SHAPES
def test_a_pixel_is_where_the_datasets_have_it(side: int, channels: int) -> None:
    given = pictures(side, channels)
    picture = Picture.of(side**2 * channels, n_layers=2)
    maps = picture.maps(given.flatten(1))
    top = (picture.framed - side) // 2
    assert picture.framed % 4 == 0
    assert maps.shape == (4, channels, picture.framed, picture.framed)
    assert torch.equal(maps[:, :, top : top + side, top : top + side], given.permute(0, 3, 1, 2))
    assert maps.sum() == pytest.approx(float(given.sum()), rel=1e-5)  # the frame is empty


@SHAPES
def test_rows_are_the_pictures_without_their_frame(side: int, channels: int) -> None:
    given, picture = pictures(side, channels).flatten(1), Picture.of(side**2 * channels, n_layers=3)
    assert torch.equal(picture.rows(picture.maps(given)), given)
    twice = torch.cat([picture.maps(given), 2 * picture.maps(given)], dim=1)
    assert torch.equal(picture.rows(twice), torch.cat([given, 2 * given], dim=1))


def test_three_layers_see_28_pixels_as_32() -> None:
    assert Picture.of(784, n_layers=3) == (28, 1, 32)
    assert Convolutions(784).n_out == 128 * 4 * 4


def test_a_layer_is_the_sum_over_its_window() -> None:
    with seeded(0):
        body = Convolutions(192, [5])
    given = pictures(8, 3)
    padded = np.pad(given.numpy(), ((0, 0), (1, 1), (1, 1), (0, 0)))
    weight, bias = (value.detach().numpy() for value in body.layers[0].parameters())
    slow = np.empty((4, 5, 4, 4))
    for row, out, i, j in np.ndindex(slow.shape):
        window = padded[row, 2 * i : 2 * i + 4, 2 * j : 2 * j + 4]  # (4, 4, 3)
        total = (window * weight[out].transpose(1, 2, 0)).sum() + bias[out]
        slow[row, out, i, j] = max(total, 0.2 * total)
    found = body(Dense(given.flatten(1))).detach().numpy().reshape(slow.shape)
    np.testing.assert_allclose(found, slow, rtol=1e-4, atol=1e-5)


def test_a_shifted_picture_has_shifted_features() -> None:
    with seeded(0):
        body = Convolutions(256, [6])
    given = torch.zeros(1, 16, 16, 1)
    given[:, 4:9, 5:11] = pictures(16, 1, n=1)[:, :5, :6]
    down, right = given.roll(2, dims=1), given.roll(4, dims=2)
    one, lower, righter = (body(Dense(x.flatten(1))).unflatten(1, (6, 8, 8)) for x in (given, down, right))
    torch.testing.assert_close(lower, one.roll(1, dims=2))
    torch.testing.assert_close(righter, one.roll(2, dims=3))
    assert not torch.allclose(lower, one)


@pytest.mark.parametrize("n_layers", [1, 3])
def test_a_place_of_the_last_map_paints_its_own_four_by_four_pixels(n_layers: int) -> None:
    output, half = PictureOutput(2, n_layers, 300, 600), Picture.of(300, n_layers).framed // 2
    maps = torch.zeros(1, 2, half, half)
    maps[0, 1, 2, 3] = 1.0
    painted = (output(maps.flatten(1)) != 0).reshape(2, 10, 10, 3)
    frame = half - 5
    where = painted.all(0).all(-1).nonzero()
    assert torch.equal(painted.any(0).any(-1), painted.all(0).all(-1))
    assert where.min(0).values.tolist() == [max(0, 3 - frame), max(0, 5 - frame)]
    assert where.max(0).values.tolist() == [6 - frame, 8 - frame]


def test_codes_of_any_leading_shape_become_rows() -> None:
    body, output = TransposedConvolutions(3, [8, 6], 784), PictureOutput(6, 2, 784, 784)
    z = torch.randn(5, 4, 3, generator=stream(0))
    many = output(body(z))
    assert many.shape == (5, 4, 784)
    assert body(z).shape == (5, 4, body.n_out)
    torch.testing.assert_close(many[2], output(body(z[2])))


@pytest.mark.parametrize("n_columns", [64, 784, 3072])
def test_layers_begin_by_keeping_the_size_of_what_passes(n_columns: int) -> None:
    with seeded(0):
        body, back = Convolutions(n_columns), TransposedConvolutions(10, [128, 64, 32], n_columns)
    down = body(Dense(torch.randn(20, n_columns, generator=stream(0))))
    up = back.layers[2:](torch.randn(20, back.layers[0].out_features, generator=stream(1)))
    assert 0.3 < down.square().mean().sqrt() < 1.5
    assert 0.3 < up.square().mean().sqrt() < 1.5


def test_sparse_rows_are_the_dense_ones() -> None:
    body, x = Convolutions(64, [4]), rows("grey", n_columns=64)
    dense, sparse = (body(given) for given in both_kinds(x))
    assert torch.equal(dense, sparse)


@pytest.mark.parametrize("n_columns", [5, 49, 65, 128, 147])
def test_rows_that_are_no_square_pictures_are_refused(n_columns: int) -> None:
    with pytest.raises(InvalidParameterError, match=f"there are {n_columns} columns; give encoder='mlp'"):
        Convolutions(n_columns)


@pytest.mark.parametrize(("side", "n_layers"), [(8, 3), (9, 4), (28, 5)])
def test_layers_halve_a_picture_until_one_pixel_is_left(side: int, n_layers: int) -> None:
    assert Picture.of(side**2, n_layers).framed == 2**n_layers
    with pytest.raises(InvalidParameterError, match=rf"{n_layers + 1} layers .* of {n_layers} layers or fewer"):
        Picture.of(side**2, n_layers + 1)
