"""Data sets: validated rows that hand out batches, on the device when they fit and from the host when they do not."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Self

import numpy as np
import torch
from torch import Tensor

from fewhot.core.records import Batch, ColumnMoments, DataSpec, Ragged, Rows, as_numbers
from fewhot.data.order import Order

CHUNK_ELEMENTS = 1 << 22
"""How many elements are looked at together when a pass over the data needs no more."""

ROUNDING = 1e-6
"""Of a number, or of the columns' typical deviation: what float32 cannot be trusted to tell apart."""
TINY = 1e-7
"""A deviation above this is never taken for a rounding error of other columns, which may have larger units."""


class Dataset(ABC):
    """Rows of numbers. ``resident`` means that batches are made on the device, without the host."""

    spec: DataSpec
    device: torch.device
    resident: bool

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return self.spec.n_rows

    @abstractmethod
    def to(self, device: torch.device) -> Self:
        """Return these rows on ``device``, or reading from the host where they do not fit."""

    @abstractmethod
    def subset(self, rows: np.ndarray) -> Self:
        """Return the data set of some of the rows."""

    @abstractmethod
    def batch(self, index: Tensor, width: int = 0) -> Batch:
        """Return the rows at ``index``; sparse rows are padded to ``width`` entries."""

    def width(self, rows: np.ndarray) -> int:
        """Return the padded width these rows need, one of a finite set; 0 for dense rows."""
        return 0

    def order(self, batch_size: int, seed: int) -> Order:
        """Return the order in which training visits the rows."""
        return Order(self.n_rows, batch_size, seed, self.device)

    def moments(self, observe: Callable[[Rows], Rows] = lambda x: x) -> ColumnMoments:
        """Return the column statistics of the rows as observed, in float64, chunk by chunk; zeros count."""
        total = torch.zeros(self.spec.n_columns, dtype=torch.float64, device=self.device)
        square, present = torch.zeros_like(total), torch.zeros_like(total)
        for batch in self.batches(self._chunk):
            x = as_numbers(observe(batch.x))
            if isinstance(x, Ragged):
                columns, values = x.indices.flatten(), x.values.flatten().double()
                total.index_add_(0, columns, values)
                square.index_add_(0, columns, values.square())
                present.index_add_(0, columns, (values != 0).double())
            else:
                total += x.x.double().sum(0)
                square += x.x.double().square().sum(0)
                present += (x.x != 0).double().sum(0)
        return _moments_from_sums(total, square, present, self.n_rows)

    def totals(self) -> np.ndarray:
        """Return the sum of each row, (n,), float64."""
        rows = (as_numbers(batch.x) for batch in self.batches(self._chunk))
        sums = (x.values if isinstance(x, Ragged) else x.x for x in rows)
        return np.concatenate([values.double().sum(-1).cpu().numpy() for values in sums])

    @property
    def _chunk(self) -> int:
        return max(1, min(4096, CHUNK_ELEMENTS // self.spec.n_columns))

    def batches(self, size: int) -> Iterator[Batch]:
        """Go through all rows once, in order."""
        for start in range(0, self.n_rows, size):
            rows = np.arange(start, min(start + size, self.n_rows))
            yield self.batch(torch.from_numpy(rows).to(self.device), self.width(rows))


def _moments_from_sums(total: Tensor, square: Tensor, present: Tensor, n_rows: int) -> ColumnMoments:
    """Turn column sums and sums of squares into moments; a column that is nearly constant gets a deviation of 1.

    That is one whose deviation is below `ROUNDING` of its mean, or of the other columns' deviations where it is tiny in
    itself, too: a few columns of embeddings are zero but for rounding errors.
    """
    mean = total / n_rows
    std = (square / n_rows - mean.square()).clamp(min=0).sqrt()
    typical = std[std > 0].median() if bool((std > 0).any()) else std.new_zeros(())
    least = torch.maximum(ROUNDING * mean.abs(), (ROUNDING * typical).clamp(max=TINY))
    varies = (std > least) & (std > torch.finfo(torch.float32).tiny)
    typical_std = float((std * varies).square().mean().sqrt()) or 1.0
    nearly = torch.nonzero((std > 0) & ~varies).flatten().tolist()
    std = torch.where(varies, std, torch.ones_like(std))
    share = (present / n_rows).float()
    return ColumnMoments(
        mean.float(), std.float(), float(total.sum() / n_rows), share, n_rows, tuple(nearly), typical_std
    )


def with_rows(spec: DataSpec, n_rows: int) -> DataSpec:
    """Return the description of a subset of ``n_rows`` rows."""
    return replace(spec, n_rows=n_rows)
