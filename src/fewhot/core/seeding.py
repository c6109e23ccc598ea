"""One seed in, separate random streams out: order, noise, dropout and evaluation never disturb each other."""

from __future__ import annotations

import hashlib
import numbers
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from fewhot.core.errors import InvalidParameterError


def derive_seed(seed: int, *names: object) -> int:
    """Return a 63-bit seed for a named purpose; different names give unrelated streams."""
    text = "/".join(str(name) for name in (seed, *names))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little") >> 1


def resolve_seed(random_state: Any) -> int:
    """Turn scikit-learn's ``random_state`` (None, int, Generator or RandomState) into one recorded integer."""
    if random_state is None:
        return int(np.random.default_rng().integers(2**31))
    if not isinstance(random_state, bool) and isinstance(random_state, numbers.Integral) and int(random_state) >= 0:
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    raise InvalidParameterError(
        f"random_state is {random_state!r}; it must be None, a non-negative integer or a numpy random generator."
    )


def stream(seed: int, *names: object, device: torch.device | str = "cpu") -> torch.Generator:
    """Return a generator of its own for a named purpose."""
    generator = torch.Generator(device=device)
    generator.manual_seed(derive_seed(seed, *names))
    return generator


@contextmanager
def seeded(seed: int, *names: object) -> Generator[None, None, None]:
    """Seed torch's global generators for a named purpose, and give the caller's state back afterwards."""
    devices = range(torch.cuda.device_count() if torch.cuda.is_initialized() else 0)
    with torch.random.fork_rng(devices=devices):  # pyright: ignore[reportUnknownMemberType]
        torch.manual_seed(derive_seed(seed, *names))  # pyright: ignore[reportUnknownMemberType]
        yield
