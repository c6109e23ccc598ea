"""Encoders: fitted features, then a body."""

from __future__ import annotations

import torch
from torch import Tensor

from fewhot.core.checks import real_number
from fewhot.core.errors import InvalidParameterError
from fewhot.core.parts import Part
from fewhot.core.records import ColumnMoments, DataSpec, Dense, Noise, Rows
from fewhot.core.registry import STRUCTURES
from fewhot.features.dropout import thinned
from fewhot.features.transforms import Features, Identity
from fewhot.nn import Pretrained, WordGRU


@STRUCTURES.register("encoder")
class Encoder(Part):
    """Rows to a vector each: (B, D) -> (B, n_out).

    In training each entry of the features is left out with probability ``dropout``, and each of the vector with
    probability ``hidden_dropout``; the others are scaled up.
    """

    def __init__(self, features: Features, body: Part, dropout: float = 0.0, hidden_dropout: float = 0.0) -> None:
        super().__init__()
        self.features = features
        self.body = body
        self.dropout = real_number("dropout", dropout, low=0, high=0.99)
        self.hidden_dropout = real_number("hidden_dropout", hidden_dropout, low=0, high=0.99)
        if self.reads_texts and (dropout or not isinstance(features, Identity)):
            raise InvalidParameterError(
                "The encoder reads texts in order, and features and dropout are of rows of numbers; give "
                "encoder='mlp', which reads the counts of words."
            )

    @property
    def reads_texts(self) -> bool:
        """Whether the body reads words in order, and not rows of numbers."""
        return isinstance(self.body, WordGRU | Pretrained)

    @property
    def compiles(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether the body can be compiled."""
        return self.body.compiles

    @property
    def n_out(self) -> int:
        """Width of the vectors."""
        return self.body.n_out  # pyright: ignore[reportReturnType]

    def fit(self, moments: ColumnMoments) -> None:
        """Fit the features on the training rows."""
        self.features.fit(moments)

    def check(self, spec: DataSpec) -> None:
        """Refuse rows that have no features."""
        self.features.check(spec)

    def noise(self, n_rows: int, generator: torch.Generator) -> Noise:
        """Return a key a row, from which it follows which entries are left out; nothing without dropout."""
        if not (self.dropout or self.hidden_dropout):
            return {}
        return {"dropout": torch.randint(2**62, (n_rows, 1), generator=generator, device=generator.device)}

    def forward(self, x: Rows, keys: Tensor | None = None) -> Tensor:
        """Return what the latent's heads read; with keys, as in training."""
        features = self.features(x)
        if keys is None:
            return self.body(features)
        h = self.body(thinned(features, keys, self.dropout) if self.dropout else features)
        return thinned(Dense(h), ~keys, self.hidden_dropout).dense() if self.hidden_dropout else h
