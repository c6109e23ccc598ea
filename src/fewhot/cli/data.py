"""``fewhot data``: which datasets there are, and how to get one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fewhot.cli.console import note, say, say_json, say_table
from fewhot.cli.options import DataDir, Json
from fewhot.core.errors import InvalidParameterError

if TYPE_CHECKING:
    from fewhot.data import DatasetInfo

EXAMPLE = """\
Examples:

[bold]fewhot data list[/bold]

[bold]fewhot data get fashion_mnist --data-dir ~/data[/bold]
"""


def data(
    action: Annotated[str, typer.Argument(help="list or get.")] = "list",
    name: Annotated[str | None, typer.Argument(help="The dataset to get.", show_default=False)] = None,
    data_dir: DataDir = None,
    json: Json = False,
) -> None:
    """List the datasets, or download one and check that it is whole."""
    if action == "list" and name is None:
        _list(data_dir, as_json=json)
    elif action == "get" and name is not None:
        _get(name, data_dir, as_json=json)
    elif action == "get":
        raise InvalidParameterError("fewhot data get was given no dataset; name one of fewhot data list.")
    else:
        raise InvalidParameterError(f"fewhot data was given {action!r}; it takes 'list' or 'get NAME'.")


def _list(data_dir: Path | None, *, as_json: bool) -> None:
    from fewhot.data import dataset_names, describe

    found = [describe(name, data_dir) for name in dataset_names()]
    if as_json:
        say_json([_plain(info) for info in found])
        return
    rows = [
        [
            info.name,
            " and ".join(_number(info.shapes[part][0]) for part in ("train", "test")),
            _number(info.shapes["train"][1]),
            "yes" if info.on_disk else "no",
            info.title,
            info.licence,
        ]
        for info in found
    ]
    say_table(["name", "train and test rows", "columns", "on disk", "what it holds", "licence"], rows)


def _number(n: int | None) -> str:
    """Return a number of rows or columns that is known only after reading as a question mark."""
    return "?" if n is None else f"{n:,}"


def _get(name: str, data_dir: Path | None, *, as_json: bool) -> None:
    from fewhot.data import describe, fetch_dataset

    fetch_dataset(name, data_dir, progress=_Arrival())
    info = describe(name, data_dir)
    if as_json:
        say_json(_plain(info))
        return
    say(f"{name} is in {info.folder}, whole." if info.files else f"{name} needs no files: it comes with the library.")


def _plain(info: DatasetInfo) -> dict[str, Any]:
    """Return what a program may want to know about a dataset."""
    return {
        "name": info.name,
        "title": info.title,
        "licence": info.licence,
        "address": info.address,
        "shapes": {split: list(shape) for split, shape in info.shapes.items()},
        "image_shape": None if info.image_shape is None else list(info.image_shape),
        "on_disk": info.on_disk,
        "folder": None if info.folder is None else str(info.folder),
    }


class _Arrival:
    """Says on stderr how much of a file is here: at its start, at its end, and every ten megabytes."""

    every = 10_000_000

    def __init__(self) -> None:
        self._said: dict[str, int] = {}

    def __call__(self, file: str, here: int, total: int | None) -> None:
        if file in self._said and here < self._said[file] + self.every and here != total:
            return
        self._said[file] = here
        whole = "" if total is None else f" of {total / 1e6:.1f}"
        note(f"{file}: {here / 1e6:.1f}{whole} MB")
