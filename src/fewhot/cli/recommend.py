"""``fewhot recommend``: the best items of each user."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fewhot.cli.console import finite, note, say, say_json, say_table
from fewhot.cli.options import DATA_HELP, DataDir, Device, Force, Item, Json, Run, Split, User, Weight
from fewhot.core.errors import InvalidInputError, InvalidParameterError, RunFolderError

if TYPE_CHECKING:
    from fewhot.data import Loaded

EXAMPLE = """\
Examples:

[bold]fewhot recommend runs/likes likes.csv -n 5[/bold]

[bold]fewhot recommend runs/likes --items tea,milk[/bold]

[bold]fewhot recommend runs/likes likes.csv --out best.csv[/bold]
"""
SHOWN = 20
"""How many users are printed; a file has them all."""
_ENDINGS = (".csv", ".json")


def recommend(
    run: Run,
    data: Annotated[
        str | None, typer.Argument(metavar="DATA", help=f"What users have. {DATA_HELP}", show_default=False)
    ] = None,
    items: Annotated[
        list[str] | None,
        typer.Option(
            help="Items of one user instead of DATA, with commas between them; may be given several times.",
            show_default=False,
        ),
    ] = None,
    n: Annotated[int, typer.Option("-n", help="How many items to list.")] = 10,
    seen: Annotated[bool, typer.Option("--seen", help="List what users have, too.")] = False,
    out: Annotated[
        Path | None, typer.Option(help="A file for all users instead: .csv or .json.", show_default=False)
    ] = None,
    user: User = None,
    item: Item = None,
    weight: Weight = None,
    split: Split = None,
    data_dir: DataDir = None,
    device: Device = "auto",
    force: Force = False,
    json: Json = False,
) -> None:
    """List the best items of each user in DATA, or of one who has --items, without what they have.

    A score is what the model expects of an item. It orders one user's items; scores of two users cannot be compared.
    """
    from fewhot.cli.outputs import free_file
    from fewhot.cli.rows import source_of

    if (data is None) != bool(items):
        raise InvalidParameterError("Give either DATA or --items: what the users have.")
    target = None if out is None else free_file(out, force=force, source=data or "")
    if target is not None and target.suffix.lower() not in _ENDINGS:
        raise InvalidParameterError(
            f"{target} ends in {target.suffix!r}; give --out a file that ends in .csv or .json."
        )
    model = _recommender(run, device)
    if data is None:
        users, found = None, _for_items(run, model, items or [], n, seen=seen)
    else:
        source = source_of(data, split, None, data_dir, user=user, item=item, weight=weight)
        rows = _rows_like_those_of(run, model, source)
        users, found = rows.users, model.recommend(rows.X, n, exclude_seen=not seen)
    lists = _lists(users, *found)
    if target is not None:
        _write(target, lists)
        say(f"{len(lists):,} lists of up to {n:,} items are in {target}.")
    elif json:
        say_json(finite([{"user": one.user, "items": one.items, "scores": one.scores} for one in lists]))
    else:
        _show(lists, of_one=data is None)


@dataclass(frozen=True, slots=True)
class _List:
    """What one user is recommended."""

    user: str
    items: list[Any]
    scores: list[float]


def _recommender(run: Path, device: str) -> Any:
    from fewhot.cli.config import FILE
    from fewhot.cli.runs import is_finished
    from fewhot.estimators import load

    if (run / FILE).is_file() and not is_finished(run):
        raise RunFolderError(f"{run} holds a fit that is not finished; finish it first: fewhot fit --resume {run}.")
    model = load(run, device=device)
    if not hasattr(model, "recommend"):
        raise RunFolderError(
            f"{run} holds {type(model).__name__}, which recommends nothing; fit nfa on likes: --user, --item."
        )
    return model


def _for_items(run: Path, model: Any, items: Sequence[str], n: int, *, seen: bool) -> tuple[Any, Any]:
    from fewhot.estimators.histories import item_names

    known = item_names(model)
    names = set() if known is None else set(map(str, known))
    named = [name for text in items for name in _names_in(text, names)]
    if not named:
        raise InvalidParameterError("--items names no item; give some with commas between them, such as --items a,b.")
    if known is not None and not names & set(named):
        alike = [name for name in map(str, known) if named[0].lower() in name.lower()] or difflib.get_close_matches(
            named[0], map(str, known), n=1
        )
        meant = f"use {alike[0]!r}, perhaps." if alike else f"give items of the fit, such as {str(known[0])!r}."
        raise InvalidInputError(f"{named[0]!r} was not in the fit of {run}; {meant}")
    if known is None and all(name.isdecimal() for name in named):
        return model.recommend([[int(name) for name in named]], n, exclude_seen=not seen)
    return model.recommend([named], n, exclude_seen=not seen)


def _names_in(items: str, known: set[str]) -> list[str]:
    """Return the items between commas; what is one item with its commas, of those of the fit, stays together.

    >>> _names_in("Godfather, The (1972), tea", {"Godfather, The (1972)", "tea"})
    ['Godfather, The (1972)', 'tea']
    """
    pieces, named = items.split(","), []
    while pieces:
        joined = [",".join(pieces[:n]).strip() for n in range(len(pieces), 0, -1)]
        name = next((name for name in joined if name in known), joined[-1])
        del pieces[: name.count(",") + 1]
        named += [name] if name else []
    return named


def _rows_like_those_of(run: Path, model: Any, source: Any) -> Loaded:
    from fewhot.cli.rows import n_columns
    from fewhot.cli.runs import rows_as_in

    rows = rows_as_in(run, model, source)
    if n_columns(rows) != model.n_features_in_:
        raise InvalidInputError(
            f"{rows.name} has {n_columns(rows)} columns and {run} was fitted on {model.n_features_in_}; give rows with "
            f"the same columns, or name those of users and items by --user and --item."
        )
    return rows


def _lists(users: Sequence[str] | None, items: Any, scores: Any) -> list[_List]:
    """Return the list of each user; a user without a name is called by the row's number, from 1."""
    names = [str(row + 1) for row in range(len(items))] if users is None else users
    lists = []
    for user, row, values in zip(names, items.tolist(), scores.tolist(), strict=True):
        kept = [(item, score) for item, score in zip(row, values, strict=True) if item is not None and item != -1]
        lists.append(_List(user, [item for item, _ in kept], [score for _, score in kept]))
    return lists


def _show(lists: Sequence[_List], *, of_one: bool) -> None:
    if of_one:
        say_table(
            ["item", "score"], [[str(i), f"{s:.3g}"] for i, s in zip(lists[0].items, lists[0].scores, strict=True)]
        )
        return
    say_table(["user", "items, best first"], [[one.user, ", ".join(map(str, one.items))] for one in lists[:SHOWN]])
    if len(lists) > SHOWN:
        note(f"{len(lists) - SHOWN:,} more users: --out writes all to a file.")


def _write(path: Path, lists: Sequence[_List]) -> None:
    """Write all lists, atomically: a line for each item, or an object for each user."""
    import csv

    from fewhot.core.files import replacing_file, write_json

    if path.suffix.lower() == ".json":
        write_json(path, [{"user": one.user, "items": one.items, "scores": one.scores} for one in lists])
        return
    with replacing_file(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["user", "rank", "item", "score"])
        for one in lists:
            ranked = enumerate(zip(one.items, one.scores, strict=True), start=1)
            table.writerows([one.user, rank, item, f"{score:.7g}"] for rank, (item, score) in ranked)
