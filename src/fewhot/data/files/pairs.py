"""Who has what, from a table with a row for each user and item: .csv, .tsv, .jsonl and .parquet."""

from __future__ import annotations

import difflib
import json
import reprlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fewhot.core.errors import DataError, FewhotError
from fewhot.core.warning import warn_caller
from fewhot.data.files.parquet import read_columns
from fewhot.data.files.selection import shortened
from fewhot.data.files.table import refuse_twins
from fewhot.data.interactions import of_pairs
from fewhot.data.lines import lines_of
from fewhot.data.loaded import Loaded, content_digest
from fewhot.data.text.reading import csv_rows

ENDINGS = (".csv", ".tsv", ".jsonl", ".parquet")
_COMPRESSED = (".gz", ".bz2", ".xz")
_SEPARATORS = ",;\t"
_SHOWN = 5

Columns = list[Sequence[Any]]


def read_interactions(path: str | Path, *, user: str, item: str, weight: str | None = None) -> Loaded:
    r"""Read pairs of users and items as a matrix, (users, items), with the names of both.

    Names are kept as they are written: 007 is no 7. Pairs given twice are added up, each pair counting 1 where there
    are no weights.

    Parameters
    ----------
    path
        A table that ends in .csv, .tsv or .jsonl, or in one of these and .gz, .bz2 or .xz; or in .parquet.
    user, item
        The columns of users and items.
    weight
        The column of weights, numbers from 0 up; None gives every pair a weight of 1.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "likes.csv"
    ...     _ = path.write_text("who,what\neve,tea\nbob,tea\neve,milk\n")
    ...     likes = read_interactions(path, user="who", item="what")
    >>> likes.X.toarray().tolist(), likes.users, likes.feature_names
    ([[1.0, 1.0], [0.0, 1.0]], ['eve', 'bob'], ['milk', 'tea'])
    """
    path = Path(path).expanduser()
    names = [user, item, *([] if weight is None else [weight])]
    refuse_same(names)
    try:
        columns = _columns(path, names)
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror or error}); check the file and its rights.") from error
    if not len(columns[0]):
        raise DataError(f"{path} has no pairs of a user and an item; give at least one.")
    columns = _complete([[*map(_as_written, column)] for column in columns[:2]], columns[2:], path)
    users, items = columns[:2]
    try:
        found = of_pairs(users, items, None if weight is None else _numbers(columns[2], weight, path), name=str(path))
    except DataError:
        raise
    except FewhotError as error:
        raise DataError(str(error)) from error
    return Loaded(
        X=found.X,
        y=None,
        name=path.name,
        split=None,
        image_shape=None,
        feature_names=[str(name) for name in found.items],
        licence="",
        digest=content_digest(found.X, None, [*map(str, found.users), *map(str, found.items)]),
        users=[str(name) for name in found.users],
    )


def _complete(named: list[list[str]], weights: Columns, path: Path) -> Columns:
    """Return the pairs that have both a user and an item, and warn of the others."""
    kept = [place for place, pair in enumerate(zip(*named, strict=True)) if "" not in pair]
    n_pairs = len(named[0])
    if not kept:
        raise DataError(f"{path} has no pair with both a user and an item; give at least one.")
    if len(kept) == n_pairs:
        return [*named, *weights]
    lacking = sorted(set(range(n_pairs)) - set(kept))
    first = ", ".join(f"{place + 1:,}" for place in lacking[:_SHOWN]) + (", ..." if len(lacking) > _SHOWN else "")
    warn_caller(
        f"{len(lacking):,} of {n_pairs:,} pairs of {path} have no user or no item, and are left out: {first}.",
        UserWarning,
    )
    return [[column[place] for place in kept] for column in (*named, *weights)]


def refuse_same(names: Sequence[str]) -> None:
    """Refuse one column for two things."""
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None:
        raise DataError(f"The column {twice!r} was named twice; users, items and weights need a column each.")


def is_table_of_pairs(path: str | Path) -> bool:
    """Say whether a file could be a table of pairs, by its name."""
    return _ending(Path(path)) in ENDINGS


def _ending(path: Path) -> str:
    return (path.with_suffix("") if path.suffix.lower() in _COMPRESSED else path).suffix.lower()


def _columns(path: Path, names: Sequence[str]) -> Columns:
    ending = _ending(path)
    if ending not in ENDINGS:
        raise DataError(f"{path} is no table of pairs by its name; give one that ends in {', '.join(ENDINGS)}.")
    if ending == ".parquet":
        table = read_columns(path)
        _check_columns(names, list(table), path)
        return [table[name].tolist() for name in names]
    rows = _of_objects(path, names) if ending == ".jsonl" else _of_table(path, names)
    return list(map(list, zip(*rows, strict=True))) or [[] for _ in names]


def _of_table(path: Path, names: Sequence[str]) -> Iterator[list[str]]:
    """Go through the cells of the columns of a table of text."""
    first = next((line for _, line in lines_of(path) if line.strip()), "")
    rows = csv_rows(path, max(_SEPARATORS, key=first.count))
    _, header = next(rows, (0, []))
    if not header:
        raise DataError(f"{path} is empty; give a table with a header line and at least one pair.")
    header = [cell.strip() for cell in header]
    _check_columns(names, header, path)
    places = [header.index(name) for name in names]
    for number, row in rows:
        if len(row) != len(header):
            raise DataError(
                f"Line {number} of {path} has {len(row)} values where the first has {len(header)}; give every row the "
                f"same columns: the file may be cut off."
            )
        yield [row[place].strip() for place in places]


def _of_objects(path: Path, names: Sequence[str]) -> Iterator[list[Any]]:
    for number, line in lines_of(path):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except ValueError as error:
            raise DataError(f"Line {number} of {path} is not JSON; write one object a line.") from error
        if not isinstance(record, dict):
            raise DataError(f"Line {number} of {path} is no object; write one object a line.")
        _check_columns(names, list(record), f"Line {number} of {path}")
        yield [record[name] for name in names]


def _check_columns(names: Sequence[str], there: Sequence[str], path: str | Path) -> None:
    refuse_twins(there, path)
    missing = next((name for name in names if name not in there), None)
    if missing is not None:
        near = difflib.get_close_matches(missing, there, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise DataError(f"{path} has no column {missing!r}.{hint} Its columns: {shortened(there)}.")


def _as_written(value: Any) -> Any:
    """Return a name as text; whole numbers of JSON and Parquet as they would be written."""
    if value is None or value != value:
        return ""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _numbers(cells: Sequence[Any], weight: str, path: Path) -> list[float]:
    numbers = []
    for place, cell in enumerate(cells, start=1):
        try:
            numbers.append(float(cell))
        except (TypeError, ValueError) as error:
            raise DataError(
                f"Column {weight!r} of {path} has {reprlib.repr(cell)} in its pair {place}; weights are numbers "
                f"from 0 up: mend it, or leave the weights out."
            ) from error
    return numbers
