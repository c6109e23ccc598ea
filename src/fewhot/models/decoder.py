"""Decoders: a body from codes to the parameters of a likelihood."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from fewhot.core.errors import InvalidParameterError
from fewhot.core.parts import Part
from fewhot.core.records import Batch, ColumnMoments, DataSpec, Noise, ObservedRows, Rows
from fewhot.core.registry import STRUCTURES
from fewhot.likelihoods.base import Likelihood
from fewhot.models.encoder import Encoder
from fewhot.nn import MLP, PictureOutput, TransposedConvolutions


@STRUCTURES.register("decoder")
class Decoder(Part):
    """An MLP, a linear layer, and the likelihood that reads its output.

    `likelihood` is for training, where a sequence decoder looks at the batch; `generate` has no batch to look at. With
    ``sees_gates`` the MLP reads which units are on beside their values, so that one that is on at 0 is not as if off.
    ``starts_at_mean`` makes rows of a fresh decoder as likely as their mean does; else its bias is drawn as any other.
    """

    def __init__(
        self,
        n_latent: int,
        hidden_layer_sizes: Sequence[int],
        head: Likelihood,
        activation: str = "relu",
        sees_gates: bool = False,
        starts_at_mean: bool = True,
    ) -> None:
        super().__init__()
        self.n_latent = n_latent
        self.hidden_layer_sizes = list(hidden_layer_sizes)
        self.activation = activation
        self.sees_gates = sees_gates
        self.starts_at_mean = starts_at_mean
        self.body, self.output = self._networks(head)
        self.head = head

    def _networks(self, head: Likelihood) -> tuple[Part, nn.Linear | PictureOutput]:
        """Return the body, and a layer with a bias for each output."""
        body = MLP(self._n_in, self.hidden_layer_sizes, self.activation)
        return body, nn.Linear(body.n_out, head.n_outputs)

    def check(self, spec: DataSpec) -> None:
        """Refuse rows that the likelihood cannot score."""
        self.head.check(spec)

    def join(self, encoder: Encoder) -> None:
        """Take what the decoder shares with the encoder; most share nothing."""

    @property
    def _n_in(self) -> int:
        return 2 * self.n_latent if self.sees_gates else self.n_latent

    @property
    def output_weights(self) -> Tensor:
        """The weights of the last layer, (n_outputs, H)."""
        assert isinstance(self.output, nn.Linear)
        return self.output.weight.detach()

    @torch.no_grad()
    def fit(self, moments: ColumnMoments) -> None:
        """Fit the likelihood's state, and start at the mean of the data where asked to."""
        self.head.fit(moments)
        if self.starts_at_mean:
            self.output.bias.copy_(self.head.output_bias(moments))

    def noise(self, n_rows: int, generator: torch.Generator) -> Noise:
        """Return the random numbers of a pass in training; most decoders need none."""
        return {}

    def likelihood(
        self, z: Tensor, batch: Batch, gate: Tensor | None = None, keys: Tensor | None = None
    ) -> ObservedRows:
        """Return p(x | z); ``gate`` holds the gates of a draw with their gradients, ``keys`` the noise of training."""
        return self._rows(z, gate)

    def generate(self, z: Tensor) -> ObservedRows:
        """Return p(x | z) of codes without data: reconstruction and sampling."""
        return self._rows(z, None)

    def _rows(self, z: Tensor, gate: Tensor | None) -> ObservedRows:
        if self.sees_gates:
            z = torch.cat([z, (z != 0).to(z.dtype) if gate is None else gate], dim=-1)
        return self.head(self.output(self.body(z)))


@STRUCTURES.register("conv-decoder")
class ConvDecoder(Decoder):
    """Transposed convolutions up to a square picture, and the likelihood that reads its pixels."""

    def __init__(
        self,
        n_latent: int,
        hidden_layer_sizes: Sequence[int],
        head: Likelihood,
        activation: str = "leaky-relu",
        sees_gates: bool = False,
        starts_at_mean: bool = True,
    ) -> None:
        super().__init__(n_latent, hidden_layer_sizes, head, activation, sees_gates, starts_at_mean)

    def _networks(self, head: Likelihood) -> tuple[Part, PictureOutput]:
        sizes = self.hidden_layer_sizes
        body = TransposedConvolutions(self._n_in, sizes, head.n_columns, self.activation)
        return body, PictureOutput(sizes[-1], len(sizes), head.n_columns, head.n_outputs)


@STRUCTURES.register("no-decoder")
class NoDecoder(Decoder):
    """Says nothing of rows: every row is as likely as any other, whatever its code."""

    def __init__(self, n_latent: int, head: Likelihood) -> None:
        super().__init__(n_latent, [], head)

    def _networks(self, head: Likelihood) -> tuple[Part, nn.Linear]:
        return Part(), nn.Linear(1, 1).requires_grad_(False)

    def check(self, spec: DataSpec) -> None:
        """Take any rows: nothing is said of them."""

    def fit(self, moments: ColumnMoments) -> None:
        """Learn nothing."""

    def likelihood(
        self, z: Tensor, batch: Batch, gate: Tensor | None = None, keys: Tensor | None = None
    ) -> ObservedRows:
        """Return a law under which every row has the same density, 1."""
        return _AnyRows(z, self.head.n_columns)

    def generate(self, z: Tensor) -> ObservedRows:
        """Refuse: there is nothing to make rows with."""
        raise InvalidParameterError(
            "This model has no decoder, so it makes no rows; fit one with variant='gen' or variant='con'."
        )


class _AnyRows:
    """A density of 1 everywhere."""

    def __init__(self, z: Tensor, n_columns: int) -> None:
        self._z = z
        self._n_columns = n_columns

    def log_prob(self, x: Rows) -> Tensor:
        """Return zeros, (..., B)."""
        return self._z.new_zeros(self._z.shape[:-1])

    @property
    def mean(self) -> Tensor:
        """Rows of nothing known, (..., B, D)."""
        return self._z.new_full((*self._z.shape[:-1], self._n_columns), torch.nan)

    def sample(self, generator: torch.Generator | None = None) -> Tensor:
        """Return what `mean` does: there is no law to draw from."""
        return self.mean
