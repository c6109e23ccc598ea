"""``fewhot evaluate``: how good a fitted model is on given rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fewhot.cli.console import note, say, say_json
from fewhot.cli.options import Data, DataDir, Device, Json, Label, Run, Split
from fewhot.core.errors import InvalidInputError

if TYPE_CHECKING:
    from fewhot.cli.comparing import Evaluated
    from fewhot.data import Loaded

EXAMPLE = """\
Examples:

[bold]fewhot evaluate runs/first digits[/bold]

[bold]fewhot evaluate runs/first held-out.csv --label kind --probe --json[/bold]

[bold]fewhot evaluate runs/first digits --against runs/second[/bold]
"""


def evaluate(
    run: Run,
    data: Data,
    against: Annotated[
        list[Path] | None,
        typer.Option(help="Another run, to stand beside this one; as often as needed.", show_default=False),
    ] = None,
    probe: Annotated[
        bool, typer.Option("--probe", help="Train a linear classifier on the codes too; needs labels.")
    ] = False,
    split: Split = None,
    label: Label = None,
    data_dir: DataDir = None,
    device: Device = "auto",
    json: Json = False,
) -> None:
    """Print the numbers of a fitted model on DATA: a dataset's test rows, all rows of a file, or what --split says."""
    from fewhot.cli.rows import source_of
    from fewhot.cli.runs import load_run

    source = source_of(data, split, label, data_dir)
    if split is None and source.is_dataset:
        source = source_of(data, "test", label, data_dir)
    estimators = {folder: load_run(folder, device) for folder in (run, *(against or []))}
    rows = source.open()
    found = [_measure(folder, model, rows, data_dir, probe=probe) for folder, model in estimators.items()]
    if against:
        _show_side_by_side(found, _about(rows), json=json)
    else:
        _show_alone(found[0], _about(rows, run), json=json)


def _measure(folder: Path, estimator: Any, rows: Loaded, data_dir: Path | None, *, probe: bool) -> Evaluated:
    from fewhot.cli.comparing import Evaluated
    from fewhot.cli.runs import in_order_of
    from fewhot.metrics import alarms, summarise

    rows = in_order_of(folder, rows)
    summary = summarise(estimator, rows.X, *(_labels(rows, folder, data_dir) if probe else ()))
    bounds = estimator.score_samples(rows.X)
    return Evaluated(folder=folder, summary=summary, alarms=list(alarms(summary)), bounds=bounds)


def _about(rows: Loaded, run: Path | None = None) -> str:
    """Say which rows were measured, and whether the run was fitted on exactly these."""
    from fewhot.cli.runs import DATA, read_json

    fitted = run is not None and (run / DATA).exists() and read_json(run / DATA).get("digest") == rows.digest
    split = f", split {rows.split!r}" if rows.split else ""
    return f"{len(rows):,} rows of {rows.name}{split}" + (", the ones it was fitted on" if fitted else "")


def _show_alone(found: Evaluated, about: str, *, json: bool) -> None:
    from fewhot.cli.showing import as_json, show_numbers

    if json:
        say_json({"run": str(found.folder), "rows": about, **as_json(found.summary, found.alarms)})
        return
    show_numbers(found.summary, found.alarms, about)


def _show_side_by_side(found: Sequence[Evaluated], about: str, *, json: bool) -> None:
    from fewhot.cli.comparing import as_json, differences, show_table

    told = differences(found)
    if json:
        say_json({"rows": about, **as_json(found, told)})
        return
    show_table(found, about)
    for difference in told:
        say(difference.sentence)


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
