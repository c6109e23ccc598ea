"""``fewhot sample``: new rows from a fitted model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from fewhot.cli.console import say
from fewhot.cli.options import Device, Force, Run

EXAMPLE = """\
Examples:

[bold]fewhot sample runs/first --n 30 --out samples.png[/bold]

[bold]fewhot sample runs/counts --n 1000 --seed 1 --out samples.npz[/bold]
"""


def sample(
    run: Run,
    n: Annotated[int, typer.Option("--n", "-n", help="How many rows.")] = 16,
    out: Annotated[
        Path | None,
        typer.Option(
            help="The file to write: .npz .npy .csv .parquet .mtx .h5ad, .png for images or .txt for texts; in RUN "
            "unless told.",
            show_default=False,
        ),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            help="mean (the expected row of a code; of texts, the likeliest words) or draw (a row given the code); "
            "unless told, mean of numbers and draw of texts.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="The seed of the draws.")] = 0,
    device: Device = "auto",
    force: Force = False,
) -> None:
    """Draw codes from the prior and write the rows they stand for."""
    from fewhot.cli.outputs import free_file
    from fewhot.cli.runs import load_run, vectorizer_in
    from fewhot.core.files import replacing_file

    estimator = load_run(run, device)
    shape, names = _known(run, estimator)
    ending = ".txt" if estimator.says_texts else ".png" if shape else ".csv"
    target = free_file(out or run / f"samples{ending}", force=force)
    if estimator.says_texts:
        _refuse_tables(target)
        texts = estimator.sample(n, random_state=seed, kind=kind or "draw")
        with replacing_file(target) as temporary:
            temporary.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
        say(f"{len(texts):,} texts are in {target}, one a line.")
        return
    drawn = estimator.sample(n, random_state=seed, kind=kind or "mean")
    rows = drawn.reshape(len(drawn), -1)
    if hasattr(estimator, "vocabulary_"):  # counts of words, without the columns that are none
        names = estimator.vocabulary_.known
        rows = rows[:, -len(names) :]
    if target.suffix.lower() == ".png":
        _draw(rows, shape, target)
    elif target.suffix.lower() == ".npy" and drawn.ndim > 2:
        _write_images(drawn, target)
    elif target.suffix.lower() == ".csv" and (vectorizer := vectorizer_in(run)) is not None:
        _write_table(vectorizer.inverse_transform(rows), target)
    else:
        from fewhot.data import write_matrix

        write_matrix(target, rows, names=names or [f"column_{j}" for j in range(rows.shape[1])])
    what = f"rows of {rows.shape[1]:,} columns" if shape is None else f"pictures of {shape[0]} x {shape[1]} pixels"
    say(f"{len(rows):,} {what} are in {target}.")


def _known(run: Path, estimator: Any) -> tuple[list[int] | None, list[str] | None]:
    """Return the shape of the images and the names of the columns, where the run knows them."""
    from fewhot.cli.runs import DATA, read_json

    record = read_json(run / DATA) if (run / DATA).exists() else {}
    return record.get("image_shape") or getattr(estimator, "image_shape_", None), record.get("feature_names")


def _write_images(images: Any, target: Path) -> None:
    """Write images with all their axes, as `fewhot fit` reads them."""
    import numpy as np

    from fewhot.core.files import replacing_file

    with replacing_file(target) as temporary, temporary.open("wb") as file:
        np.save(file, images, allow_pickle=False)


def _write_table(table: dict[str, list[Any]], target: Path) -> None:
    """Write rows as the table they were fitted on has them, with words and dates."""
    import csv

    from fewhot.core.files import replacing_file

    with replacing_file(target) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(table)
        writer.writerows(
            [f"{cell:.6g}" if isinstance(cell, float) else cell for cell in row]
            for row in zip(*table.values(), strict=True)
        )


def _refuse_tables(target: Path) -> None:
    from fewhot.core.errors import InvalidParameterError

    if target.suffix.lower() != ".txt":
        raise InvalidParameterError(f"The run says texts, and {target} is no .txt file; give --out one.")


def _draw(rows: Any, shape: list[int] | None, target: Path) -> None:
    from fewhot.core.errors import InvalidParameterError
    from fewhot.core.files import replacing_file

    if shape is None:
        raise InvalidParameterError("The run was not fitted on images; give --out a .csv or .npz file instead.")
    from fewhot.plots import images

    figure = images(rows, shape, max_rows=len(rows))
    with replacing_file(target) as temporary:
        figure.savefig(temporary, format="png", dpi=150)
