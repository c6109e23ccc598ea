"""Text and YAML values against type hints: what a flag or a config file says, as what a constructor takes."""

from __future__ import annotations

import collections.abc
import difflib
import types
import typing
from collections.abc import Iterable
from typing import Any

from fewhot.core.errors import InvalidParameterError

_WORDS = {int: "a whole number", float: "a number", str: "text", bool: "true or false", types.NoneType: "null"}
_REFUSED = object()


def converted(name: str, value: Any, hint: Any, *, text: str | None = None) -> Any:
    """Return ``value`` as ``hint`` wants it, or say what would do.

    Parameters
    ----------
    name
        What the sentence calls the value.
    value
        What YAML made of it.
    hint
        A type, a union of types, or a sequence of one.
    text
        What the user typed, for hints that take text.

    Examples
    --------
    >>> converted("learning_rate", "1e-3", float | None), converted("density", 1, float)
    (0.001, 1.0)
    >>> converted("recipe", 2019, str | None, text="2019")
    '2019'
    """
    options = _options(hint)
    for candidate in (value,) if text is None else (value, text):
        for option in options:
            taken = _taken(candidate, option)
            if taken is not _REFUSED:
                return taken
    words = list(dict.fromkeys(word for option in options if (word := _in_words(option))))
    accepted = " or ".join(words) or "nothing that can be written here"
    raise InvalidParameterError(f"{name} is {value!r}; it takes {accepted}.")


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the hint that belongs to a name typed wrong, with a space before it, or nothing."""
    near = difflib.get_close_matches(name, list(known), n=1)
    return f" Did you mean {near[0]!r}?" if near else ""


def _options(hint: Any) -> list[Any]:
    """Return the types of a union, text last, so that true and 3 are not taken as words."""
    union = typing.get_origin(hint) in (typing.Union, types.UnionType)
    options = list(typing.get_args(hint)) if union else [hint]
    return sorted(options, key=lambda option: option is str)


def _taken(value: Any, option: Any) -> Any:
    if option is Any:
        return value
    if option in (int, bool, str, types.NoneType):
        return value if type(value) is option else _REFUSED
    if option is float:
        return _as_float(value)
    if typing.get_origin(option) in (collections.abc.Sequence, list, tuple):
        return _as_tuple(value, option)
    return _REFUSED


def _as_float(value: Any) -> Any:
    """Take numbers; and text such as 1e-3, which YAML 1.1 does not read as a number."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return _REFUSED
    try:
        return float(value)
    except ValueError:
        return _REFUSED


def _as_tuple(value: Any, option: Any) -> Any:
    """Take a list, text with commas, or one item."""
    inner = next(iter(typing.get_args(option)), Any)
    if isinstance(value, str):
        pieces = [piece.strip() for piece in value.split(",") if piece.strip()]
        value = [int(piece) if piece.isdecimal() else piece for piece in pieces]
    items = list(value) if isinstance(value, list | tuple) else [value]
    taken = [_taken(item, inner) for item in items]
    return _REFUSED if any(item is _REFUSED for item in taken) or not taken else tuple(taken)


def _in_words(option: Any) -> str | None:
    if typing.get_origin(option) in (collections.abc.Sequence, list, tuple):
        inner = _WORDS.get(next(iter(typing.get_args(option)), None), "values")
        return f"a list of {inner.removeprefix('a ')}s"
    return _WORDS.get(option)
