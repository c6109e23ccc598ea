"""``fewhot evaluate``: how good a fitted model is on given rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fewhot.cli.console import note, say_json
from fewhot.cli.options import Data, DataDir, Device, Json, Label, Run, Split
from fewhot.core.errors import InvalidInputError

if TYPE_CHECKING:
    from fewhot.data import Loaded

EXAMPLE = """\
Examples:

[bold]fewhot evaluate runs/first digits[/bold]

[bold]fewhot evaluate runs/first held-out.csv --label kind --probe --json[/bold]
"""


def evaluate(
    run: Run,
    data: Data,
    probe: Annotated[
        bool, typer.Option("--probe", help="Train a linear classifier on the codes too; needs labels.")
    ] = False,
    split: Split = None,
    label: Label = None,
    data_dir: DataDir = None,
    device: Device = "auto",
    json: Json = False,
) -> None:
    """Print the numbers of a fitted model on DATA (a dataset's test rows unless --split says otherwise)."""
    from fewhot.cli.rows import source_of
    from fewhot.cli.runs import in_order_of, load_run
    from fewhot.cli.showing import as_json, show_numbers
    from fewhot.metrics import alarms, summarise

    estimator = load_run(run, device)
    source = source_of(data, split, label, data_dir)
    if split is None and source.is_dataset:
        source = source_of(data, "test", label, data_dir)
    rows = in_order_of(run, source.open())
    summary = summarise(estimator, rows.X, *(_labels(rows, run, data_dir) if probe else ()))
    found = list(alarms(summary))
    about = f"{len(rows):,} rows of {rows.name}" + (f", split {rows.split!r}" if rows.split else "")
    if json:
        say_json({"run": str(run), "rows": about, **as_json(summary, found)})
        return
    show_numbers(summary, found, about)


def _labels(rows: Loaded, run: Path, data_dir: Path | None) -> tuple[Any, ...]:
    """Return the labels and, where the run knows labelled rows of its own, those: the classifier learns from them."""
    from fewhot.cli.runs import DATA, read_rows

    if rows.y is None:
        raise InvalidInputError(f"{rows.name} has no labels, and --probe needs them; name their column with --label.")
    train = read_rows(run, data_dir).train if (run / DATA).exists() else None
    if train is None or train.y is None or train.digest == rows.digest:
        note("The classifier learns from one half of these rows and is tested on the other.")
        return (rows.y,)
    return (rows.y, train.X, train.y)
