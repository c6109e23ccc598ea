"""Checks of constructor arguments: one sentence each, naming the argument, what was given and what is accepted."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np

from fewhot.core.errors import InvalidParameterError

LARGEST = 2**53
LARGEST_WEIGHT = 1e18
"""Beyond this, float32 cannot hold the sum of the squares of a few hundred gradients."""


def whole_number(name: str, value: Any, *, least: int = 1) -> int:
    """Return ``value`` as an int of at least ``least``, and not beyond what a machine counts."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or int(value) < least:
        raise InvalidParameterError(f"{name} is {value!r}; it must be a whole number of at least {least}.")
    if int(value) > LARGEST:
        raise InvalidParameterError(f"{name} is {value!r}; it must be at most {LARGEST}.")
    return int(value)


def real_number(
    name: str, value: Any, *, low: float, high: float = math.inf, open_low: bool = False, infinite: bool = False
) -> float:
    """Return ``value`` as a float between ``low`` and ``high``; infinity only where ``infinite`` says so."""
    right_type = not isinstance(value, bool) and isinstance(value, numbers.Real)
    endless = right_type and math.isinf(value) and not infinite
    if not right_type or endless or not (low <= float(value) <= high) or (open_low and float(value) == low):
        kind = "finite number" if endless and high == math.inf else "number"
        edge = "above" if open_low else "at least"
        ceiling = "" if high == math.inf else f" and at most {high:g}"
        raise InvalidParameterError(f"{name} is {value!r}; it must be a {kind} {edge} {low:g}{ceiling}.")
    return float(value)


def weight(name: str, value: Any) -> float:
    """Return ``value`` as the weight of a term of an objective: from 0 to what leaves its gradients finite."""
    return real_number(name, value, low=0, high=LARGEST_WEIGHT)


def truth(name: str, value: Any) -> bool:
    """Return ``value`` if it is a Python or numpy boolean."""
    if not isinstance(value, bool | np.bool_):
        raise InvalidParameterError(f"{name} is {value!r}; it must be True or False.")
    return bool(value)  # pyright: ignore[reportUnknownArgumentType]


def one_of(name: str, value: Any, choices: Sequence[Any]) -> Any:
    """Return ``value`` if it is among ``choices``."""
    if not any(value is choice or (isinstance(value, type(choice)) and value == choice) for choice in choices):
        raise InvalidParameterError(f"{name} is {value!r}; it must be one of {', '.join(map(repr, choices))}.")
    return value


def one_each(name: str, values: Any, n: int, of: str) -> list[Any]:
    """Return ``values`` as a list of ``n``, one for each of what ``of`` names; a text is no list of its letters."""
    if isinstance(values, str | bytes | dict) or not hasattr(values, "__getitem__"):
        given = type(values).__name__  # pyright: ignore[reportUnknownArgumentType]
        raise InvalidParameterError(f"{name} is of type {given}; give a list of {n}, one for each of the {of}.")
    if getattr(values, "ndim", 1) != 1:
        raise InvalidParameterError(f"{name} has shape {tuple(values.shape)} for {n} {of}; give one each, ({n},).")
    if len(values) != n:
        raise InvalidParameterError(f"{name} holds {len(values)} entries for {n} {of}; give one each.")
    return list(values)
