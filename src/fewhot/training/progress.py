"""Live progress: the bound and its terms, the units, the speed and the time left."""

from __future__ import annotations

import time

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from fewhot.training.callbacks import Record

_LINE_EVERY_SECONDS = 10.0


class ProgressView:
    """A bar on a terminal, or a line now and then elsewhere. It only reads what it is handed."""

    def __init__(self, max_steps: int, start: int, console: Console | None = None) -> None:
        self.console = console or Console(stderr=True)
        self.max_steps = max_steps
        self._start = start
        self._began = self._line_at = time.monotonic()
        self._bar = Progress(
            TextColumn("[bold]fit"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[speed]}"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[numbers]}"),
            console=self.console,
            auto_refresh=False,
            disable=not self.console.is_terminal,
        )
        self._task = self._bar.add_task("fit", total=max_steps, completed=start, speed="", numbers="")
        self._bar.start()
        self._record: Record = {}

    def update(self, step: int, record: Record | None = None) -> None:
        """Show the step, and the newest evaluation."""
        now = time.monotonic()
        self._record = record or self._record
        rate = (step - self._start) / max(now - self._began, 1e-9)
        self._bar.update(self._task, completed=step, speed=f"{rate:,.0f} steps/s", numbers=describe(self._record))
        self._bar.refresh()
        if not self.console.is_terminal and (now - self._line_at > _LINE_EVERY_SECONDS or step == self.max_steps):
            self._line_at = now
            left = (self.max_steps - step) / max(rate, 1e-9)
            self.console.print(
                f"step {step:,} of {self.max_steps:,}, {rate:,.0f} steps/s, {left:.0f} s left; "
                f"{describe(self._record)}",
                soft_wrap=True,
            )

    def close(self) -> None:
        """Leave the last state on the screen."""
        self._bar.stop()


def describe(record: Record) -> str:
    """Say in one line what an evaluation found."""
    if not record:
        return ""
    held = record["evaluation"]
    parts = [f"bound {held['bound']:.2f} nats ({record['rows']})"]
    parts += [
        f"{name} {value:.2f}" for name, value in record["terms"].items() if name not in ("bound", "loss", "gradient")
    ]
    if "active" in held:
        parts.append(f"{held['active']:.1f} active, {held['used']} used, {held['dead']} dead units")
        if held["always_on"]:
            parts.append(f"{held['always_on']} always on")
    else:
        parts.append(f"{held['used']:.0f} used units")
    return ", ".join(parts)
