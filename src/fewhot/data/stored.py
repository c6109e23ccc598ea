"""Sparse rows that stay on disk: a folder of arrays, or an .h5ad file that was opened without loading."""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from fewhot.core.errors import DataError, InvalidInputError
from fewhot.core.files import folder_path
from fewhot.core.records import Batch, DataSpec, Ragged
from fewhot.data.dataset import CHUNK_ELEMENTS, Dataset, with_rows
from fewhot.data.ragged import canonical, padded_width, value_range

FORMAT = 1
ARRAYS = {"data": np.float32, "indices": np.int32, "indptr": np.int64}
FACTS = "rows.json"
_ROWS_AT_ONCE = 4096
_READ_AT_ONCE = 1 << 30  # bytes; Linux reads no more than two gigabytes in one call


class StoredRows(ABC):
    """A sparse matrix that is read a few rows at a time. Rows that are chosen from it stay on disk too."""

    shape: tuple[int, int]
    ndim = 2
    names: list[str] | None = None
    """What the columns are called; None where they have no names."""

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> ChosenRows:
        """Choose rows by a slice, by their numbers or by a mask; none is read."""
        try:
            places = np.arange(len(self))[key]
        except IndexError as error:
            raise self._no_choice(f"these were asked for ({error})") from error
        if places.ndim != 1:
            raise self._no_choice("one was asked for by its number")
        return ChosenRows(self, places)

    def _no_choice(self, what: str) -> InvalidInputError:
        return InvalidInputError(
            f"There are {len(self)} rows on disk, and {what}; choose rows by a slice, an array of their numbers or a "
            f"mask, or read them all by tocsr()."
        )

    def rows(self, index: np.ndarray) -> sp.csr_array:
        """Return the rows at ``index``, in memory: columns in order, entries given twice added up."""
        return canonical(self._rows(index))

    @abstractmethod
    def _rows(self, index: np.ndarray) -> sp.csr_array:
        """Return the rows at ``index`` as they are stored."""

    @abstractmethod
    def lengths(self, index: np.ndarray) -> np.ndarray:
        """Return how many entries these rows store, at least as many as `rows` returns."""

    def tocsr(self) -> sp.csr_array:
        """Return all rows, in memory."""
        return self.rows(np.arange(self.shape[0]))

    def blocks(self) -> Iterator[sp.csr_array]:
        """Go through all rows once, in order."""
        for start in range(0, self.shape[0], _ROWS_AT_ONCE):
            yield self.rows(np.arange(start, min(start + _ROWS_AT_ONCE, self.shape[0])))


class FolderRows(StoredRows):
    """The arrays of a folder that `write_rows` made. They are read, not mapped: mapped pages count as memory."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if not is_rows_folder(self.path):
            raise DataError(f"{self.path} is no folder of sparse rows; make one by fewhot.data.write_rows(path, X).")
        self.shape, self.names = _facts_in(self.path)
        try:
            arrays = {name: np.load(self.path / f"{name}.npy", mmap_mode="r") for name in ARRAYS}
            self._begin = {name: _first_byte(self.path / f"{name}.npy") for name in ARRAYS}
        except (OSError, ValueError, EOFError) as error:
            raise self._damaged("an array is missing or cut off") from error
        for name, array in arrays.items():
            if array.dtype != ARRAYS[name] or array.ndim != 1:
                raise self._damaged(f"{name}.npy holds {array.dtype} of {array.ndim} axes")
        if len(arrays["indptr"]) != self.shape[0] + 1:
            raise self._damaged(f"it is of {self.shape[0]} rows, and indptr.npy of {len(arrays['indptr']) - 1}")
        if not len(arrays["data"]) == len(arrays["indices"]) == self._offsets([-1])[0]:
            raise self._damaged("its arrays do not belong together")

    def _rows(self, index: np.ndarray) -> sp.csr_array:
        starts, ends = self._offsets(index), self._offsets(index + 1)
        if (starts > ends).any() or starts.min(initial=0) < 0:
            raise self._damaged("rows end before they begin")
        data, indices = (self._read(name, starts, ends) for name in ("data", "indices"))
        if len(indices) and not 0 <= indices.min() <= indices.max() < self.shape[1]:
            raise self._damaged(f"columns run from {indices.min()} to {indices.max()} of {self.shape[1]}")
        offsets = np.concatenate([[0], np.cumsum(ends - starts)])
        return sp.csr_array((data, indices, offsets), shape=(len(index), self.shape[1]))

    def lengths(self, index: np.ndarray) -> np.ndarray:
        """Return how many entries these rows store."""
        return self._offsets(index + 1) - self._offsets(index)

    def _damaged(self, what: str) -> DataError:
        return DataError(f"{self.path} is damaged: {what}; write it anew.")

    def _offsets(self, index: Any) -> np.ndarray:
        places = np.asarray(index) % (self.shape[0] + 1)
        return self._read("indptr", places, places + 1)

    def _read(self, name: str, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
        """Return the entries of an array from each start to its end, one after another."""
        if not len(starts):
            return np.empty(0, dtype=ARRAYS[name])
        breaks = np.flatnonzero(starts[1:] != ends[:-1]) + 1
        first, last = np.concatenate([[0], breaks]), np.concatenate([breaks, [len(starts)]]) - 1
        item = np.dtype(ARRAYS[name]).itemsize
        with (self.path / f"{name}.npy").open("rb", buffering=0) as file:
            runs = [
                piece
                for start, end in zip(starts[first], ends[last], strict=True)
                for piece in self._pieces(file, self._begin[name] + int(start) * item, int(end - start) * item)
            ]
        return np.frombuffer(bytearray().join(runs), dtype=ARRAYS[name])

    def _pieces(self, file: IO[bytes], begin: int, n_bytes: int) -> Iterator[bytes]:
        """Yield ``n_bytes`` of a file; one call may give fewer than it was asked for."""
        while n_bytes:
            piece = os.pread(file.fileno(), min(n_bytes, _READ_AT_ONCE), begin)
            if not piece:
                raise self._damaged("an array is cut off")
            yield piece
            begin, n_bytes = begin + len(piece), n_bytes - len(piece)


def _facts_in(folder: Path) -> tuple[tuple[int, int], list[str] | None]:
    """Return the shape that a folder of rows says it has, and the names of its columns where it knows them."""
    try:
        facts = json.loads((folder / FACTS).read_text(encoding="utf-8"))
        version, (n_rows, n_columns) = facts["format"], map(int, facts["shape"])
        names = facts.get("names")
        if names is not None and (len(names) != n_columns or not all(isinstance(name, str) for name in names)):
            raise ValueError("other names than columns")
    except (OSError, ValueError, TypeError, LookupError) as error:
        raise DataError(f"{folder / FACTS} is damaged; write the folder anew.") from error
    if version != FORMAT:
        raise DataError(f"{folder} was written by another version (format {version}); write it anew.")
    return (n_rows, n_columns), names


def _first_byte(path: Path) -> int:
    """Return where the numbers of an .npy file begin."""
    with path.open("rb") as file:
        np.lib.format.read_magic(file)
        np.lib.format.read_array_header_1_0(file)
        return file.tell()


class BackedRows(StoredRows):
    """The sparse matrix of an AnnData that was opened with ``backed="r"``."""

    def __init__(self, matrix: Any) -> None:
        self.matrix = matrix
        self.shape = (int(matrix.shape[0]), int(matrix.shape[1]))

    def _rows(self, index: np.ndarray) -> sp.csr_array:
        """Return the rows at ``index`` as they are stored; the file is read in its own order."""
        order = np.argsort(index, kind="stable")
        found = sp.csr_array(self.matrix[index[order]])
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        return found[back]

    def lengths(self, index: np.ndarray) -> np.ndarray:
        """Return how many entries these rows store."""
        return np.diff(self.rows(index).indptr)


class ChosenRows(StoredRows):
    """Some rows of a matrix on disk, in an order of their own."""

    def __init__(self, source: StoredRows, places: np.ndarray) -> None:
        self.source = source
        self.places = places
        self.shape = (len(places), source.shape[1])
        self.names = source.names

    def _rows(self, index: np.ndarray) -> sp.csr_array:
        return self.source.rows(self.places[index])

    def lengths(self, index: np.ndarray) -> np.ndarray:
        """Return how many entries these rows store."""
        return self.source.lengths(self.places[index])


def is_rows_folder(path: Path) -> bool:
    """Say whether this is a folder that `write_rows` made."""
    return (path / FACTS).is_file()


def open_rows(path: str | Path) -> FolderRows:
    """Open a folder of sparse rows without loading it; every estimator reads it as it reads a sparse matrix."""
    return FolderRows(folder_path(path))


class StoredDataset(Dataset):
    """Rows that stay on disk; batches are read on the host, and padded as those of `RaggedDataset` are."""

    def __init__(
        self, source: StoredRows, spec: DataSpec, longest: int, rows: np.ndarray | None, device: torch.device
    ) -> None:
        self.source = source
        self.spec = spec
        self.longest = longest
        self.chosen = rows
        self.resident = False
        self.device = device

    @classmethod
    def of(cls, source: StoredRows, name: str = "X") -> StoredDataset:
        """Look through the rows once; missing and infinite values are refused."""
        low, high, integral, longest, n_stored = np.inf, -np.inf, True, 1, 0
        for block in source.blocks():
            if not np.isfinite(block.data).all():
                raise InvalidInputError(f"{name} has missing or infinite values; write it anew without them.")
            least, largest = value_range(block.data)
            low, high = min(low, least), max(high, largest)
            integral = integral and bool(np.all(block.data == np.floor(block.data)))
            longest = max(longest, int(np.diff(block.indptr).max(initial=0)))
            n_stored += block.nnz
        n_rows, n_columns = source.shape
        if n_stored < n_rows * n_columns:
            low, high = min(low, 0.0), max(high, 0.0)
        spec = DataSpec(
            n_columns=n_columns,
            n_rows=n_rows,
            sparse=True,
            minimum=low,
            maximum=high,
            integral=integral,
            binary=integral and low >= 0 and high <= 1,
        )
        return cls(source, spec, longest, None, torch.device("cpu"))

    def to(self, device: torch.device) -> StoredDataset:
        """Return these rows, with batches on ``device``."""
        return StoredDataset(self.source, self.spec, self.longest, self.chosen, device)

    def subset(self, rows: np.ndarray) -> StoredDataset:
        """Return the data set of some of the rows."""
        spec = with_rows(self.spec, len(rows))
        return StoredDataset(self.source, spec, self.longest, self._places(rows), self.device)

    def width(self, rows: np.ndarray) -> int:
        """Return the padded width that the longest of these rows needs."""
        return padded_width(self.source.lengths(self._places(rows)))

    def batch(self, index: Tensor, width: int = 0) -> Batch:
        """Return the rows at ``index``, padded to ``width`` with column 0 and value 0; 0 takes the width they need."""
        csr = self.source.rows(self._places(index.cpu().numpy()))
        lengths = np.diff(csr.indptr)
        shape = (len(index), width or padded_width(lengths))
        inside = np.arange(shape[1]) < lengths[:, None]
        columns, values = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.float32)
        columns[inside], values[inside] = csr.indices, csr.data
        indices, entries = (torch.from_numpy(array).to(self.device) for array in (columns, values))
        return Batch(Ragged(indices, entries, self.spec.n_columns), index)

    @property
    def _chunk(self) -> int:
        return max(1, min(_ROWS_AT_ONCE, CHUNK_ELEMENTS // self.longest))

    def _places(self, rows: np.ndarray) -> np.ndarray:
        return rows if self.chosen is None else self.chosen[rows]
