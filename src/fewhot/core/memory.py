"""Memory that does not suffice, in one sentence."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import torch

from fewhot.core.errors import NotEnoughMemoryError

_MARKS = ("allocate memory", "out of memory", "size calculation overflowed", "multiplication overflow")
"""What torch says of sizes that no machine has."""


@contextmanager
def within_memory(remedy: str) -> Generator[None, None, None]:
    """Run a block, or a function; where memory does not suffice, say so, and what to do."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        known = isinstance(error, MemoryError | torch.OutOfMemoryError)
        if not known and not any(mark in str(error) for mark in _MARKS):
            raise
        raise NotEnoughMemoryError(f"Memory does not suffice; {remedy}.") from error
