"""Data sets: validated rows that hand out batches, on the device when they fit and from the host when they do not."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Self

import numpy as np
import torch
from torch import Tensor

from fewhot.core.records import Batch, ColumnMoments, DataSpec, Dense, Ragged, Rows, as_numbers
from fewhot.data.order import Order

CHUNK_ELEMENTS = 1 << 22
"""How many elements are looked at together when a pass over the data needs no more."""

ROUNDING = 2.0**-21
"""Of a number, or of the columns' typical deviation: four steps of float32, which computations may be wrong by."""
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
        sums = torch.zeros(3, self.spec.n_columns, dtype=torch.float64, device=self.device)
        first: Tensor | None = None  # taken off every row: the sums of a constant column are then exactly 0
        for batch in self.batches(self._chunk):
            x = as_numbers(observe(batch.x))
            first = _first_row(x, sums) if first is None else first
            sums += _sums_less(first, x)
        assert first is not None
        return _moments_from_sums(first, sums, self.n_rows)

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


def _first_row(x: Dense | Ragged, like: Tensor) -> Tensor:
    """Return the first row, (D,), in the precision of ``like``."""
    if isinstance(x, Dense):
        return x.x[0].to(like.dtype)
    return torch.zeros_like(like[0]).index_add_(0, x.indices[0], x.values[0].to(like.dtype))


def _sums_less(first: Tensor, x: Dense | Ragged) -> Tensor:
    """Return the sums of columns less ``first``, of their squares, and of how many rows are not 0 there, (3, D)."""
    if isinstance(x, Dense):
        shifted = x.x.double() - first
        return torch.stack([shifted.sum(0), shifted.square().sum(0), (x.x != 0).double().sum(0)])
    stored = x.values != 0
    columns, values = x.indices[stored], x.values[stored].double() - first[x.indices[stored]]
    of_stored = torch.stack([values, values.square(), torch.ones_like(values)])
    sums = torch.zeros(3, len(first), dtype=first.dtype, device=first.device).index_add_(1, columns, of_stored)
    absent = len(x.indices) - sums[2]
    return sums + torch.stack([-absent * first, absent * first.square(), torch.zeros_like(first)])


def varying_columns(mean: Tensor, std: Tensor) -> Tensor:
    """Return which columns, (D,), vary by more than rounding errors.

    A column does not whose deviation is below `ROUNDING` of its mean, or of the other columns' deviations where it is
    tiny in itself, too: a few columns of embeddings are zero but for rounding errors.
    """
    typical = std[std > 0].median() if bool((std > 0).any()) else std.new_zeros(())
    least = torch.maximum(ROUNDING * mean.abs(), (ROUNDING * typical).clamp(max=TINY))
    return (std > least) & (std > torch.finfo(torch.float32).tiny)


def _moments_from_sums(first: Tensor, sums: Tensor, n_rows: int) -> ColumnMoments:
    """Turn what `_sums_less` returned of all rows into moments; what does not vary has deviation 1."""
    offset, square, present = sums / n_rows
    mean, std = first + offset, (square - offset.square()).clamp(min=0).sqrt()
    varies = varying_columns(mean, std)
    typical_std = float((std * varies).square().mean().sqrt()) or 1.0
    nearly = torch.nonzero((std > 0) & ~varies).flatten().tolist()
    std = torch.where(varies, std, torch.ones_like(std))
    return ColumnMoments(
        mean.float(),
        std.float(),
        float(mean.sum()),
        present.float(),
        n_rows,
        nearly_constant=tuple(nearly),
        typical_std=typical_std,
        varies=varies,
    )


def with_rows(spec: DataSpec, n_rows: int) -> DataSpec:
    """Return the description of a subset of ``n_rows`` rows."""
    return replace(spec, n_rows=n_rows)
