"""One seed in, separate random streams out: order, noise, dropout and evaluation never disturb each other."""

from __future__ import annotations

import hashlib
import numbers
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.overrides import TorchFunctionMode

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


class PrivateDraws(TorchFunctionMode):
    """Within this context of this thread, draws that name no generator come from one for a named purpose.

    Constructors of torch modules draw from torch's global generator, which all threads share; here they do not.
    """

    def __init__(self, seed: int, *names: object) -> None:
        super().__init__()
        self.generator = stream(seed, *names)

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Give the generator to whatever draws."""
        kwargs = dict(kwargs or {})
        if func in _DRAWS and kwargs.get("generator") is None:
            kwargs["generator"] = self.generator
        return func(*args, **kwargs)


_DRAWS = frozenset(
    [
        *(torch.rand, torch.randn, torch.randint, torch.randperm, torch.normal, torch.bernoulli, torch.multinomial),
        *(nn.init.uniform_, nn.init.normal_, nn.init.kaiming_uniform_),
        *(torch.Tensor.uniform_, torch.Tensor.normal_, torch.Tensor.random_, torch.Tensor.bernoulli_),
        *(torch.Tensor.exponential_, torch.Tensor.log_normal_, torch.Tensor.cauchy_, torch.Tensor.geometric_),
    ]
)

_global_generators = threading.RLock()


@contextmanager
def seeded(seed: int, *names: object) -> Generator[None, None, None]:
    """Seed torch's global generators for a named purpose, and give the caller's state back afterwards.

    For code that cannot be handed a generator, such as dropout in a user's module. One thread at a time.
    """
    with _global_generators:
        devices = range(torch.cuda.device_count() if torch.cuda.is_initialized() else 0)
        with torch.random.fork_rng(devices=devices):  # pyright: ignore[reportUnknownMemberType]
            torch.manual_seed(derive_seed(seed, *names))  # pyright: ignore[reportUnknownMemberType]
            yield
