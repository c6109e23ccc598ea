"""Batches of rows of similar length, so that little of them is padding."""

from __future__ import annotations

import numpy as np
import torch

from fewhot.data.order import Order

BATCHES_A_BLOCK = 64
"""How many batches are sorted together: more bring less padding, and fewer mix the rows better."""


class LengthOrder(Order):
    """An order whose batches hold rows of similar length, in a random sequence of batches.

    Of the rows of an epoch, shuffled, those of 64 batches at a time are sorted by length and cut into batches, and then
    the batches of the epoch are shuffled. As in every `Order`, each row comes once an epoch, every batch is full,
    and the step alone decides. The one batch that spans two epochs has rows of any length. Processes of a group share
    out the same sorted rows, so that their batches of a step are alike in length.

    Parameters
    ----------
    lengths
        The length of every row, (n,).
    batch_size, seed, device, rank, world
        As for `Order`.
    """

    def __init__(
        self, lengths: np.ndarray, batch_size: int, seed: int, device: torch.device, *, rank: int = 0, world: int = 1
    ) -> None:
        super().__init__(len(lengths), batch_size, seed, device, rank=rank, world=world)
        self._lengths = lengths

    def _arranged(self, rows: np.ndarray, epoch: int, rng: np.random.Generator) -> np.ndarray:
        """Sort whole batches; what belongs to batches begun before or ended after this epoch stays as it is."""
        size = self.batch_size * self.world
        begin = -epoch * self.n_rows % self.batch_size * self.world
        n_batches = (len(rows) - begin) // size
        whole = slice(begin, begin + n_batches * size)
        batches = self._sorted(rows[whole], BATCHES_A_BLOCK * size).reshape(n_batches, size)
        return np.concatenate([rows[:begin], batches[rng.permutation(n_batches)].ravel(), rows[whole.stop :]])

    def _sorted(self, rows: np.ndarray, block: int) -> np.ndarray:
        blocks = np.arange(len(rows)) // block
        return rows[np.lexsort((self._lengths[rows], blocks))]
