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
        if not is_of_memory(error):
            raise
        raise NotEnoughMemoryError(f"Memory does not suffice; {remedy}.") from error


def is_of_memory(error: BaseException) -> bool:
    """Say whether an error is about memory that does not suffice: torch raises plain ones for it, too."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and any(mark in str(error) for mark in _MARKS)
