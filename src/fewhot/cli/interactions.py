"""Who has what on the command line: which columns, for which items, and how later files are read like the first."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fewhot.cli.console import note
from fewhot.core.errors import InvalidInputError, InvalidParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fewhot.cli.rows import Source
    from fewhot.data import Loaded

COLUMNS = ("user", "item", "weight")
"""The columns of a table of pairs, as they are called in flags, files and records."""
_MODEL, _RECIPE = "nfa", "likes"
"""What is fitted to pairs unless told."""
_OTHERS = ("label", "text", "texts", "columns", "drop", "prepare", "image_shape")


def check_columns(given: Mapping[str, Any]) -> None:
    """Refuse columns of pairs of which one is missing, or beside columns of other things."""
    named = [name for name in COLUMNS if given.get(name) is not None]
    if not named:
        return
    missing = next((name for name in COLUMNS[:2] if given.get(name) is None), None)
    if missing is not None:
        raise InvalidParameterError(
            f"{' and '.join(f'--{name}' for name in named)} was given without --{missing}; who has what needs the "
            f"columns of both, such as --user u --item i."
        )
    other = next((name.replace("_", "-") for name in _OTHERS if given.get(name)), None)
    if other is not None:
        raise InvalidParameterError(
            f"--{other} was given beside --user and --item, whose rows are users and have none; leave it out."
        )


def with_choices_for_pairs(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings with the model for likes where the rows are users and no other is named."""
    if given.get("item") is None:
        return dict(given)
    chosen = {"model": _MODEL, **given}
    return {"recipe": _RECIPE, **chosen} if chosen["model"] == _MODEL else chosen


def open_interactions(source: Source) -> Loaded:
    """Read a table of pairs; its users are the rows."""
    from fewhot.data.files.pairs import read_interactions
    from fewhot.data.splits import split_rows

    check_columns({name: getattr(source, name) for name in (*COLUMNS, *_OTHERS)})
    assert source.user is not None
    assert source.item is not None
    if source.is_dataset:
        raise InvalidParameterError(
            f"{source.data} is a dataset and has no columns; leave out --user and --item, or name a file of pairs."
        )
    if not Path(source.data).expanduser().is_file():
        raise InvalidInputError(f"There is no file {source.data}; name a table with a row for each user and item.")
    rows = read_interactions(source.data, user=source.user, item=source.item, weight=source.weight)
    return rows if source.split is None else rows.take(split_rows(len(rows), source.split), source.split)


def like_the_fit(source: Source, record: Mapping[str, Any]) -> Source:
    """Return a source with the columns of pairs that a run was fitted on, where none are given.

    ``record`` is what the run keeps of its data. A file that is no table of pairs is left as it is.
    """
    from fewhot.data.files.pairs import is_table_of_pairs

    known = {name: record.get(name) for name in COLUMNS}
    given = {name: getattr(source, name) for name in COLUMNS}
    if known["item"] is None or source.is_dataset or not is_table_of_pairs(source.data):
        check_columns(given)
        return source
    return replace(source, **{name: given[name] or known[name] for name in COLUMNS})


def with_items(rows: Loaded, known: Sequence[str] | None) -> Loaded:
    """Return the items of users in the order of a fit: none for those the file lacks, and without those it adds."""
    import numpy as np
    import scipy.sparse as sp

    if known is None or rows.feature_names is None or rows.feature_names == list(known):
        return rows
    place = {str(name): column for column, name in enumerate(known)}
    columns = np.array([place.get(name, -1) for name in rows.feature_names])
    found: Any = sp.coo_array(rows.X)
    new = columns[found.coords[1]]
    kept = new >= 0
    if not kept.any():
        raise InvalidInputError(
            f"No item of {rows.name} was in the fit, such as {rows.feature_names[0]!r}; give items of the fit, such as "
            f"{known[0]!r}."
        )
    if not (columns >= 0).all():
        example = rows.feature_names[int(np.argmin(columns))]
        n = int((columns < 0).sum())
        items, were = ("item", "was") if n == 1 else ("items", "were")
        note(f"warning: {n:,} {items} of {rows.name}, such as {example!r}, {were} not in the fit.")
    entries = (found.data[kept], (found.coords[0][kept], new[kept]))
    X = sp.csr_array(entries, shape=(len(rows), len(known)))
    return replace(rows, X=X, feature_names=list(known))
