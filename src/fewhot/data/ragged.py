"""Sparse rows in one container (values, columns, offsets), never a dense matrix of the whole data."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from fewhot.core.records import Batch, DataSpec, Ragged
from fewhot.core.sparse import check_entries
from fewhot.data.dataset import CHUNK_ELEMENTS, Dataset, with_rows

SMALLEST_WIDTH = 8


class RaggedDataset(Dataset):
    """CSR rows as tensors; a batch is padded to one of a few widths (powers of two), so that shapes are finite."""

    def __init__(self, values: Tensor, columns: Tensor, offsets: Tensor, spec: DataSpec) -> None:
        self.values = values  # (nnz,) float32
        self.columns = columns  # (nnz,) int32 or int64
        self.offsets = offsets  # (n + 1,) int64
        self.spec = spec
        self.resident = True
        self.device = values.device
        self.lengths = np.diff(offsets.cpu().numpy())

    @classmethod
    def of(cls, matrix: sp.spmatrix | sp.sparray) -> RaggedDataset:
        """Build from any scipy sparse matrix; duplicates are summed and the caller's matrix is left as it is."""
        csr = canonical(matrix)
        spec = _spec_of_sparse(csr)
        with np.errstate(over="ignore"):  # `as_dataset` refuses what float32 cannot hold, in a sentence
            values = np.array(csr.data, dtype=np.float32)
        columns = np.array(csr.indices, dtype=np.int32 if spec.n_columns < 2**31 else np.int64)
        offsets = torch.from_numpy(np.array(csr.indptr, dtype=np.int64))
        return cls(torch.from_numpy(values), torch.from_numpy(columns), offsets, spec)

    def to(self, device: torch.device) -> RaggedDataset:
        """Return these rows on ``device``."""
        return RaggedDataset(self.values.to(device), self.columns.to(device), self.offsets.to(device), self.spec)

    def subset(self, rows: np.ndarray) -> RaggedDataset:
        """Return the data set of some of the rows."""
        places, offsets = entries_of(self.offsets.cpu().numpy(), rows)
        take = torch.from_numpy(places).to(self.device)
        return RaggedDataset(
            self.values[take],
            self.columns[take],
            torch.from_numpy(offsets).to(self.device),
            with_rows(self.spec, len(rows)),
        )

    @property
    def _chunk(self) -> int:
        return max(1, min(4096, CHUNK_ELEMENTS // self.width(np.arange(self.n_rows))))

    def width(self, rows: np.ndarray) -> int:
        """Return the smallest power of two that holds the longest of these rows."""
        return padded_width(self.lengths[rows])

    def batch(self, index: Tensor, width: int = 0) -> Batch:
        """Return the rows at ``index``, padded to ``width`` with column 0 and value 0; 0 takes the width they need."""
        width = width or self.width(index.cpu().numpy())
        start = self.offsets[index]
        length = self.offsets[index + 1] - start
        place = torch.arange(width, device=self.device)
        inside = place < length[:, None]  # (B, M)
        entry = torch.where(inside, start[:, None] + place, 0)
        if not len(self.values):
            empty = torch.zeros(inside.shape, device=self.device)
            return Batch(Ragged(empty.long(), empty, self.spec.n_columns), index)
        values = torch.where(inside, self.values[entry], 0.0)
        columns = torch.where(inside, self.columns[entry].long(), 0)
        return Batch(Ragged(columns, values, self.spec.n_columns), index)


def canonical(matrix: Any, name: str = "X") -> Any:
    """Return a matrix as CSR with sorted columns and no entry twice; the caller's is left as it is.

    A sparse matrix with entries outside of it is refused, by ``name``. Half precision, which scipy has none of, becomes
    single.
    """
    if sp.issparse(matrix):
        check_entries(matrix, name)
    elif matrix.dtype == np.float16:
        matrix = matrix.astype(np.float32)
    csr = sp.csr_array(matrix)
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    return csr


def entries_of(offsets: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where the entries of some rows are, row by row, and the offsets they have among themselves.

    >>> places, offsets = entries_of(np.array([0, 2, 2, 5]), np.array([2, 0]))
    >>> places.tolist(), offsets.tolist()
    ([2, 3, 4, 0, 1], [0, 3, 5])
    """
    starts, lengths = offsets[rows], np.diff(offsets)[rows]
    moved = np.concatenate([[0], np.cumsum(lengths)])
    within = np.arange(moved[-1]) - np.repeat(moved[:-1], lengths)
    return np.repeat(starts, lengths) + within, moved


def padded_width(lengths: np.ndarray) -> int:
    """Return the smallest power of two, and at least 8, that holds the longest row."""
    longest = int(lengths.max(initial=1))
    return max(SMALLEST_WIDTH, 1 << (longest - 1).bit_length())


def value_range(values: np.ndarray) -> tuple[float, float]:
    """Return the least and the largest value, whatever their type; infinity and minus infinity of none.

    >>> value_range(np.array([3, 1], dtype=np.uint8))
    (1.0, 3.0)
    """
    return (float(values.min()), float(values.max())) if values.size else (np.inf, -np.inf)


def _spec_of_sparse(csr: Any) -> DataSpec:
    n_rows, n_columns = csr.shape
    full = csr.nnz == n_rows * n_columns
    low, high = value_range(csr.data)
    if not full:
        low, high = min(low, 0.0), max(high, 0.0)
    integral = bool(np.all(csr.data == np.floor(csr.data)))
    return DataSpec(
        n_columns=n_columns,
        n_rows=n_rows,
        sparse=True,
        minimum=low,
        maximum=high,
        integral=integral,
        binary=integral and low >= 0 and high <= 1,
    )
