"""A fitted model in numbers: what each means, and whether it is good."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from fewhot.metrics.summary_page import lines, page


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """One measured number.

    Attributes
    ----------
    name
        Its key.
    value
        The number.
    se
        Standard error over rows; None where it has none.
    unit
        What it counts, such as "nats a row".
    meaning
        Half a sentence.
    verdict
        "good", "fair", "poor", or "" where nothing can be said without a comparison.
    why
        What was judged, and by which thresholds.
    """

    name: str
    value: float
    se: float | None = None
    unit: str = ""
    meaning: str = ""
    verdict: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Summary:
    """What `summarise` found.

    Attributes
    ----------
    numbers
        In the order in which a person would read them.
    facts
        What the numbers are about: estimator, rows, units, what was asked for, the likelihood.
    """

    numbers: list[Number]
    facts: dict[str, Any] = field(default_factory=dict[str, Any])

    def __repr__(self) -> str:
        return lines(self)

    def _repr_html_(self) -> str:
        return page(self)

    def get(self, name: str) -> Number | None:
        """Return the number of that name, or None."""
        return next((number for number in self.numbers if number.name == name), None)

    def value(self, name: str) -> float:
        """Return the value of that name; NaN where it was not measured."""
        number = self.get(name)
        return float("nan") if number is None else number.value

    def verdict(self, name: str) -> str:
        """Return the verdict on that number; "" where it was not measured."""
        number = self.get(name)
        return "" if number is None else number.verdict

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able mapping; numbers that are not finite become None."""
        return {
            "facts": dict(self.facts),
            "numbers": [{key: _plain(value) for key, value in asdict(number).items()} for number in self.numbers],
        }

    @classmethod
    def from_dict(cls, mapping: Mapping[str, Any]) -> Summary:
        """Return the summary that `to_dict` wrote."""
        entries: list[dict[str, Any]] = mapping["numbers"]
        nan: Any = float("nan")
        numbers = [Number(**{**entry, "value": nan if entry["value"] is None else entry["value"]}) for entry in entries]
        return cls(numbers=numbers, facts=dict(mapping["facts"]))


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
