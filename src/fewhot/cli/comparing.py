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

    Where it is compared with another, ``bounds`` has one bound a row, under exact gates, and ``ndcg`` the NDCG of each
    user's hidden items, if its rows are users; ``words`` is the vocabulary by which it reads texts, ``columns`` are the
    names of the columns it reads, in sorted order, and ``digest`` is of the values that it reads.
    """

    folder: Path
    summary: Summary
    alarms: list[Alarm]
    bounds: np.ndarray | None = None
    words: Any = None
    columns: Sequence[str] = ()
    digest: str = ""
    ndcg: np.ndarray | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """How much higher a run's number is than the first one's, row by row; None where they measure different things."""

    folder: Path
    gain: Estimate | None
    sentence: str


def differences(found: Sequence[Evaluated]) -> list[Difference]:
    """Return the difference of every further run to the first."""
    first, *others = found
    return [_difference(first, other) for other in others]


def ndcg_differences(found: Sequence[Evaluated]) -> list[Difference]:
    """Return the difference in NDCG of every further run on the same items to the first; nothing but for likes."""
    first, *others = found
    if first.ndcg is None:
        return []
    told: list[Difference] = []
    for other in others:
        if other.ndcg is None or other.columns != first.columns or len(other.ndcg) != len(first.ndcg):
            continue
        gain = estimate(other.ndcg - first.ndcg)
        sentence = (
            f"The NDCG of {other.folder} is {abs(gain.mean):.3g} ± {gain.se:.2g} {_side(gain)} than that of "
            f"{first.folder}: {_clearly(gain)} than two standard errors, user by user. Other seeds may differ by more."
        )
        told.append(Difference(folder=other.folder, gain=gain, sentence=sentence))
    return told


def _side(gain: Estimate) -> str:
    return "higher" if gain.mean >= 0 else "lower"


def _clearly(gain: Estimate) -> str:
    return "more" if abs(gain.mean) > 2 * gain.se else "not more"


def _difference(first: Evaluated, other: Evaluated) -> Difference:
    without = next((run.folder for run in (first, other) if run.bounds is None), None)
    if without is not None:
        sentence = f"There is no ELBO of rows to compare: {without} holds a model of labels given rows."
        return Difference(folder=other.folder, gain=None, sentence=sentence)
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
    if first.digest != other.digest:
        sentence = (
            f"These ELBOs are not comparable: {first.folder} and {other.folder} read other values in the same rows, as "
            f"with and without weights."
        )
        return Difference(folder=other.folder, gain=None, sentence=sentence)
    assert other.bounds is not None
    assert first.bounds is not None
    gain = estimate(other.bounds - first.bounds)
    sentence = (
        f"The bound of {other.folder} is {abs(gain.mean):.3g} ± {gain.se:.2g} nats a row {_side(gain)} than that of "
        f"{first.folder}: {_clearly(gain)} than two standard errors, row by row. Other seeds may differ by more."
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


def as_json(found: Sequence[Evaluated], apart: Sequence[Difference], ndcg: Sequence[Difference]) -> dict[str, Any]:
    """Return the runs and their differences for a program."""
    runs = [{"run": str(run.folder), **one_as_json(run.summary, run.alarms)} for run in found]
    ranked = {"ndcg_against_first": [_as_json(item) for item in ndcg]} if ndcg else {}
    return {"runs": runs, "bound_against_first": [_as_json(item) for item in apart], **ranked}


def _as_json(item: Difference) -> dict[str, Any]:
    return {
        "run": str(item.folder),
        "mean": None if item.gain is None else item.gain.mean,
        "se": None if item.gain is None else item.gain.se,
        "sentence": item.sentence,
    }
