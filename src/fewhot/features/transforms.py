"""Feature transforms: what the encoder reads; the likelihood never sees them."""

from __future__ import annotations

import torch
from torch import Tensor

from fewhot.core.checks import one_of
from fewhot.core.parts import Part
from fewhot.core.records import ColumnMoments, Dense, Ragged, Rows
from fewhot.core.registry import FEATURES


class Features(Part):
    """Rows in, rows out, with state fitted on the training rows only."""

    def fit(self, moments: ColumnMoments) -> None:
        """Keep what is needed of the training rows."""

    def forward(self, x: Rows) -> Rows:
        """Return the transformed rows."""
        return x


@FEATURES.register("identity")
class Identity(Features):
    """The rows as they are."""


@FEATURES.register("log1p")
class Log1p(Features):
    r""":math:`\log(1+x)`, for counts; zeros stay zeros, so sparse rows stay sparse."""

    def forward(self, x: Rows) -> Rows:
        """Return the compressed counts."""
        return x._replace(values=x.values.log1p()) if isinstance(x, Ragged) else Dense(x.x.log1p())


@FEATURES.register("standardise")
class Standardise(Features):
    """Columns with mean 0 and deviation 1; with ``centre=False``, for sparse rows, zeros stay zeros.

    The same rows give the same features whether they come dense or sparse.
    """

    loc: Tensor
    scale: Tensor

    def __init__(self, n_columns: int, centre: bool = True) -> None:
        super().__init__()
        self.n_columns = n_columns
        self.centre = one_of("centre", centre, (True, False))
        self.register_buffer("loc", torch.zeros(n_columns))
        self.register_buffer("scale", torch.ones(n_columns))

    def fit(self, moments: ColumnMoments) -> None:
        """Keep the mean and deviation of each column."""
        self.loc.copy_(moments.mean)
        self.scale.copy_(moments.std)

    def forward(self, x: Rows) -> Rows:
        """Return the scaled rows."""
        if isinstance(x, Ragged) and not self.centre:
            return x._replace(values=x.values / self.scale[x.indices])
        rows = x.dense() - self.loc if self.centre else x.dense()
        return Dense(rows / self.scale)
