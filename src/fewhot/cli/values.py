"""Text and YAML values against type hints: what a flag or a config file says, as what a constructor takes."""

from __future__ import annotations

import collections.abc
import dataclasses
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
        A type, a union of types, a sequence of one, a tuple with one for each place, or a record with one for each
        name.
    text
        What the user typed, for hints that take text.

    Examples
    --------
    >>> converted("learning_rate", "1e-3", float | None), converted("density", 1, float)
    (0.001, 1.0)
    >>> converted("recipe", 2019, str | None, text="2019")
    '2019'
    """
    for candidate in (value,) if text is None else (value, text):
        taken = _taken_by_any(candidate, hint)
        if taken is not _REFUSED:
            return taken
    accepted = _all_in_words(hint) or "nothing that can be written here"
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


def _taken_by_any(value: Any, hint: Any) -> Any:
    results = (_taken(value, option) for option in _options(hint))
    return next((result for result in results if result is not _REFUSED), _REFUSED)


def _taken(value: Any, option: Any) -> Any:
    if option is Any:
        return value
    if option in (int, bool, str, types.NoneType):
        return value if type(value) is option else _REFUSED
    if option is float:
        return _as_float(value)
    if typing.get_origin(option) in (collections.abc.Sequence, list, tuple):
        return _as_tuple(value, option)
    return _as_record(value, option) if dataclasses.is_dataclass(option) else _REFUSED


def _as_record(value: Any, option: Any) -> Any:
    """Take a mapping of the record's names."""
    hints = typing.get_type_hints(option)
    if not isinstance(value, dict) or not set(value) <= set(hints):
        return _REFUSED
    taken = {name: _taken_by_any(item, hints[name]) for name, item in value.items()}
    return _REFUSED if any(item is _REFUSED for item in taken.values()) else option(**taken)


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
    if isinstance(value, str):
        value = [_piece(piece.strip()) for piece in value.split(",") if piece.strip()]
    items = list(value) if isinstance(value, list | tuple) else [value]
    places = _places(option) or typing.get_args(option)[:1] * len(items)
    if not items or len(places) != len(items):
        return _REFUSED
    taken = [_taken_by_any(item, place) for item, place in zip(items, places, strict=True)]
    return _REFUSED if any(item is _REFUSED for item in taken) else tuple(taken)


def _piece(text: str) -> Any:
    """Return one of the values that text with commas holds."""
    if text == "null":
        return None
    return int(text) if text.isdecimal() else text


def _places(option: Any) -> tuple[Any, ...]:
    """Return the hint of each place of a tuple whose length is fixed; nothing for sequences of any length."""
    hints = typing.get_args(option)
    return hints if typing.get_origin(option) is tuple and Ellipsis not in hints else ()


def _all_in_words(hint: Any) -> str:
    return " or ".join(dict.fromkeys(word for option in _options(hint) if (word := _in_words(option))))


def _in_words(option: Any) -> str | None:
    if places := _places(option):
        return f"a list of {len(places)} ({', '.join(map(_all_in_words, places))})"
    if typing.get_origin(option) in (collections.abc.Sequence, list, tuple):
        inner = _WORDS.get(next(iter(typing.get_args(option)), None), "values")
        return f"a list of {inner.removeprefix('a ')}s"
    if dataclasses.is_dataclass(option):
        return f"a mapping of {', '.join(field.name for field in dataclasses.fields(option))}"
    return _WORDS.get(option)
