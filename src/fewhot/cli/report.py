"""``fewhot report``: the page of a run, drawn again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fewhot.cli.console import say
from fewhot.cli.options import DataDir, Device, Run

EXAMPLE = "Example: [bold]fewhot report runs/first[/bold]"


def report(
    run: Run,
    out: Annotated[
        Path | None, typer.Option(help="The file to write; RUN/report.html unless told.", show_default=False)
    ] = None,
    data_dir: DataDir = None,
    device: Device = "auto",
) -> None:
    """Measure a run again and write one self-contained page about it."""
    from fewhot.cli.runs import REPORT, facts_of, judge, load_run, read_rows, with_held_out
    from fewhot.report import write_report

    estimator = load_run(run, device)
    rows = with_held_out(read_rows(run, data_dir), estimator)
    target = out or run / REPORT
    write_report(target, judge(estimator, rows, facts_of(estimator, rows, run)).page)
    say(f"Report: {target}")
