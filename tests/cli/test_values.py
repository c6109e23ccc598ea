"""What is typed, as what a constructor takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from fewhot.cli.values import converted, nearest
from fewhot.core.errors import InvalidParameterError
from fewhot.models import AgainstCollapse

GUARDED = "a mapping of warm_up, free_bits, word_dropout, encoder_steps, encoder_share"


@pytest.mark.parametrize(
    ("value", "hint", "taken"),
    [
        (3, int, 3),
        (3, float, 3.0),
        ("1e-3", float | None, 1e-3),
        (None, float | None, None),
        (True, str | bool, True),
        ("graph", str | bool, "graph"),
        ([400, 200], Sequence[int] | None, (400, 200)),
        ("400, 200", Sequence[int] | None, (400, 200)),
        (400, Sequence[int] | None, (400,)),
        ([2, None], tuple[int, int | None] | None, (2, None)),
        ([2, 5], tuple[int, int | None] | None, (2, 5)),
        ("2, null", tuple[int, int | None] | None, (2, None)),
        ([1, 2, 3], tuple[int, ...], (1, 2, 3)),
        ({"any": 1}, Any, {"any": 1}),
        ({"free_bits": 2, "encoder_steps": 1}, AgainstCollapse | None, AgainstCollapse(free_bits=2, encoder_steps=1)),
        (None, AgainstCollapse | None, None),
    ],
)
def test_a_value_that_fits_is_taken(value: Any, hint: Any, taken: Any) -> None:
    result = converted("x", value, hint)
    assert result == taken
    assert type(result) is type(taken)


@pytest.mark.parametrize(
    ("value", "hint", "accepted"),
    [
        ("many", int, "a whole number"),
        (2.5, int, "a whole number"),
        (True, int, "a whole number"),
        (True, float, "a number"),
        ("x", float | None, "a number or null"),
        ("yes", bool, "true or false"),
        (3, str, "text"),
        (["a"], Sequence[int] | None, "a list of whole numbers or null"),
        ([], Sequence[int], "a list of whole numbers"),
        ([2], tuple[int, int | None], "a list of 2 (a whole number, a whole number or null)"),
        ([None, 2], tuple[int, int | None] | None, "a list of 2 (a whole number, a whole number or null) or null"),
        ({}, str | int, "a whole number or text"),
        ({"free_bits": "many"}, AgainstCollapse, GUARDED),
        ({"free_bytes": 2}, AgainstCollapse, GUARDED),
        (0.5, AgainstCollapse | None, f"{GUARDED} or null"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_in_one_sentence(value: Any, hint: Any, accepted: str) -> None:
    with pytest.raises(InvalidParameterError) as caught:
        converted("x", value, hint)
    assert str(caught.value) == f"x is {value!r}; it takes {accepted}."


def test_digits_typed_where_text_is_meant_stay_text() -> None:
    assert converted("recipe", 2019, str | None, text="2019") == "2019"


def test_the_nearest_name_is_offered() -> None:
    assert nearest("densty", ["density", "l0"]) == " Did you mean 'density'?"
    assert nearest("xyz", ["density", "l0"]) == ""
