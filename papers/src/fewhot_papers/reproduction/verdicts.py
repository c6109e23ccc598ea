"""From the checks of an entry to its verdict: by rule, never by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from fewhot_papers.reproduction.entry import Entry, Reading
from fewhot_papers.reproduction.measurements import Measurements

REPRODUCED = "reproduced"
CHANGED = "reproduced with a stated change"
NOT_REPRODUCED = "not reproduced"
NOT_RUNNABLE = "not runnable"
UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Progressed:
    """How many of an entry's cells are computed, failed and not yet tried, with the errors of those that failed."""

    total: int
    done: int
    errors: Sequence[str] = ()

    @property
    def complete(self) -> bool:
        """Whether every cell is computed."""
        return self.done == self.total


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict, why, and the readings behind it."""

    verdict: str
    why: str
    readings: Sequence[Reading] = field(default_factory=tuple)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        return {
            "verdict": self.verdict,
            "why": self.why,
            "readings": [
                {
                    "change": reading.change,
                    "holds": reading.holds,
                    "checks": [
                        {"statement": c.statement, "holds": bool(c.holds), "numbers": c.numbers} for c in reading.checks
                    ],
                }
                for reading in self.readings
            ],
        }


def decide(entry: Entry, measured: Measurements, progressed: Progressed, *, quick: bool) -> Verdict:
    """Apply an entry's rule to what was measured.

    The first reading that holds decides: "reproduced" if neither it nor the entry changes anything against the paper,
    "reproduced with a stated change" otherwise. A quick or incomplete run decides nothing.
    """
    if entry.missing is not None:
        return Verdict(NOT_RUNNABLE, entry.missing)
    if progressed.total and len(progressed.errors) == progressed.total:
        return Verdict(NOT_RUNNABLE, f"No cell could be computed: {progressed.errors[0]}")
    if quick:
        return Verdict(
            UNDECIDED, "A quick run (few rows, few steps, one seed) cannot decide; it only shows that all runs."
        )
    if not progressed.complete:
        return Verdict(UNDECIDED, _unfinished(progressed))
    readings = tuple(entry.judge(measured))
    holding = next((reading for reading in readings if reading.holds), None)
    if holding is None:
        return Verdict(NOT_REPRODUCED, _why_not(readings), readings)
    changes = [text for text in (holding.change, *entry.changes) if text]
    if changes:
        return Verdict(CHANGED, " ".join(changes), readings)
    return Verdict(REPRODUCED, "Every check of the rule holds.", readings)


def _unfinished(progressed: Progressed) -> str:
    failed = f", {len(progressed.errors)} failed ({progressed.errors[0]})" if progressed.errors else ""
    return f"{progressed.done} of {progressed.total} cells are computed{failed}; run it again to go on."


def _why_not(readings: Sequence[Reading]) -> str:
    """Name what fails under the reading that comes nearest."""
    if not readings:
        return "The entry has no rule."
    nearest = min(readings, key=lambda reading: sum(not check.holds for check in reading.checks))
    failing = [f"{check.statement} ({check.numbers})" for check in nearest.checks if not check.holds]
    confined = f" for {nearest.only} alone" if nearest.only else ""
    total = len(nearest.checks)
    return f"{total - len(failing)} of {total} checks hold{confined}. These do not: " + "; ".join(failing) + "."
