"""Convolutions on rows that are square pictures, and on codes that become such rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from fewhot.core.errors import InvalidParameterError
from fewhot.core.parts import Part
from fewhot.core.records import Rows
from fewhot.core.registry import BODIES
from fewhot.nn.mlp import LEAK, activation_named

CHANNELS = (32, 64, 128)
"""Of each layer where nothing else is asked for."""
KERNEL, STRIDE = 4, 2
LEAST_SIDE = 8
_GAIN = math.sqrt(2 / (1 + LEAK**2))


class Picture(NamedTuple):
    """How rows are pictures: pixels line by line, each with its channels, as the library's datasets have them.

    Every layer halves a picture, so it is framed by zeros up to the next side that can be halved so often: with three
    layers 28 by 28 pixels are seen as 32 by 32.
    """

    side: int
    channels: int
    framed: int

    @classmethod
    def of(cls, n_columns: int, n_layers: int) -> Picture:
        """Return the picture in a row of so many columns, framed for so many layers."""
        for channels in (1, 3):
            side = math.isqrt(n_columns // channels)
            if channels * side**2 == n_columns and side >= LEAST_SIDE:
                framed = side + -side % STRIDE**n_layers
                if framed >= 2 * side:
                    raise InvalidParameterError(
                        f"{n_layers} layers halve pictures of {side} by {side} pixels more often than they can be; "
                        f"give hidden_layer_sizes of {math.ceil(math.log2(side))} layers or fewer."
                    )
                return cls(side, channels, framed)
        raise InvalidParameterError(
            f"Convolutions need rows that are square pictures of one or three channels, {LEAST_SIDE} by {LEAST_SIDE} "
            f"pixels or more, and there are {n_columns} columns; give encoder='mlp'."
        )

    @property
    def frame(self) -> tuple[int, int]:
        """Zeros before and after each line of pixels, and above and below each column."""
        margin = self.framed - self.side
        return margin // 2, margin - margin // 2

    def maps(self, rows: Tensor) -> Tensor:
        """Return rows (B, D) as framed pictures (B, channels, framed, framed)."""
        pixels = rows.unflatten(-1, (self.side, self.side, self.channels))
        return F.pad(pixels.movedim(-1, -3), (*self.frame, *self.frame))

    def rows(self, maps: Tensor) -> Tensor:
        """Return framed pictures (B, n, framed, framed) as rows, n / channels of them after another: (B, ...)."""
        inside = slice(self.frame[0], self.frame[0] + self.side)
        pixels = maps[..., inside, inside].unflatten(-3, (-1, self.channels))
        return pixels.movedim(-3, -1).flatten(1)


@BODIES.register("conv")
class Convolutions(Part):
    """Rows as pictures, halved by every layer: (B, n_in) -> (B, n_out). Sparse rows are made dense, batch by batch.

    Parameters
    ----------
    n_in
        Columns of the rows, side² or 3 side²; see `Picture`.
    hidden_layer_sizes
        Channels of each layer.
    activation
        After each layer.

    References
    ----------
    Radford, Metz and Chintala (2016), Unsupervised representation learning with deep convolutional generative
    adversarial networks; without its batch normalisation, under which rows of a batch would see each other.
    """

    def __init__(self, n_in: int, hidden_layer_sizes: Sequence[int] = CHANNELS, activation: str = "leaky-relu") -> None:
        super().__init__()
        self.n_in = n_in
        self.hidden_layer_sizes = list(hidden_layer_sizes)
        self.activation = activation
        self.picture = Picture.of(n_in, len(self.hidden_layer_sizes))
        layers: list[nn.Module] = []
        for a, b in pairwise([self.picture.channels, *self.hidden_layer_sizes]):
            layer = nn.Conv2d(a, b, KERNEL, STRIDE, padding=1)
            layers += [_begin(layer, n_seen=a * KERNEL**2), activation_named(activation)]
        self.layers = nn.Sequential(*layers)
        self.n_out = self.hidden_layer_sizes[-1] * (self.picture.framed // STRIDE ** len(self.hidden_layer_sizes)) ** 2

    def forward(self, x: Rows) -> Tensor:
        """Return the last layer's maps, flat."""
        return self.layers(self.picture.maps(x.dense())).flatten(1)


@BODIES.register("transposed-conv")
class TransposedConvolutions(Part):
    """`Convolutions` backwards, but for the last doubling, which is `PictureOutput`: (..., n_in) -> (..., n_out)."""

    def __init__(
        self, n_in: int, hidden_layer_sizes: Sequence[int], n_columns: int, activation: str = "leaky-relu"
    ) -> None:
        super().__init__()
        self.n_in = n_in
        self.hidden_layer_sizes = list(hidden_layer_sizes)
        self.n_columns = n_columns
        self.activation = activation
        widths, n_layers = self.hidden_layer_sizes, len(self.hidden_layer_sizes)
        framed = Picture.of(n_columns, n_layers).framed
        side = framed // STRIDE**n_layers
        layers: list[nn.Module] = [nn.Linear(n_in, widths[0] * side**2), activation_named(activation)]
        layers += [nn.Unflatten(-1, (widths[0], side, side))]
        for a, b in pairwise(widths):
            layers += [_begin(_doubling(a, b), n_seen=a * STRIDE**2), activation_named(activation)]
        self.layers = nn.Sequential(*layers)
        self.n_out = widths[-1] * (framed // STRIDE) ** 2

    def forward(self, z: Tensor) -> Tensor:
        """Return the last hidden layer's maps, flat."""
        return self.layers(z.flatten(0, -2)).reshape(*z.shape[:-1], -1)


class PictureOutput(nn.Module):
    """The last doubling, cut to the picture, with a bias for every output: (..., n_in) -> (..., n_out)."""

    def __init__(self, n_hidden: int, n_layers: int, n_columns: int, n_out: int) -> None:
        super().__init__()
        self.picture = Picture.of(n_columns, n_layers)
        self.n_hidden = n_hidden
        layer = _doubling(n_hidden, self.picture.channels * n_out // n_columns, bias=False)
        self.layer = _begin(layer, n_seen=n_hidden * STRIDE**2, gain=3**-0.5)  # as torch.nn.Linear
        self.bias = nn.Parameter(torch.zeros(n_out))

    def forward(self, h: Tensor) -> Tensor:
        """Return the rows."""
        half = self.picture.framed // STRIDE
        maps = self.layer(h.reshape(-1, self.n_hidden, half, half))
        return self.picture.rows(maps).reshape(*h.shape[:-1], -1) + self.bias


def _doubling(n_in: int, n_out: int, bias: bool = True) -> nn.ConvTranspose2d:
    return nn.ConvTranspose2d(n_in, n_out, KERNEL, STRIDE, padding=1, bias=bias)


def _begin(layer: nn.Conv2d | nn.ConvTranspose2d, n_seen: int, gain: float = _GAIN) -> nn.Module:
    """Begin with weights that keep the size of what passes through, ``n_seen`` numbers an output (He et al., 2015)."""
    nn.init.normal_(layer.weight, std=gain / math.sqrt(n_seen))
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)
    return layer
