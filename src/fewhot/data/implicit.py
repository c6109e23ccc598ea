"""Ratings as yes or no: who liked what."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np
import scipy.sparse as sp

from fewhot.core.checks import real_number, whole_number
from fewhot.core.errors import DataError
from fewhot.data.files.table import Table

LEAST_RATING = 4.0
LEAST_ITEMS = 5
HIGHEST_RATING = 5.0

Ratings = Iterable[tuple[int, int, float]]
"""Users, items and ratings."""


def implicit_table(
    ratings: Ratings, titles: Mapping[int, str], source: object, *, least_rating: float, least_items: int
) -> Table:
    """Return a row of ones a user: the items the user rated well.

    Ratings below ``least_rating`` go first, then users with fewer than ``least_items`` items, then items without a
    user. Rows and columns are in the order of the numbers of users and items.

    Parameters
    ----------
    ratings
        Users, items and ratings, in any order.
    titles
        What the items are called; an item without a title is called by its number.
    source
        What a complaint calls the ratings.
    least_rating, least_items
        What a rating and a user must have to be kept.
    """
    real_number("least_rating", least_rating, low=0, high=HIGHEST_RATING)
    whole_number("least_items", least_items)
    users, items = array("q"), array("q")
    any_rating = False
    try:
        for user, item, rating in ratings:
            any_rating = True
            if rating >= least_rating:
                users.append(user)
                items.append(item)
    except OverflowError as error:
        raise DataError(f"{source} numbers a user or an item beyond 64 bits; get the published file.") from error
    if not any_rating:
        raise DataError(f"{source} has no ratings; get the published file.")
    if not users:
        raise DataError(f"{source} has no rating of at least {least_rating:g}; lower least_rating.")
    X, numbers = _ones(np.frombuffer(users, np.int64), np.frombuffer(items, np.int64), least_items)
    if not X.nnz:
        raise DataError(f"{source} has no user with {least_items} items; lower least_items.")
    return Table(X=X, feature_names=_names(numbers, titles))


def rating_of(text: str) -> float:
    """Return a number of stars; anything else is a ValueError."""
    rating = float(text)
    if not 0 <= rating <= HIGHEST_RATING:
        raise ValueError(text)
    return rating


def _ones(users: np.ndarray, items: np.ndarray, least_items: int) -> tuple[sp.csr_array, np.ndarray]:
    """Return the matrix of ones, and the numbers of its items."""
    user_numbers, item_numbers = np.unique(users), np.unique(items)
    rows, columns = np.searchsorted(user_numbers, users), np.searchsorted(item_numbers, items)
    shape = (len(user_numbers), len(item_numbers))
    X = sp.csr_array((np.ones(len(rows), dtype=np.float32), (rows, columns)), shape=shape)
    X.sum_duplicates()
    X.data[:] = 1
    kept = np.flatnonzero(np.diff(X.indptr) >= least_items)
    X = X[kept]
    seen = np.unique(X.indices)
    return X[:, seen], item_numbers[seen]


def _names(numbers: np.ndarray, titles: Mapping[int, str]) -> list[str]:
    """Return the titles of items; where two items have the same, each is followed by its number."""
    names = [titles.get(number, str(number)) for number in numbers.tolist()]
    times = Counter(names)
    return [
        f"{name} [{number}]" if times[name] > 1 else name for name, number in zip(names, numbers.tolist(), strict=True)
    ]
