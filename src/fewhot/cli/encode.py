"""``fewhot encode``: rows in, codes out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fewhot.cli.console import say
from fewhot.cli.options import Data, DataDir, Device, Force, Item, Label, Run, Split, Text, Texts, User, Weight
from fewhot.core.errors import InvalidParameterError

if TYPE_CHECKING:
    from fewhot.data import Loaded

EXAMPLE = """\
Examples:

[bold]fewhot encode runs/first new.csv --out codes.npz[/bold]

[bold]fewhot encode runs/reviews new.csv --text review --out codes.npz[/bold]
"""

KINDS = ("values", "p_active", "variance")


def encode(
    run: Run,
    data: Data,
    out: Annotated[
        Path, typer.Option(help="The file to write: .npz .npy .csv .parquet .mtx or .h5ad.", show_default=False)
    ],
    what: Annotated[
        str, typer.Option(help="values (the code), p_active (probability of being on) or variance.")
    ] = "values",
    refine_steps: Annotated[
        int | None, typer.Option(help="Gradient steps on each row's own code: slower, better.", show_default=False)
    ] = None,
    max_active: Annotated[
        int | None, typer.Option(help="At most so many active units a row.", show_default=False)
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
    force: Force = False,
) -> None:
    """Write the codes of DATA under a fitted model, one row each, exact zeros where a unit is off.

    Codes of users have their names in the first column of .csv and .parquet files, and as names in .h5ad.
    """
    from fewhot.cli.outputs import free_file
    from fewhot.cli.rows import counted, source_of
    from fewhot.cli.runs import load_run, rows_as_in
    from fewhot.cli.texts import readable
    from fewhot.core.checks import one_of
    from fewhot.data import write_matrix

    one_of("--what", what, KINDS)
    target = free_file(out, force=force, source=data)
    estimator = load_run(run, device)
    changes = {"refine_steps": refine_steps, "max_active": max_active}
    _change(estimator, {name: value for name, value in changes.items() if value is not None})
    source = source_of(data, split, label, data_dir, text, texts, user=user, item=item, weight=weight)
    rows = rows_as_in(run, estimator, source)
    X = readable(estimator, rows)
    codes = estimator.transform(X) if what == "values" else getattr(estimator.codes(X), what)
    if codes is None:
        raise InvalidParameterError(f"{type(estimator).__name__} has no gates and so no {what}; ask for values.")
    write_matrix(target, codes, users=rows.users)
    active = f", {(codes != 0).sum() / codes.shape[0]:.3g} active a row," if what == "values" else ""
    units = f"{codes.shape[1]:,} units"
    told = f"{counted(rows)} in {units}" if rows.holds_texts else f"{counted(rows)} of {units}"
    say(f"{told}{active} are in {target}.{_order(rows, target)}")


def _order(rows: Loaded, target: Path) -> str:
    """Return which row is whose, of users in a file that does not name them."""
    from fewhot.data.files.writing import NAMES_ROWS

    *some, last = NAMES_ROWS
    if rows.users is None or target.suffix.lower() in NAMES_ROWS:
        return ""
    return (
        f" Users are in the order of their first lines in {rows.name}; a {', '.join(some)} or {last} file names them."
    )


def _change(estimator: Any, changes: dict[str, Any]) -> None:
    """Set arguments that matter when encoding; a model without one of them says so."""
    known = estimator.get_params(deep=False)
    for name, value in changes.items():
        if name not in known:
            raise InvalidParameterError(f"{type(estimator).__name__} has no {name}; leave it out.")
        estimator.set_params(**{name: value})
    estimator._check_parameters()
