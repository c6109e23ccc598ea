"""The order in which rows are visited: a pure function of the seed and the step."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from fewhot.core.seeding import derive_seed


class Order:
    """An endless chain of permutations, cut into batches of one size.

    Every row is visited once an epoch and every batch is full: one that meets the end of an epoch goes on into the
    next. Nothing is remembered, so resuming needs the step alone. Processes of a group see disjoint rows.
    """

    def __init__(
        self, n_rows: int, batch_size: int, seed: int, device: torch.device, *, rank: int = 0, world: int = 1
    ) -> None:
        self.n_rows = n_rows // world
        self.batch_size = min(batch_size, self.n_rows)
        self.rank = rank
        self.world = world
        self._seed = seed
        self._device = device
        self._total = n_rows
        self._epoch = -1
        self._host = np.empty(0, dtype=np.int64)
        self._index = torch.empty(0, dtype=torch.int64)

    @property
    def steps_per_epoch(self) -> int:
        """How many batches visit every row at least once."""
        return -(-self.n_rows // self.batch_size)

    def __call__(self, step: int) -> tuple[np.ndarray, Tensor]:
        """Return the rows of batch ``step``, on the host and on the device."""
        epoch, start = divmod(step * self.batch_size, self.n_rows)
        if epoch != self._epoch:
            self._epoch = epoch
            self._host = np.concatenate([self._permutation(epoch), self._permutation(epoch + 1)])
            self._index = torch.from_numpy(self._host).to(self._device)
        cut = slice(start, start + self.batch_size)
        return self._host[cut], self._index[cut]

    def _permutation(self, epoch: int) -> np.ndarray:
        rng = np.random.Generator(np.random.PCG64(derive_seed(self._seed, "order", epoch)))
        rows = rng.permutation(self._total)[: self.n_rows * self.world]
        return self._arranged(rows, epoch, rng)[self.rank :: self.world]

    def _arranged(self, rows: np.ndarray, epoch: int, rng: np.random.Generator) -> np.ndarray:
        """Return the shuffled rows of an epoch, of all processes, in the order of their visits."""
        return rows
