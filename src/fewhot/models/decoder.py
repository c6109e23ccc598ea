"""Decoders: a body from codes to the parameters of a likelihood."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from fewhot.core.parts import Part
from fewhot.core.records import Batch, ColumnMoments, ObservedRows
from fewhot.core.registry import STRUCTURES
from fewhot.likelihoods.base import Likelihood
from fewhot.nn import MLP, PictureOutput, TransposedConvolutions


@STRUCTURES.register("decoder")
class Decoder(Part):
    """An MLP, a linear layer, and the likelihood that reads its output.

    `likelihood` is for training, where a sequence decoder looks at the batch; `generate` has no batch to look at.
    """

    def __init__(
        self, n_latent: int, hidden_layer_sizes: Sequence[int], head: Likelihood, activation: str = "relu"
    ) -> None:
        super().__init__()
        self.n_latent = n_latent
        self.hidden_layer_sizes = list(hidden_layer_sizes)
        self.activation = activation
        self.body, self.output = self._networks(head)
        self.head = head

    def _networks(self, head: Likelihood) -> tuple[Part, nn.Linear | PictureOutput]:
        """Return the body, and a layer with a bias for each output."""
        body = MLP(self.n_latent, self.hidden_layer_sizes, self.activation)
        return body, nn.Linear(body.n_out, head.n_outputs)

    @torch.no_grad()
    def fit(self, moments: ColumnMoments) -> None:
        """Fit the likelihood's state and start at the mean of the data."""
        self.head.fit(moments)
        self.output.bias.copy_(self.head.output_bias(moments))

    def likelihood(self, z: Tensor, batch: Batch) -> ObservedRows:
        """Return p(x | z)."""
        return self.generate(z)

    def generate(self, z: Tensor) -> ObservedRows:
        """Return p(x | z) of codes without data: reconstruction and sampling."""
        return self.head(self.output(self.body(z)))


@STRUCTURES.register("conv-decoder")
class ConvDecoder(Decoder):
    """Transposed convolutions up to a square picture, and the likelihood that reads its pixels."""

    def __init__(
        self, n_latent: int, hidden_layer_sizes: Sequence[int], head: Likelihood, activation: str = "leaky-relu"
    ) -> None:
        super().__init__(n_latent, hidden_layer_sizes, head, activation)

    def _networks(self, head: Likelihood) -> tuple[Part, PictureOutput]:
        sizes = self.hidden_layer_sizes
        body = TransposedConvolutions(self.n_latent, sizes, head.n_columns, self.activation)
        return body, PictureOutput(sizes[-1], len(sizes), head.n_columns, head.n_outputs)
