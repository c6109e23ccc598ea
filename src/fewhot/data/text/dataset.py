"""Texts as ids in one container (ids, offsets), cut into batches of a few lengths."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from fewhot.core.records import END, PADDING, Batch, DataSpec, Tokens
from fewhot.data.dataset import CHUNK_ELEMENTS, Dataset, with_rows
from fewhot.data.length_order import LengthOrder
from fewhot.data.ragged import entries_of
from fewhot.data.text.vocabulary import Vocabulary

WIDTHS = (*range(8, 32, 4), *range(32, 64, 8), *range(64, 128, 16), *range(128, 257, 32))
"""The lengths that texts are padded to; beyond the last they are powers of two."""

_TEXTS_AT_ONCE = 256


class Pieces(NamedTuple):
    """Lists of ids, one after the other: where each begins, and where the last one ends."""

    ids: Tensor  # (n_tokens,) int32
    offsets: Tensor  # (n + 1,) int64

    def to(self, device: torch.device) -> Pieces:
        """Return them on ``device``."""
        return Pieces(self.ids.to(device), self.offsets.to(device))

    def at(self, rows: np.ndarray) -> Pieces:
        """Return some of the lists."""
        take, offsets = entries_of(self.offsets.cpu().numpy(), rows)
        device = self.ids.device
        return Pieces(self.ids[torch.from_numpy(take).to(device)], torch.from_numpy(offsets).to(device))

    def padded(self, index: Tensor, width: int) -> Tensor:
        """Return the lists at ``index`` with zeros behind them, (B, width), int64."""
        start = self.offsets[index]
        place = torch.arange(width, device=self.ids.device)
        inside = place < (self.offsets[index + 1] - start)[:, None]  # (B, T)
        found = self.ids[torch.where(inside, start[:, None] + place, 0)]
        return torch.where(inside, found.long(), PADDING)


class TextDataset(Dataset):
    """Texts as the ids of their words, every one with its end; a batch is padded to one of a few lengths.

    As rows of numbers, texts are the counts of their words: so ``spec`` and ``moments`` describe them.

    Parameters
    ----------
    ids
        The ids of all texts, one text after the other.
    offsets
        Where each text begins, and where the last one ends.
    vocabulary
        What the ids stand for.
    spec
        What the texts are like.
    pieces
        The same texts as a pretrained encoder cuts them, where there is one.
    """

    def __init__(
        self, ids: Tensor, offsets: Tensor, vocabulary: Vocabulary, spec: DataSpec, pieces: Pieces | None = None
    ) -> None:
        self.ids = ids  # (n_tokens,) int32
        self.offsets = offsets  # (n + 1,) int64
        self.vocabulary = vocabulary
        self.spec = spec
        self.resident = True
        self.device = ids.device
        self.pieces = pieces
        self.lengths = np.diff(offsets.cpu().numpy())
        in_pieces = np.zeros(1, np.int64) if pieces is None else np.diff(pieces.offsets.cpu().numpy())
        self._padded_from = np.maximum(self.lengths, in_pieces)
        self._most_pieces = int(in_pieces.max(initial=1))  # a transformer reads no more, however many words there are

    @classmethod
    def of(cls, texts: Iterable[Iterable[str]], vocabulary: Vocabulary) -> TextDataset:
        """Build from texts that are lists of words."""
        ids, offsets = array("i"), array("q", [0])
        for words in texts:
            ids.extend(vocabulary.ids(words).tolist())
            offsets.append(len(ids))
        return cls.of_ids(np.frombuffer(ids, np.int32), np.frombuffer(offsets, np.int64), vocabulary)

    @classmethod
    def of_ids(cls, ids: np.ndarray, offsets: np.ndarray, vocabulary: Vocabulary) -> TextDataset:
        """Build from ids and offsets, which are copied."""
        most = _largest_count(ids, offsets)
        spec = DataSpec(
            n_columns=len(vocabulary),
            n_rows=len(offsets) - 1,
            sparse=True,
            minimum=0.0,
            maximum=float(most),
            integral=True,
            binary=most <= 1,
            kind="text",
        )
        ids_, offsets_ = (torch.from_numpy(part.astype(dtype)) for part, dtype in ((ids, "i4"), (offsets, "i8")))
        return cls(ids_, offsets_, vocabulary, spec)

    def with_pieces(self, pieces: Iterable[Sequence[int]]) -> TextDataset:
        """Return these texts beside the ids that a pretrained encoder has for them, a list a text."""
        ids, offsets = array("i"), array("q", [0])
        for of_text in pieces:
            ids.extend(piece + 1 for piece in of_text)
            offsets.append(len(ids))
        found = Pieces(torch.from_numpy(np.array(ids, "i4")), torch.from_numpy(np.array(offsets, "i8")))
        return TextDataset(self.ids, self.offsets, self.vocabulary, self.spec, found.to(self.device))

    def to(self, device: torch.device) -> TextDataset:
        """Return these texts on ``device``."""
        pieces = None if self.pieces is None else self.pieces.to(device)
        return TextDataset(self.ids.to(device), self.offsets.to(device), self.vocabulary, self.spec, pieces)

    def subset(self, rows: np.ndarray) -> TextDataset:
        """Return the data set of some of the texts."""
        ids, offsets = Pieces(self.ids, self.offsets).at(rows)
        pieces = None if self.pieces is None else self.pieces.at(rows)
        return TextDataset(ids, offsets, self.vocabulary, with_rows(self.spec, len(rows)), pieces)

    def width(self, rows: np.ndarray) -> int:
        """Return the smallest of the lengths that holds the longest of these texts."""
        return text_width(int(self._padded_from[rows].max(initial=1)))

    def order(self, batch_size: int, seed: int) -> LengthOrder:
        """Return an order whose batches hold texts of similar length."""
        return LengthOrder(self._padded_from, batch_size, seed, self.device)

    def batch(self, index: Tensor, width: int = 0) -> Batch:
        """Return the texts at ``index``, padded to ``width`` ids; 0 takes the width they need."""
        width = width or self.width(index.cpu().numpy())
        ids = Pieces(self.ids, self.offsets).padded(index, width)
        pieces = None if self.pieces is None else self.pieces.padded(index, min(width, self._most_pieces))
        return Batch(Tokens(ids, self.spec.n_columns, pieces), index)

    def __len__(self) -> int:
        return self.n_rows

    def words(self, row: int) -> list[str]:
        """Return the words of one text, as far as the vocabulary has them."""
        return self.vocabulary.words(self.ids[self.offsets[row] : self.offsets[row + 1]].tolist())

    @property
    def _chunk(self) -> int:
        return max(1, min(4096, CHUNK_ELEMENTS // self.width(np.arange(self.n_rows))))


def text_width(longest: int) -> int:
    """Return the length that texts of at most ``longest`` ids are padded to.

    >>> [text_width(longest) for longest in (1, 8, 9, 33, 65, 129, 257)]
    [8, 8, 12, 40, 80, 160, 512]
    """
    return next((width for width in WIDTHS if width >= longest), 1 << (longest - 1).bit_length())


def _largest_count(ids: np.ndarray, offsets: np.ndarray) -> int:
    """Return how often a text has one word at most; ends do not count."""
    largest, n_rows = 0, len(offsets) - 1
    for start in range(0, n_rows, _TEXTS_AT_ONCE):
        stop = min(start + _TEXTS_AT_ONCE, n_rows)
        inside = ids[offsets[start] : offsets[stop]].astype(np.int64)
        row = np.repeat(np.arange(stop - start), np.diff(offsets[start : stop + 1]))
        pairs = (row << 32 | inside)[inside > END]
        largest = max(largest, int(np.unique(pairs, return_counts=True)[1].max(initial=0)))
    return largest
