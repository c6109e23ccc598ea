"""``fewhot report``: the page of a run, drawn again, or one about other rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fewhot.cli.console import say
from fewhot.cli.options import DATA_HELP, DataDir, Device, Item, Label, Run, Split, Text, Texts, User, Weight

if TYPE_CHECKING:
    from fewhot.cli.runs import RunRows

EXAMPLE = """\
Examples:

[bold]fewhot report runs/first[/bold]

[bold]fewhot report runs/first new.csv --label kind[/bold]
"""


def report(
    run: Run,
    data: Annotated[
        str | None,
        typer.Argument(metavar="DATA", help=f"Rows to look at; those of the fit unless told. {DATA_HELP}"),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="The file to write; RUN/report.html, or RUN/report-DATA.html.", show_default=False),
    ] = None,
    split: Split = None,
    label: Label = None,
    text: Text = None,
    texts: Texts = False,
    user: User = None,
    item: Item = None,
    weight: Weight = None,
    data_dir: DataDir = None,
    device: Device = "auto",
) -> None:
    """Measure a run, on its own rows or on others, and write one self-contained page about it."""
    from fewhot.cli.runs import REPORT, facts_of, judge, load_run
    from fewhot.report import write_report

    estimator = load_run(run, device)
    asked = {"split": split, "label": label, "text": text, "texts": texts, "user": user, "item": item, "weight": weight}
    rows = _rows(run, estimator, data, asked, data_dir)
    name = REPORT if data is None else f"report-{Path(data).stem}.html"
    target = out or run / name
    write_report(target, judge(estimator, rows, facts_of(estimator, rows, run)).page)
    say(f"Report: {target}")


def _rows(run: Path, estimator: Any, data: str | None, asked: dict[str, Any], data_dir: Path | None) -> RunRows:
    from fewhot.cli.rows import source_of
    from fewhot.cli.runs import read_rows, rows_as_in, with_held_out
    from fewhot.core.errors import InvalidInputError

    known = read_rows(run, data_dir)
    if data is not None:
        columns = {name: asked[name] for name in ("user", "item", "weight")}
        words = (asked["split"], asked["label"], data_dir, asked["text"], asked["texts"])
        source = source_of(data, *words, **columns)
        return replace(known, test=rows_as_in(run, estimator, source), test_source=source)
    given = next((name for name, value in asked.items() if value), None)
    if given is not None:
        raise InvalidInputError(f"--{given} says how rows are read, and none were named; name them after {run}.")
    return with_held_out(known, estimator)
