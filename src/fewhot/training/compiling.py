"""Compiling a function for one fit: what earlier fits compiled, and how busy the device is, change nothing."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any, ParamSpec, TypeVar

import torch

P = ParamSpec("P")
R = TypeVar("R")
Backend = Callable[..., Callable[..., Any]]

_MOST_SHAPES = 10_000
"""Shapes a function may be compiled for; torch gives up after 8, as if something had gone wrong."""


def compiled(function: Callable[P, R], *, backend: str | Backend = "inductor", **options: Any) -> Callable[P, R]:
    """Return the function compiled for static shapes; ``options`` are those of `torch.compile`.

    torch keeps what it compiles with a function's code, which all fits share, and stops compiling it after a few: the
    copy has code of its own. The compiler chooses among kernels that round differently by timing them, so that a fit
    would hang on what else the device does: it is told not to.
    """
    settings: dict[str, Any] = {"options": {"deterministic": True}} if backend == "inductor" else {}
    quick = torch.compile(_with_own_code(function), dynamic=False, backend=backend, **settings, **options)

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        limits = {"recompile_limit": _MOST_SHAPES, "accumulated_recompile_limit": _MOST_SHAPES}
        with torch.compiler.config.patch(limits):  # pyright: ignore[reportAttributeAccessIssue]
            return quick(*args, **kwargs)

    return call


def _with_own_code(function: Callable[P, R]) -> Callable[P, R]:
    assert isinstance(function, FunctionType)
    code, name = function.__code__.replace(), function.__name__
    copied = FunctionType(code, function.__globals__, name, function.__defaults__, function.__closure__)
    copied.__kwdefaults__ = function.__kwdefaults__
    return copied
