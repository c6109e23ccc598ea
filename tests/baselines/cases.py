"""Small histories whose right answer is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

import fewhot.baselines
from fewhot.baselines.base import Recommender
from fewhot.core.registry import BASELINES

SMALL: dict[str, dict[str, Any]] = {
    "Popularity": {},
    "EASE": {"regularisation": 2.0},
    "WMF": {"n_components": 3, "regularisation": 0.1, "random_state": 0},
}
"""Arguments with which a tiny fit is quick."""

OWN = [BASELINES[name] for name in fewhot.baselines.__all__ if name in BASELINES]
EVERY = [kind.__name__ for kind in OWN if isinstance(kind, type) and issubclass(kind, Recommender)]
PERSONAL = [name for name in EVERY if name != "Popularity"]


def recommender(name: str, **changes: Any) -> Any:
    """Return a recommender for small data."""
    return BASELINES[name](**(SMALL[name] | changes))


def histories(n_users: int = 40, n_items: int = 9, seed: int = 0) -> Any:
    """Return random histories of at least one item, some items popular."""
    rng = np.random.default_rng(seed)
    dense = rng.random((n_users, n_items)) < np.linspace(0.7, 0.2, n_items)
    dense[np.arange(n_users), rng.integers(n_items, size=n_users)] = True
    return sp.csr_array(dense.astype(np.float32))


def two_tastes(n_users: int = 30, n_items: int = 10) -> Any:
    """Return users of two kinds, who have most even or most odd items; each misses one item of their kind."""
    dense = np.zeros((n_users, n_items), dtype=np.float32)
    for user in range(n_users):
        dense[user, user % 2 :: 2] = 1
        dense[user, (user % 2 + 2 * (user // 2)) % n_items] = 0
    return sp.csr_array(dense)
