"""Warnings that point at the line of the person who called."""

from __future__ import annotations

import inspect
import warnings

_INSIDE = ("fewhot", "torch", "sklearn", "contextlib")


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn at the first line outside this package and the ones that call it."""
    depth, frame = 1, inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _INSIDE:
        depth, frame = depth + 1, frame.f_back
    warnings.warn(message, category, stacklevel=depth)
