"""Rows as a model observes them, in batches, as arrays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from fewhot.core.records import END, Ragged, Rows, Tokens
from fewhot.metrics.libraries import library


def observed(module: Any, data: Any, size: int = 512) -> Iterator[Any]:
    """Yield the rows of a data set as the likelihood scores them, (b, p): dense, or CSR where they are stored so.

    Rows that are binarized at random are yielded before that, as the probabilities of a 1. Of texts these are the
    counts of words, the end of a text included.
    """
    for batch in data.batches(size):
        rows = batch.x if isinstance(batch.x, Tokens) else module.observation(batch.x)
        yield as_array(rows)


def as_array(rows: Rows) -> Any:
    """Return rows as an array, or as CSR where they are ragged or texts."""
    if isinstance(rows, Tokens):
        n, p = rows.n_rows, rows.n_columns
        ends = library("scipy.sparse").csr_array((np.ones(n), (np.arange(n), np.full(n, END))), shape=(n, p))
        return _csr(rows.counts()) + ends
    return _csr(rows) if isinstance(rows, Ragged) else rows.x.cpu().numpy()


def _csr(rows: Ragged) -> Any:
    values = rows.values.cpu().numpy().astype(np.float64)
    entry = np.nonzero(values)
    columns = rows.indices.cpu().numpy()[entry]
    return library("scipy.sparse").csr_array((values[entry], (entry[0], columns)), shape=(len(values), rows.n_columns))
