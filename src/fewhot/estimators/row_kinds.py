"""What rows of non-negative numbers are: likes, or counts."""

from __future__ import annotations

import numpy as np
import torch

from fewhot.core.records import Ragged, as_numbers
from fewhot.data import Dataset

LIKES, COUNTS = "likes", "counts"
_ROWS = 2_000
"""How many rows are looked at, evenly spaced."""
_FEW = 0.5
"""Graded values are likes where at most this share of the entries is above 0: users have few of many items."""

_FALL = 1.5
"""How many times as frequent as any other number 1 is among counts; of words of 20 Newsgroups, five."""


def kind_of_rows(data: Dataset) -> tuple[str, float]:
    """Return "likes" or "counts" and the mean of the values above 0, by up to 2,000 rows.

    Values that are all alike above 0, such as yes/no, are likes. So are graded ones, such as stars or other weights,
    in few of many columns. Whole numbers are counts where the smallest, 1, is by far the most frequent: how often a
    word occurs in a document falls off from 1 on, whereas few give a single star. Everything else is taken for counts,
    and so are texts and rows with negative numbers.
    """
    if data.spec.kind == "text" or data.spec.minimum < 0:
        return COUNTS, 1.0
    values, n_entries = _positive_values(data)
    if not len(values):
        return COUNTS, 1.0
    return LIKES if _are_likes(values, n_entries) else COUNTS, float(values.mean(dtype=np.float64))


def _are_likes(values: np.ndarray, n_entries: int) -> bool:
    different, times = np.unique(values, return_counts=True)
    if len(different) == 1:
        return True
    fall_off = different[0] == 1 and times[0] >= _FALL * times[1:].max() and bool((values == np.floor(values)).all())
    return not fall_off and len(values) <= _FEW * n_entries


def _positive_values(data: Dataset) -> tuple[np.ndarray, int]:
    """Return the values above 0 of some rows, and how many entries these rows have."""
    rows = np.unique(np.linspace(0, data.n_rows - 1, min(_ROWS, data.n_rows)).astype(np.int64))
    index = torch.from_numpy(rows).to(data.device)
    x = as_numbers(data.batch(index, data.width(rows)).x)
    values = (x.values if isinstance(x, Ragged) else x.x).cpu().numpy().ravel()
    return values[values > 0], len(rows) * data.spec.n_columns
