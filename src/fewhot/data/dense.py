"""Rows as a matrix, on the device or memory-mapped."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fewhot.core.records import Batch, DataSpec, Dense
from fewhot.data.dataset import CHUNK_ELEMENTS, Dataset, with_rows
from fewhot.data.whole_numbers import count_something

MAPPED_ABOVE_BYTES = 1 << 30
"""Memory-mapped arrays larger than this are read batch by batch instead of being loaded."""


class DenseDataset(Dataset):
    """A matrix: a float32 tensor on the device, or a mapped array read on demand."""

    def __init__(
        self, array: np.ndarray | Tensor, spec: DataSpec, device: torch.device | None = None, levels: int = 1
    ) -> None:
        self.array = array
        self.spec = spec
        self.levels = levels  # what a mapped array is divided by when it is read
        self.resident = isinstance(array, Tensor)
        self.device = device or torch.device("cpu")

    @classmethod
    def of(cls, array: np.ndarray, levels: int = 1, image_shape: tuple[int, ...] | None = None) -> DenseDataset:
        """Build from a validated two-dimensional array, whose numbers are divided by ``levels``."""
        spec = replace(
            _spec_of_dense(array, levels), image_shape=image_shape, pixels=levels != 1 or image_shape is not None
        )
        if _is_mapped(array) and array.nbytes > MAPPED_ABOVE_BYTES:
            return cls(array, spec, levels=levels)
        # A copy, so that a read-only, non-contiguous or later modified input cannot disturb training.
        with np.errstate(over="ignore"):  # `as_dataset` refuses what float32 cannot hold, in a sentence
            copied = np.array(array, dtype=np.float32, order="C")
        if levels != 1:
            copied /= levels
        return cls(torch.from_numpy(copied), spec)

    def to(self, device: torch.device) -> DenseDataset:
        """Return these rows on ``device``; mapped rows, and rows too many for its memory, stay on the host."""
        if isinstance(self.array, Tensor) and _fits(self.array.nbytes, device):
            return DenseDataset(self.array.to(device), self.spec, device)
        array = self.array.numpy() if isinstance(self.array, Tensor) else self.array
        return DenseDataset(array, self.spec, device, self.levels)

    def subset(self, rows: np.ndarray) -> DenseDataset:
        """Return the data set of some of the rows."""
        array = self.array[torch.from_numpy(rows)] if isinstance(self.array, Tensor) else self.array[rows]
        return DenseDataset(array, with_rows(self.spec, len(rows)), self.device, self.levels)

    def batch(self, index: Tensor, width: int = 0) -> Batch:
        """Return the rows at ``index``."""
        if isinstance(self.array, Tensor):
            return Batch(Dense(self.array.index_select(0, index)), index)
        rows = np.ascontiguousarray(self.array[index.cpu().numpy()], dtype=np.float32)
        if self.levels != 1:
            rows = rows / np.float32(self.levels)
        return Batch(Dense(torch.from_numpy(rows).to(self.device)), index)


def _spec_of_dense(array: np.ndarray, levels: int) -> DataSpec:
    low, high, integral, binary = np.inf, -np.inf, True, True
    size = max(1, CHUNK_ELEMENTS // array.shape[1])
    for start in range(0, len(array), size):
        chunk = array[start : start + size]
        chunk = chunk if levels == 1 else chunk / np.float32(levels)
        low, high = min(low, float(chunk.min())), max(high, float(chunk.max()))
        integral = integral and bool(np.all(chunk == np.floor(chunk)))
        binary = binary and integral and low >= 0 and high <= 1
    measured = levels == 1 and integral and low >= 0 and high > 1 and not count_something(array)
    return DataSpec(
        n_columns=array.shape[1],
        n_rows=len(array),
        minimum=low,
        maximum=high,
        integral=integral,
        binary=binary,
        measured=measured,
    )


def _is_mapped(array: Any) -> bool:
    while isinstance(array, np.ndarray):
        if isinstance(array, np.memmap):
            return True
        array = array.base
    return False


def _fits(n_bytes: int, device: torch.device) -> bool:
    if device.type != "cuda":
        return True
    free, _ = torch.cuda.mem_get_info(device)
    return n_bytes < free // 2
