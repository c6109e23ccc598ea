"""Multilayer perceptrons on codes and on rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise

from torch import Tensor, nn

from fewhot.core.checks import one_of
from fewhot.core.errors import InvalidInputError
from fewhot.core.parts import Part
from fewhot.core.records import PADDING, Rows, Tokens
from fewhot.core.registry import BODIES
from fewhot.nn.rows_linear import RowsLinear

LEAK = 0.2
ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "relu": nn.ReLU,
    "tanh": nn.Tanh,
    "gelu": nn.GELU,
    "silu": nn.SiLU,
    "leaky-relu": partial(nn.LeakyReLU, LEAK),
    "linear": nn.Identity,
}


def activation_named(name: str) -> nn.Module:
    """Return a new activation module."""
    return ACTIVATIONS[one_of("activation", name, list(ACTIVATIONS))]()


@BODIES.register("mlp")
class MLP(Part):
    """Linear layers with an activation after each: (..., n_in) -> (..., n_out)."""

    def __init__(self, n_in: int, hidden_layer_sizes: Sequence[int], activation: str = "relu") -> None:
        super().__init__()
        self.n_in = n_in
        self.hidden_layer_sizes = list(hidden_layer_sizes)
        self.activation = activation
        sizes = [n_in, *self.hidden_layer_sizes]
        layers = [module for a, b in pairwise(sizes) for module in (nn.Linear(a, b), activation_named(activation))]
        self.layers = nn.Sequential(*layers)
        self.n_out = sizes[-1]

    def forward(self, h: Tensor) -> Tensor:
        """Apply the layers."""
        return self.layers(h)


@BODIES.register("rows-mlp")
class RowsMLP(Part):
    """An MLP whose first layer reads dense or sparse rows: (B, n_in) -> (B, n_out)."""

    def __init__(self, n_in: int, hidden_layer_sizes: Sequence[int], activation: str = "relu") -> None:
        super().__init__()
        self.n_in = n_in
        self.hidden_layer_sizes = list(hidden_layer_sizes)
        self.activation = activation
        self.first = RowsLinear(n_in, self.hidden_layer_sizes[0])
        self.activate = activation_named(activation)
        self.rest = MLP(self.hidden_layer_sizes[0], self.hidden_layer_sizes[1:], activation)
        self.n_out = self.rest.n_out

    def forward(self, x: Rows) -> Tensor:
        """Return the features of each row."""
        return self.rest(self.activate(self.first(x)))


@BODIES.register("user-body")
class UserBody(Part):
    """A user's own module, (B, n_in) tensor -> (B, n_out) tensor, in the place of an encoder's body.

    Of texts it reads the ids of their words and which of these are there: two (B, T) tensors.
    """

    def __init__(self, module: nn.Module, n_out: int) -> None:
        super().__init__()
        self.module = module
        self.n_out = n_out

    def forward(self, x: Rows) -> Tensor:
        """Return the features of each row; sparse batches reach the module dense."""
        return self._single(x) if x.n_rows == 1 else self._read(x)

    def _read(self, x: Rows) -> Tensor:
        return self.module(x.ids, x.ids != PADDING) if isinstance(x, Tokens) else self.module(x.dense())

    def _single(self, x: Rows) -> Tensor:
        try:
            return self._read(x)
        except ValueError as error:
            if "more than 1 value per channel" not in str(error):
                raise
            raise InvalidInputError(
                "The encoder's batch normalisation cannot read a batch of one row; give at least two rows and a "
                "batch_size of at least 2, or use nn.LayerNorm."
            ) from error
