"""Dropout of entries by a key a row: the same entries go whether rows come dense or sparse, in whatever width."""

from __future__ import annotations

import torch
from torch import Tensor

from fewhot.core.records import Dense, Ragged, Rows, as_numbers

_ODD = (0x9E3779B97F4A7C15 - 2**64, 0xBF58476D1CE4E5B9 - 2**64, 0x94D049BB133111EB - 2**64)
_BITS = 24


def thinned(x: Rows, keys: Tensor, share: float) -> Rows:
    """Return the rows with about this share of their entries at 0 and the others scaled up, so that sums keep.

    >>> rows, keys = Dense(torch.ones(2, 10_000)), torch.tensor([[1], [2]])
    >>> thinned(rows, keys, 0.5).x.mean().round(decimals=1).item()
    1.0
    """
    x = as_numbers(x)
    columns = x.indices if isinstance(x, Ragged) else torch.arange(x.n_columns, device=keys.device)
    kept = uniforms(keys, columns) >= share  # (B, M) or (B, D)
    values = x.values if isinstance(x, Ragged) else x.x
    values = torch.where(kept, values / (1 - share), 0.0)
    return x._replace(values=values) if isinstance(x, Ragged) else Dense(values)


def uniforms(keys: Tensor, columns: Tensor) -> Tensor:
    """Return a number in [0, 1) for each key (B, 1) and column, by the finaliser of SplitMix64."""
    mixed = keys + columns * _ODD[0]
    mixed = (mixed ^ _shifted(mixed, 30)) * _ODD[1]
    mixed = (mixed ^ _shifted(mixed, 27)) * _ODD[2]
    mixed = mixed ^ _shifted(mixed, 31)
    return _shifted(mixed, 64 - _BITS).float() / 2**_BITS


def _shifted(x: Tensor, n: int) -> Tensor:
    """Return x shifted right by n bits as if it had no sign."""
    return (x >> n) & ((1 << (64 - n)) - 1)
