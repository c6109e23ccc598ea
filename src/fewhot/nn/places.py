"""Pictures side by side, each of which is one of a few kinds of thing, or nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from torch import Tensor, nn

from fewhot.core.checks import whole_number
from fewhot.core.errors import InvalidParameterError
from fewhot.core.parts import Part
from fewhot.core.records import Rows
from fewhot.core.registry import BODIES
from fewhot.nn.mlp import activation_named

KERNEL, STRIDE = 5, 2


@BODIES.register("places")
class Places(Part):
    r"""One network reads the picture at every place and says of which kind it is; the kinds of a row are their mean.

    .. math:: h_m = \log \frac1P \sum_{p=1}^{P} \mathrm{softmax}(g(x_p))_m

    (B, side · P · side), line by line -> (B, ``n_kinds``). Where things are counted this is the law of a slot as it
    should be: a place drawn at random, and what is there.

    Parameters
    ----------
    n_places
        The number P of square pictures side by side.
    side
        Pixels of a picture's side.
    channels
        Of the convolutions, each of which halves the picture.
    n_hidden
        Width of the layer after them.
    n_kinds
        Kinds to tell apart: at least the things that are counted, and one for nothing.
    activation
        After each layer.
    """

    def __init__(
        self,
        n_places: int,
        side: int = 28,
        channels: Sequence[int] = (16, 32),
        n_hidden: int = 64,
        n_kinds: int = 16,
        activation: str = "relu",
    ) -> None:
        super().__init__()
        self.n_places = whole_number("n_places", n_places)
        self.side = whole_number("side", side)
        self.channels = [whole_number("each of channels", width) for width in channels]
        self.n_hidden = whole_number("n_hidden", n_hidden)
        self.n_kinds = whole_number("n_kinds", n_kinds, least=2)
        self.activation = activation
        layers: list[nn.Module] = []
        left = side
        for a, b in pairwise([1, *self.channels]):
            layers += [nn.Conv2d(a, b, KERNEL, STRIDE, padding=KERNEL // 2), activation_named(activation)]
            left = -(-left // STRIDE)
        n_seen = (self.channels[-1] if self.channels else 1) * left**2
        layers += [nn.Flatten(), nn.Linear(n_seen, n_hidden), activation_named(activation)]
        self.layers = nn.Sequential(*layers, nn.Linear(n_hidden, n_kinds))
        self.n_in, self.n_out = n_places * side**2, n_kinds

    def forward(self, x: Rows) -> Tensor:
        """Return the log of the mean probability of each kind."""
        rows = x.dense()
        if rows.shape[1] != self.n_in:
            raise InvalidParameterError(
                f"Rows have {rows.shape[1]} columns, and {self.n_places} pictures of {self.side} by {self.side} pixels "
                f"have {self.n_in}; give n_places and side that match."
            )
        pictures = rows.reshape(-1, self.side, self.n_places, self.side).transpose(1, 2).flatten(0, 1).unsqueeze(1)
        said = self.layers(pictures).log_softmax(-1).unflatten(0, (-1, self.n_places))  # (B, P, kinds)
        return said.logsumexp(1) - math.log(self.n_places)
