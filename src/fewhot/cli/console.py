"""What is printed: results on stdout, everything else on stderr, JSON alone where a program reads it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

WIDTH_OF_A_FILE = 120


def note(text: str) -> None:
    """Say something to the person, apart from the results."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def say(text: str) -> None:
    """Print a line of the result."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def say_json(value: Any) -> None:
    """Print a result for a program; numbers that are not finite become null, as JSON has none."""
    say(json.dumps(finite(value), indent=2, allow_nan=False))


def finite(value: Any) -> Any:
    """Return ``value`` with NaN and infinity replaced by None.

    >>> finite({"bound": float("nan"), "active": [4.0]})
    {'bound': None, 'active': [4.0]}
    """
    if isinstance(value, dict):
        return {name: finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    if isinstance(value, float) and not abs(value) < float("inf"):
        return None
    return value


def say_table(columns: Sequence[str], rows: Iterable[Sequence[str]], title: str | None = None) -> None:
    """Print a table on stdout."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console(width=None if sys.stdout.isatty() else WIDTH_OF_A_FILE)
    table = Table(*columns, title=title, title_justify="left")
    for row in rows:
        table.add_row(*(escape(cell) for cell in row))
    console.print(table)
