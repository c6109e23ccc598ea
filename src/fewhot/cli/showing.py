"""Numbers of a model as a table with explained columns, and as JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fewhot.cli.console import note, say_table
from fewhot.cli.exits import in_flags

if TYPE_CHECKING:
    from fewhot.metrics import Alarm, Number, Summary, TopWords

_UNITS, _WORDS = 12, 10


FIRST = (
    *("bound", "reference_columns", "reference_factors", "fvu", "fvu_pca", "perplexity", "perplexity_columns"),
    *("ndcg", "ndcg_popularity", "active", "used", "active_units", "empty_rows"),
    *("probe_map", "marginal_probe_map", "probe_majority", "probe_columns"),
)
"""What a first look at a fit needs."""


def show_numbers(summary: Summary, alarms: Sequence[Alarm], title: str, *, only: Sequence[str] | None = None) -> None:
    """Print the numbers with what each means, then what to worry about; ``only`` names those to print."""
    chosen = [number for number in summary.numbers if only is None or number.name in only]
    rows = [[number.name, shown(number), number.unit, number.meaning, number.verdict] for number in chosen]
    say_table(["number", "value ± error", "unit", "what it means", "verdict"], rows, title=title)
    for alarm in alarms:
        note(told(alarm))


def show_words(top: TopWords, things: str) -> None:
    """Print the words of the first units that have some; ``things`` is what they are, such as "items"."""
    said = [(f"unit {unit}", words) for unit, words in zip(top.units.tolist(), top.in_words(), strict=True) if words]
    separator = " " if things == "words" else ", "
    rows = [
        [unit if not at else "", name if len(words) > 1 else "", separator.join(side[:_WORDS])]
        for unit, words in said[:_UNITS]
        for at, (name, side) in enumerate(words.items())
    ]
    first = f"The first {_UNITS} of {len(said)} units with {things}" if len(said) > _UNITS else f"Units with {things}"
    say_table(["unit", "", things], rows, title=f"{first}, of the rows of the fit in which each is largest")


def told(alarm: Alarm) -> str:
    """Return an alarm in one line."""
    return f"{alarm.severity}: {in_flags(alarm.sentence)}"


def as_json(summary: Summary, alarms: Sequence[Alarm]) -> dict[str, Any]:
    """Return numbers and alarms for a program."""
    told = [{"name": alarm.name, "severity": alarm.severity, "sentence": alarm.sentence} for alarm in alarms]
    return {**summary.to_dict(), "alarms": told}


def shown(number: Number) -> str:
    """Return a value with its error."""
    if not math.isfinite(number.value):
        return "not defined"
    error = f" ± {number.se:.2g}" if number.se else ""
    return f"{number.value:,.4g}{error}"
