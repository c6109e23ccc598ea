"""What keeps a table from being read as numbers: every column at once, with what to do about it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fewhot.core.errors import InvalidInputError, InvalidTypeError, UnpreparedTableError
from fewhot.data.tables.columns import RawColumns, column_of
from fewhot.data.tables.plans import Category, Date, Dropped, Number, Plan, plan_for

MAX_LISTED = 15
"""How many columns a listing has at most."""
_EXAMPLES = 2
_GAPS = "missing"
_USERS, _ITEMS = ("user", "customer", "reader"), ("item", "movie", "film", "product", "article", "book", "song")
_PAIR_COLUMNS = 4
_SPANS = ("timedelta", "duration")

REMEDIES = (
    "prepare=True does what stands on the right; drop= leaves columns out, columns= keeps only those that are named, "
    "label= takes one as labels, text= takes one as texts to fit."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A column that is not plain numbers.

    Attributes
    ----------
    name
        What the column is called.
    holds
        What is in it.
    prepared
        What preparing makes of it.
    """

    name: str
    holds: str
    prepared: str


def problems(raw: RawColumns) -> list[Problem]:
    """Return the columns that are not plain, finite numbers.

    >>> table = {"age": [31, 45], "city": ["Bonn", "Kiel"], "joined": ["2024-01-31", "2024-02-01"]}
    >>> from fewhot.data.tables import raw_columns
    >>> [problem.holds for problem in problems(raw_columns(table))]
    ["text, 2 different values ('Bonn', 'Kiel')", "dates ('2024-01-31', '2024-02-01')"]
    """
    found = (_problem(name, cells, raw.decimal) for name, cells in zip(raw.names, raw.cells, strict=True))
    return [problem for problem in found if problem is not None]


def check_plain(raw: RawColumns, source: str) -> None:
    """Refuse a table with columns that are not plain numbers, listing all of them."""
    found = problems(raw)
    if found:
        pair = pair_of_names(raw.names) if raw.has_names else None
        pairs = "" if pair is None else f" Who likes what is fitted by user={pair[0]!r}, item={pair[1]!r} instead."
        listing = _listing(found, len(raw.names), source, has_names=raw.has_names)
        raise UnpreparedTableError(listing, f"{REMEDIES}{pairs}")


def pair_of_names(names: Sequence[str]) -> tuple[str, str] | None:
    """Return which columns are called as users and items are, in a table of little else.

    >>> pair_of_names(["userId", "movieId", "rating"]), pair_of_names(["height", "item"])
    (('userId', 'movieId'), None)
    """
    plain = {"".join(filter(str.isalpha, name.lower())).removesuffix("id"): name for name in names}
    users, items = ([plain[word] for word in words if word in plain] for words in (_USERS, _ITEMS))
    return (users[0], items[0]) if users and items and len(names) <= _PAIR_COLUMNS else None


def check_frame(columns: Iterable[tuple[str, Any]], name: str) -> None:
    """Refuse a frame with columns of words, dates or gaps, naming all of them and what turns them into numbers."""
    all_columns = list(columns)
    found = [p for column, values in all_columns if (p := _problem_of_frame(column, values, name)) is not None]
    if not found:
        return
    listed = ", ".join(f"{problem.name!r} ({problem.holds})" for problem in found[:MAX_LISTED])
    more = f" and {len(found) - MAX_LISTED} more" if len(found) > MAX_LISTED else ""
    error = InvalidInputError if all(problem.holds.endswith(_GAPS) for problem in found) else InvalidTypeError
    only = found[0].name if len(all_columns) == 1 and found[0].holds.startswith("text") else None
    texts = "" if only is None else f"; texts to fit are one column, such as {name}[{only!r}]"
    raise error(
        f"{name} has columns that are not plain numbers: {listed}{more}; encode them with "
        f"fewhot.data.TableVectorizer().fit_transform({name}) or scikit-learn's ColumnTransformer, or drop them{texts}."
    )


def _problem_of_frame(column: str, values: Any, name: str) -> Problem | None:
    if str(values.dtype).lower().startswith(_SPANS):
        return Problem(name=column, holds="spans of time", prepared="days")
    return _problem(column, _as_numbers(column_of(values, f"column {column!r} of {name}")), None)


def _as_numbers(cells: np.ndarray) -> np.ndarray:
    """Return strings that all are plain numbers as such, as scikit-learn reads them."""
    if cells.dtype.kind != "O" or any(cell is None for cell in cells):
        return cells
    try:
        return cells.astype(np.float64)
    except ValueError:
        return cells


def _listing(found: list[Problem], n_columns: int, source: str, *, has_names: bool) -> str:
    called = [problem.name if has_names else f"column {int(problem.name) + 1}" for problem in found[:MAX_LISTED]]
    first, second = max(map(len, called)), max(len(problem.holds) for problem in found[:MAX_LISTED])
    lines = [
        f"  {name:<{first}}  {problem.holds:<{second}}  -> {problem.prepared}"
        for name, problem in zip(called, found[:MAX_LISTED], strict=True)
    ]
    if len(found) > MAX_LISTED:
        lines.append(f"  and {len(found) - MAX_LISTED} more")
    amount = f"{len(found)} of {n_columns} columns of {source} {'are' if len(found) > 1 else 'is'}"
    return "\n".join([f"{amount} not plain numbers:", *lines])


def _problem(name: str, cells: np.ndarray, decimal: str | None) -> Problem | None:
    n_missing = _n_missing(cells)
    if not n_missing and cells.dtype.kind in "biuf":
        return None
    plan = plan_for(name, cells, decimal)
    gaps = f"{n_missing:,} of {len(cells):,} {_GAPS}" if n_missing else ""
    holds = "; ".join(filter(None, [_content(plan, cells), gaps]))
    return Problem(name=name, holds=holds, prepared=_treatment(plan, n_missing, is_text=cells.dtype.kind == "O"))


def _n_missing(cells: np.ndarray) -> int:
    if cells.dtype.kind == "O":
        return sum(cell is None for cell in cells)
    if cells.dtype.kind == "M":
        return int(np.isnat(cells).sum())
    return int(np.isnan(cells).sum()) if cells.dtype.kind == "f" else 0


def _content(plan: Plan, cells: np.ndarray) -> str:
    """Return what a column holds, in words; nothing for numbers with gaps."""
    if cells.dtype.kind == "M":
        return "dates"
    if cells.dtype.kind != "O":
        return ""
    different = dict.fromkeys(cell for cell in cells if cell is not None)
    examples = ", ".join(_short(cell) for cell in list(different)[:_EXAMPLES])
    if not different:
        return "nothing"
    if isinstance(plan, Date):
        return f"dates ({examples})"
    if isinstance(plan, Number):
        kinds = {"truth": "yes and no", "time": "times of day"}
        return f"{kinds.get(plan.reads, 'numbers written as text')} ({examples})"
    number = f"{len(different):,} different values" if len(different) > 1 else "one value"
    return f"text, {number} ({examples})"


def _treatment(plan: Plan, n_missing: int, *, is_text: bool) -> str:
    """Return what preparing does, in words."""
    if isinstance(plan, Dropped):
        return "left out"
    if isinstance(plan, Category):
        n = len(plan.outputs)
        return f"{n} columns of 0 and 1" if n > 1 else "one column of 0 and 1"
    kinds = {"truth": "1 and 0", "time": "a share of the day"}
    what = "days since the first" if isinstance(plan, Date) else "read as numbers"
    if isinstance(plan, Number):
        what = kinds.get(plan.reads, what if is_text else "")
    return ", ".join(filter(None, [what, "median in gaps" if n_missing else ""]))


def _short(cell: str, limit: int = 24) -> str:
    text = repr(cell)
    return text if len(text) <= limit else f"{text[: limit - 4]}...{text[0]}"
