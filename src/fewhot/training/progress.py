"""Live progress: the bound and its terms, the units, the speed and the time left."""

from __future__ import annotations

import time

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from fewhot.core.html import escape
from fewhot.core.notebook import Place, Shown, in_notebook
from fewhot.training.callbacks import Record

_LINE_EVERY_SECONDS = 10.0
_NOT_SHOWN = ("bound", "loss", "gradient")


class ProgressView:
    """A bar with the numbers below it on a terminal and in a notebook, a line now and then elsewhere.

    It only reads what it is handed.
    """

    def __init__(self, max_steps: int, start: int, console: Console | None = None) -> None:
        self.console = console or Console(stderr=True)
        self.max_steps = max_steps
        self._start = start
        self._began = self._line_at = time.monotonic()
        self._record: Record = {}
        self._done = start
        self._place = Place() if console is None and in_notebook() else None
        self._bar = Progress(
            TextColumn("[bold]fit"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[speed]}"),
            TimeRemainingColumn(),
            TextColumn("left"),
        )
        self._task = self._bar.add_task("fit", total=max_steps, completed=start, speed="")
        on_terminal = self._place is None and self.console.is_terminal
        self._live = Live(self._shown(), console=self.console, auto_refresh=False) if on_terminal else None
        if self._live:
            self._live.start()
        elif self._place:
            self._place.show(self._in_notebook(""))

    def update(self, step: int, record: Record | None = None) -> None:
        """Show the step, and the newest evaluation."""
        now = time.monotonic()
        self._record = record or self._record
        self._done = step
        rate = (step - self._start) / max(now - self._began, 1e-9)
        if self._live:
            self._bar.update(self._task, completed=step, speed=f"{rate:,.0f} steps/s")
            self._live.update(self._shown(), refresh=True)
        elif self._place:
            self._place.show(self._in_notebook(f", {self._pace(rate)}"))
        elif now - self._line_at > _LINE_EVERY_SECONDS or step == self.max_steps:
            self._line_at = now
            self.console.print(f"{self._steps()}, {self._pace(rate)}; {describe(self._record)}", soft_wrap=True)

    def close(self) -> None:
        """Leave the last state on the screen."""
        if self._live:
            self._live.stop()
        elif self._place:
            self._place.show(self._in_notebook(f", {time.monotonic() - self._began:.0f} s"))

    def _steps(self) -> str:
        return f"step {self._done:,} of {self.max_steps:,}"

    def _pace(self, rate: float) -> str:
        return f"{rate:,.0f} steps/s, {(self.max_steps - self._done) / max(rate, 1e-9):.0f} s left"

    def _in_notebook(self, pace: str) -> Shown:
        told, numbers = f"{self._steps()}{pace}", describe(self._record)
        style = "width:16em;vertical-align:middle"
        bar = f'<progress value="{self._done}" max="{self.max_steps}" style="{style}"></progress>'
        html = (
            f'<div style="font-family:system-ui,sans-serif;font-size:13px">{bar} {escape(told)}'
            f'<div style="opacity:.75">{escape(numbers)}</div></div>'
        )
        return Shown(html, f"{told}; {numbers}" if numbers else told)

    def _shown(self) -> Group:
        return Group(self._bar, Text(describe(self._record)))


def describe(record: Record) -> str:
    """Say in one line what an evaluation found."""
    if not record:
        return ""
    held = record["evaluation"]
    parts = [f"ELBO {held['bound']:.2f} nats ({record['rows']})"]
    if "active" in held:
        parts.append(f"{held['active']:.1f} active, {held['used']} used, {held['dead']} dead units")
        if held["always_on"]:
            parts.append(f"{held['always_on']} always on")
    else:
        parts.append(f"{held['used']:.0f} used units")
    of_training = [f"{name} {value:.2f}" for name, value in record["terms"].items() if name not in _NOT_SHOWN]
    return ", ".join(parts) + (f"; training: {', '.join(of_training)}" if of_training else "")
