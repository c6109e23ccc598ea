"""What a run says while it goes on."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Outcome = Literal["start", "kept", "done", "failed", "left"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One step of a run.

    Attributes
    ----------
    outcome
        "start" before a cell is computed, then "done" or "failed"; "kept" for cells found on disk; "left" for those a
        time limit left over.
    done, total
        Cells dealt with so far, and in all.
    label
        The cell, or how many.
    seconds, seconds_left
        What the cell took, and a guess of what the rest will take; None where unknown.
    error
        Why it failed.
    """

    outcome: Outcome
    done: int
    total: int
    label: str
    seconds: float | None = None
    seconds_left: float | None = None
    error: str | None = None


Progress = Callable[[Event], None]


def show(event: Event) -> None:
    """Write a line to the error stream for every event but "start"."""
    if event.outcome != "start":
        sys.stderr.write(f"{describe(event)}\n")
        sys.stderr.flush()


def silent(event: Event) -> None:
    """Say nothing."""


def describe(event: Event) -> str:
    """Say one event in one line.

    >>> describe(Event(outcome="done", done=3, total=9, label="seed=0", seconds=2.0, seconds_left=12.0))
    '[3/9] seed=0: done in 2.0 s, about 12 s left'
    """
    took = "" if event.seconds is None else f" in {event.seconds:.1f} s"
    left = "" if not event.seconds_left else f", about {_span(event.seconds_left)} left"
    why = "" if event.error is None else f": {event.error}"
    said = {"kept": "found on disk", "left": "left for another run"}.get(event.outcome, event.outcome)
    return f"[{event.done}/{event.total}] {event.label}: {said}{took}{why}{left}"


def _span(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
