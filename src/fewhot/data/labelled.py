"""Rows with labels beside them."""

from __future__ import annotations

from typing import Self

import numpy as np
import torch
from torch import Tensor

from fewhot.core.records import Batch
from fewhot.data.dataset import Dataset


class LabelledDataset(Dataset):
    """A data set whose batches carry labels, (n, K) numbers kept on its device.

    Parameters
    ----------
    rows
        The rows.
    labels
        As many rows of labels, float32.
    """

    def __init__(self, rows: Dataset, labels: Tensor) -> None:
        self.rows = rows
        self.labels = labels.to(rows.device)
        self.spec = rows.spec
        self.device = rows.device
        self.resident = rows.resident

    def to(self, device: torch.device) -> Self:
        """Return these rows and labels on ``device``."""
        return type(self)(self.rows.to(device), self.labels)

    def subset(self, rows: np.ndarray) -> Self:
        """Return some of the rows with their labels."""
        return type(self)(self.rows.subset(rows), self.labels[torch.from_numpy(rows).to(self.device)])

    def batch(self, index: Tensor, width: int = 0) -> Batch:
        """Return the rows at ``index`` with their labels."""
        return self.rows.batch(index, width)._replace(y=self.labels.index_select(0, index))

    def width(self, rows: np.ndarray) -> int:
        """Return the padded width these rows need."""
        return self.rows.width(rows)
