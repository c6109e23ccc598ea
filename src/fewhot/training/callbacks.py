"""Callbacks: a way to look at a run, or to stop it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fewhot.core.errors import InvalidParameterError

Record = dict[str, Any]
"""One line of the history: step, epoch, the means of the training terms, and the evaluation."""


class Callback:
    """Override what you need. ``on_evaluation`` may return True to end the run after this step."""

    def on_start(self, max_steps: int) -> None:
        """Be told that training begins."""

    def on_evaluation(self, record: Record) -> bool | None:
        """See one line of the history."""

    def on_end(self, record: Record | None) -> None:
        """Be told that training ended, normally or not."""


class _Function(Callback):
    def __init__(self, function: Callable[[Record], Any]) -> None:
        self.function = function

    def on_evaluation(self, record: Record) -> bool | None:
        return self.function(record)


def as_callback(candidate: Any) -> Callback:
    """Accept a `Callback`, or a function of the record."""
    if isinstance(candidate, Callback):
        return candidate
    if callable(candidate):
        return _Function(candidate)
    raise InvalidParameterError(
        f"callbacks holds {candidate!r}; each must be a fewhot.Callback, a fewhot.RunFolder or a function of the "
        f"record."
    )
