"""Several runs on the same rows, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fewhot.cli.console import note, say_table
from fewhot.cli.showing import as_json as one_as_json
from fewhot.cli.showing import shown, told
from fewhot.metrics import Alarm, Estimate, Summary, estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluated:
    """A run measured on rows.

    Where it is compared with another, ``bounds`` has one bound a row, under exact gates; ``words`` is the vocabulary by
    which it reads texts, and ``columns`` are the names of the columns it reads, in sorted order.
    """

    folder: Path
    summary: Summary
    alarms: list[Alarm]
    bounds: np.ndarray | None = None
    words: Any = None
    columns: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """How much higher a run's bound is than the first one's, row by row; None where they measure different things."""

    folder: Path
    gain: Estimate | None
    sentence: str


def differences(found: Sequence[Evaluated]) -> list[Difference]:
    """Return the difference of every further run to the first."""
    first, *others = found
    return [_difference(first, other) for other in others]


def _difference(first: Evaluated, other: Evaluated) -> Difference:
    ways = [(run.summary.facts["likelihood_says"], run.summary.facts["observation"]) for run in (first, other)]
    if ways[0] != ways[1]:
        one, two = (f"'{likelihood}' (rows {observation})" for likelihood, observation in ways)
        sentence = f"The bounds do not compare: {first.folder} scores rows by {one}, {other.folder} by {two}."
        return Difference(folder=other.folder, gain=None, sentence=sentence)
    if first.words != other.words:
        sentence = f"The bounds do not compare: {first.folder} and {other.folder} read texts by other words."
        return Difference(folder=other.folder, gain=None, sentence=sentence)
    if first.columns != other.columns:
        sentence = f"These ELBOs are not comparable: {first.folder} and {other.folder} read other columns."
        return Difference(folder=other.folder, gain=None, sentence=sentence)
    assert other.bounds is not None
    assert first.bounds is not None
    gain = estimate(other.bounds - first.bounds)
    clear = "more" if abs(gain.mean) > 2 * gain.se else "not more"
    side = "higher" if gain.mean >= 0 else "lower"
    sentence = (
        f"The bound of {other.folder} is {abs(gain.mean):.3g} ± {gain.se:.2g} nats a row {side} than that of "
        f"{first.folder}: {clear} than two standard errors, row by row. Other seeds may differ by more."
    )
    return Difference(folder=other.folder, gain=gain, sentence=sentence)


def show_table(found: Sequence[Evaluated], title: str) -> None:
    """Print one column a run, then what to worry about in each."""
    names = dict.fromkeys(number.name for run in found for number in run.summary.numbers)
    rows = []
    for name in names:
        numbers = [run.summary.get(name) for run in found]
        known = next(number for number in numbers if number is not None)
        values = ["" if number is None else shown(number) for number in numbers]
        rows.append([name, *values, known.unit, known.meaning.partition(";")[0]])
    say_table(["number", *(str(run.folder) for run in found), "unit", "what it means"], rows, title=title)
    for run in found:
        for alarm in run.alarms:
            note(f"{run.folder}: {told(alarm)}")


def as_json(found: Sequence[Evaluated], apart: Sequence[Difference]) -> dict[str, Any]:
    """Return the runs and their differences for a program."""
    return {
        "runs": [{"run": str(run.folder), **one_as_json(run.summary, run.alarms)} for run in found],
        "bound_against_first": [
            {
                "run": str(item.folder),
                "mean": None if item.gain is None else item.gain.mean,
                "se": None if item.gain is None else item.gain.se,
                "sentence": item.sentence,
            }
            for item in apart
        ],
    }
