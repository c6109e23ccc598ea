"""Encoders: fitted features, then a body."""

from __future__ import annotations

from torch import Tensor

from fewhot.core.parts import Part
from fewhot.core.records import ColumnMoments, Rows
from fewhot.core.registry import STRUCTURES
from fewhot.features.transforms import Features


@STRUCTURES.register("encoder")
class Encoder(Part):
    """Rows to a vector each: (B, D) -> (B, n_out)."""

    def __init__(self, features: Features, body: Part) -> None:
        super().__init__()
        self.features = features
        self.body = body

    @property
    def n_out(self) -> int:
        """Width of the vectors."""
        return self.body.n_out  # pyright: ignore[reportReturnType]

    def fit(self, moments: ColumnMoments) -> None:
        """Fit the features on the training rows."""
        self.features.fit(moments)

    def forward(self, x: Rows) -> Tensor:
        """Return what the latent's heads read."""
        return self.body(self.features(x))
