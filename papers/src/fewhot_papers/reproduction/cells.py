"""Cell functions by name, and the identity of a cell."""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from fewhot.core.errors import DuplicateNameError, UnknownNameError
from fewhot_papers.reproduction.entry import Cell


@dataclass(frozen=True, slots=True)
class Measured:
    """What a cell function returns: numbers, and the few arrays that pictures need."""

    numbers: Mapping[str, float]
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)


Work = Callable[[Mapping[str, Any], Path | None], Measured]


@dataclass(frozen=True, slots=True)
class CellFunction:
    """A function of (settings, data folder), and the version of what it measures."""

    work: Work
    version: int


WITHOUT_TRAINING = ("hsvae_yahoo", "hsvae_dbpedia")
"""Corpora whose training texts were not released."""
CELLS: dict[str, CellFunction] = {}


def cell_function(kind: str, *, version: int) -> Callable[[Work], Work]:
    """Return a decorator that enters a cell function; raise ``version`` whenever its numbers change meaning or value.

    The version stands for the code in a cell's identity: a comment that changes throws no fits away.
    """

    def enter(work: Work) -> Work:
        if kind in CELLS:
            raise DuplicateNameError(f"The cell function name {kind!r} is taken; choose another name.")
        CELLS[kind] = CellFunction(work, version)
        return work

    return enter


def function_of(kind: str) -> CellFunction:
    """Return a cell function by name."""
    if kind not in CELLS:
        near = difflib.get_close_matches(kind, CELLS, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise UnknownNameError(f"No cell function is called {kind!r}.{hint} Known: {', '.join(sorted(CELLS))}.")
    return CELLS[kind]


def identity(cell: Cell, digest: str | None) -> dict[str, Any]:
    """Return all that a cell's result depends on, as JSON values."""
    return {
        "kind": cell.kind,
        "version": function_of(cell.kind).version,
        "settings": dict(cell.settings),
        "data": cell.data,
        "digest": digest,
    }


def key_of(known: Mapping[str, Any]) -> str:
    """Return the hash of a cell's identity, its name on disk.

    >>> key_of({"kind": "fit", "seed": 0}) == key_of({"seed": 0, "kind": "fit"})
    True
    """
    text = json.dumps(known, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


@lru_cache(maxsize=4)
def dataset(name: str, split: str, data_dir: Path | None) -> Any:
    """Return a dataset, kept in memory for the next cell."""
    from fewhot.data import load_dataset

    return load_dataset(name, split=split, data_dir=data_dir)


@lru_cache(maxsize=16)
def digest_of(name: str, data_dir: Path | None) -> str:
    """Return one digest of a dataset's training and test rows, or of those to be had."""
    first = "validation" if name in WITHOUT_TRAINING else "train"
    parts = [dataset(name, split, data_dir).digest for split in (first, "test")]
    return hashlib.sha256("/".join(parts).encode()).hexdigest()
