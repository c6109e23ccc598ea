"""Flags that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

DATA_HELP = (
    "A dataset (fewhot data list), a file (.npy .npz .csv .parquet .mtx .h5ad .jsonl; .txt, or --text, for texts), a "
    "folder of pictures or of rows."
)

Run = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder, as fewhot fit writes it.", show_default=False)]
Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help=DATA_HELP,
        show_default=False,
    ),
]
Split = Annotated[
    str | None,
    typer.Option(help="Which rows: train, validation, fit, test or all.", show_default=False),
]
Label = Annotated[
    str | None,
    typer.Option(help="The column of the file that holds the labels; it is left out of the rows.", show_default=False),
]
Text = Annotated[
    str | None,
    typer.Option(
        help="The column of a .csv, .tsv or .jsonl file whose texts are the rows; a .txt file has a text a line.",
        show_default=False,
    ),
]
Texts = Annotated[
    bool, typer.Option("--texts", help="Of a dataset with texts, read these and not the counts of words.")
]
User = Annotated[
    str | None,
    typer.Option(help="Of a table with a row for each user and item: the column of users.", show_default=False),
]
Item = Annotated[str | None, typer.Option(help="The column of items.", show_default=False)]
Weight = Annotated[
    str | None,
    typer.Option(help="The column of weights, such as stars; 1 for each pair unless told.", show_default=False),
]
DataDir = Annotated[
    Path | None,
    typer.Option(help="A folder with datasets already on disk; also $FEWHOT_DATA.", show_default=False),
]
Device = Annotated[str, typer.Option(help="Where to compute: auto, cpu or cuda.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON alone on stdout, for programs.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]
Force = Annotated[bool, typer.Option("--force", help="Replace the output file if it exists.")]
