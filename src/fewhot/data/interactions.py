"""Who has what, as lists of item ids or as a frame of (user, item[, weight]), made a matrix of users and items."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from fewhot.core.errors import InvalidInputError, InvalidTypeError

Name = str | int
"""What an item or a user is called."""

_IDS = ("", "id", "ids", "s")
USERS = frozenset(f"{word}{end}" for word in ("user", "customer", "session", "u") for end in _IDS) | {"username"}
ITEMS = frozenset(
    f"{word}{end}"
    for word in ("item", "product", "movie", "film", "artist", "track", "song", "book", "article", "i")
    for end in _IDS
) | {"isbn"}
WEIGHTS = frozenset(["weight", "rating", "ratings", "stars", "score", "count", "counts", "plays", "value", "quantity"])
TIMES = frozenset(["time", "timestamp", "date", "datetime", "day", "month", "year"])
"""Names of columns, in lower case and without anything but letters."""

_WIDEST = 10
"""Frames of more columns are matrices: words of documents may be called user and item."""
_MANY = 20
"""So many different whole numbers in both of the first columns are ids: no matrix of two or three items has them."""
_LISTS = (list, tuple, set, frozenset, np.ndarray)


@dataclass(frozen=True, slots=True, kw_only=True)
class Interactions:
    """A matrix of users and items with the names of both.

    Attributes
    ----------
    X
        The weights, (users, items), CSR; pairs given twice are added up.
    users
        The users in the order in which they were first met; their places where they came as lists.
    items
        The items: those that are known, or else all, sorted.
    n_unknown, unknown
        How many different items were left out because they are not known, and one of them.
    """

    X: Any
    users: list[Name]
    items: list[Name]
    n_unknown: int = 0
    unknown: Name | None = None


def is_frame(X: Any) -> bool:
    """Say whether ``X`` is a frame of pandas or polars."""
    return hasattr(X, "columns") and hasattr(X, "dtypes")


def as_interactions(X: Any, known: Sequence[Name] | None = None, name: str = "X") -> Interactions | None:
    """Return who has what; None for anything but lists of items and frames of pairs.

    Lists of words are lists of items. Lists of whole numbers are, too, unless all have the same length and could be
    rows of a matrix: as long as there are ``known`` items, or, where none are known, nowhere larger than the number of
    columns or with a number twice in a row. A frame is one of pairs if its columns are called so, such as ``user_id``,
    ``movie`` and ``rating``, or if it has two or three columns and one of the first two holds words.

    Parameters
    ----------
    X
        What the user handed over.
    known
        The items of a fit, in the order of its columns. None takes all that are there.
    name
        What a sentence calls the data.

    Examples
    --------
    >>> found = as_interactions([["tea", "milk"], ["tea"]])
    >>> found.items, found.X.toarray().tolist()
    (['milk', 'tea'], [[1.0, 1.0], [0.0, 1.0]])
    """
    if is_frame(X):
        return _of_frame(X, known, name)
    lists = _lists(X, None if known is None else len(known))
    if lists is None:
        return None
    lengths = [len(row) for row in lists]
    items = [item for row in lists for item in row]
    rows = np.repeat(np.arange(len(lists)), lengths)
    X_items, columns, unknown = _columns(items, known, f"an item of {name}")
    return _matrix(rows, columns, np.ones(len(items)), list(range(len(lists))), X_items, unknown)


def of_pairs(
    users: Sequence[Any],
    items: Sequence[Any],
    weights: Any = None,
    known: Sequence[Name] | None = None,
    name: str = "X",
) -> Interactions:
    """Return who has what of pairs of users and items, each with its weight or 1."""
    values = np.ones(len(items)) if weights is None else _weights(weights, name)
    names = {user: _name(user, f"a user of {name}") for user in dict.fromkeys(users)}
    order = {user: row for row, user in enumerate(dict.fromkeys(names.values()))}
    rows = np.fromiter((order[names[user]] for user in users), np.int64, len(users))
    X_items, columns, unknown = _columns(items, known, f"an item of {name}")
    return _matrix(rows, columns, values, list(order), X_items, unknown)


def find_items(items: Iterable[Any], known: Sequence[Name], what: str = "an item") -> dict[Any, int | None]:
    """Return the column of each item that is asked for, None where it is not known.

    An item is found by its name, and where no item is called so by what the name looks like: ``50`` finds "50".
    """
    columns = {item: column for column, item in enumerate(known)}
    spelled = {str(item): column for column, item in enumerate(known)}
    asked = {item: _name(item, what) for item in dict.fromkeys(items)}
    return {item: columns.get(name, spelled.get(str(name))) for item, name in asked.items()}


def _matrix(
    rows: np.ndarray, columns: np.ndarray, values: np.ndarray, users: list[Name], items: list[Name], unknown: list[Name]
) -> Interactions:
    kept = columns >= 0
    shape = (len(users), len(items))
    X: Any = sp.csr_array((values[kept].astype(np.float32), (rows[kept], columns[kept])), shape=shape)
    X.sum_duplicates()
    return Interactions(X=X, users=users, items=items, n_unknown=len(unknown), unknown=next(iter(unknown), None))


def _columns(
    items: Sequence[Any], known: Sequence[Name] | None, what: str
) -> tuple[list[Name], np.ndarray, list[Name]]:
    """Return the items that have a column, the column of each entry, -1 where unknown, and the unknown items."""
    if known is None:
        names = {item: _name(item, what) for item in dict.fromkeys(items)}
        known = sorted(set(names.values()), key=lambda item: (isinstance(item, str), item))
        place = {item: column for column, item in enumerate(known)}
        found: dict[Any, int | None] = {item: place[name] for item, name in names.items()}
    else:
        found = find_items(items, known, what)
    columns = np.fromiter((-1 if (c := found[item]) is None else c for item in items), np.int64, len(items))
    return list(known), columns, [item for item, column in found.items() if column is None]


def _name(value: Any, what: str) -> Name:
    """Return what an item or a user is called, as Python has it: a word or a whole number."""
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, float) and plain.is_integer():  # pandas has whole numbers beside missing ones so
        return int(plain)
    if plain is None or plain != plain or str(plain) in ("", "<NA>", "NaT"):
        raise InvalidInputError(f"The name of {what} is missing; drop such entries first.")
    if isinstance(plain, bool) or not isinstance(plain, str | int):
        raise InvalidTypeError(f"The name of {what} is {reprlib.repr(plain)}; give words or whole numbers.")
    return plain


def _weights(weights: Any, name: str) -> np.ndarray:
    try:
        values = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidTypeError(f"The weights of {name} are not numbers ({error}); give numbers from 0 up.") from error
    if not np.isfinite(values).all():
        raise InvalidInputError(f"The weights of {name} have missing or infinite values; give numbers from 0 up.")
    if len(values) and values.min() < 0:
        raise InvalidInputError(
            f"Negative values in data: the weights of {name} hold {values.min():g}; give numbers from 0 up, more where "
            f"a user likes an item more."
        )
    return values


# ----------------------------------------------------------------------------------------------------- lists


def _lists(X: Any, n_known: int | None) -> list[Any] | None:
    """Return lists of items as lists; None for anything else."""
    if hasattr(X, "to_list") and not is_frame(X):  # a column of a frame
        X = X.to_list()
    if not isinstance(X, list | tuple) or not X or not all(isinstance(row, _LISTS) for row in X):
        return None
    if any(isinstance(row, np.ndarray) and row.ndim != 1 for row in X):
        return None
    lists = [sorted(row, key=str) if isinstance(row, set | frozenset) else list(row) for row in X]
    items = [item for row in lists for item in row]
    if any(isinstance(item, str) for item in items) or not items:
        return lists
    if not all(isinstance(item, int | np.integer) and not isinstance(item, bool) for item in items):
        return None
    return None if _is_matrix(lists, max(items), n_known) else lists


def _is_matrix(lists: list[Any], largest: int, n_known: int | None) -> bool:
    """Say whether lists of whole numbers are rows of a matrix, and not ids."""
    widths = {len(row) for row in lists}
    if len(widths) > 1:
        return False
    width = widths.pop()
    if n_known is not None:
        return width == n_known
    return largest <= width or any(len(set(row)) < width for row in lists)


# ----------------------------------------------------------------------------------------------------- frames


def _of_frame(frame: Any, known: Sequence[Name] | None, name: str) -> Interactions | None:
    columns = _columns_of_pairs(frame, name)
    if columns is None:
        return None
    if not len(frame):
        raise InvalidInputError(f"{name} has no pairs of a user and an item; give at least one.")
    user, item, weight = columns
    weights = None if weight is None else frame[weight].to_numpy()
    return of_pairs(frame[user].to_list(), frame[item].to_list(), weights, known, name)


def _columns_of_pairs(frame: Any, name: str) -> tuple[Any, Any, Any] | None:
    """Return the columns of users, items and weights (or None); None where a frame is a matrix."""
    columns = list(frame.columns)
    if len(columns) > _WIDEST:
        return None
    plain = ["".join(filter(str.isalpha, str(column).lower())) for column in columns]
    user, item, weight = (_only(columns, plain, names, name) for names in (USERS, ITEMS, WEIGHTS))
    if user is not None and item is not None:
        return user, item, weight if weight is not None else _third(frame, columns, plain, (user, item))
    if len(columns) not in (2, 3):
        return None
    user, item = columns[:2]
    if _holds_words(frame[user]) or _holds_words(frame[item]):
        if plain[1] in WEIGHTS | TIMES:
            raise InvalidInputError(
                f"{name} has the columns {', '.join(map(repr, columns))}, and {item!r} stands where items are; give "
                f"users, items and, if there are any, weights, in this order or called so."
            )
        return user, item, _third(frame, columns, plain, (user, item))
    if all(_looks_like_ids(frame[column]) for column in (user, item)):
        raise InvalidInputError(
            f"{name} has the columns {', '.join(map(repr, columns))}, which look like ids; call them user, item and "
            f"weight if they are pairs of users and items, or give the values as an array if they are counts."
        )
    return None


def _only(columns: list[Any], plain: list[str], names: frozenset[str], name: str) -> Any:
    """Return the one column with such a name; None where there is none."""
    found = [column for column, word in zip(columns, plain, strict=True) if word in names]
    if len(found) > 1:
        raise InvalidInputError(
            f"{name} has the columns {', '.join(map(repr, found))}, and one of them is enough; leave the others out."
        )
    return found[0] if found else None


def _third(frame: Any, columns: list[Any], plain: list[str], pair: tuple[Any, Any]) -> Any:
    """Return the column beside users and items, if it is the only one and holds numbers that are no times."""
    others = [(column, word) for column, word in zip(columns, plain, strict=True) if column not in pair]
    if len(others) != 1 or others[0][1] in TIMES or not _holds_numbers(frame[others[0][0]]):
        return None
    return others[0][0]


def _holds_numbers(column: Any) -> bool:
    return np.asarray(column.to_numpy()).dtype.kind in "iuf"


def _holds_words(column: Any) -> bool:
    return any(isinstance(value, str) for value in column.to_list())


def _looks_like_ids(column: Any) -> bool:
    values = np.asarray(column.to_numpy())
    if values.dtype.kind not in "iu":
        return False
    return len(np.unique(values)) > _MANY
