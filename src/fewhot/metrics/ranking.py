"""Ranking held-out items: Recall@N and NDCG@N, of scores or of lists."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from fewhot.core.checks import whole_number
from fewhot.core.errors import InvalidInputError, InvalidParameterError
from fewhot.metrics.estimates import Estimate, estimate
from fewhot.metrics.matrices import as_matrix, is_sparse, same_shape

LONGEST = 10_000
"""How long a list may be where there are fewer items."""
NO_ITEM = -1
"""The id that fills a list with fewer items than places."""

_CHUNK_ELEMENTS = 1 << 22


def recall_at(scores: Any, held_out: Any, n: int, fold_in: Any = None) -> Estimate:
    r"""Return the share of held-out items among the first ``n`` of each user's ranking.

    .. math:: \mathrm{Recall@}N(u) = \frac{\text{hits in the first } N}{\min(N, |\text{held-out}(u)|)}

    Parameters
    ----------
    scores
        What the model says of every item, (users, items); higher comes first, equal scores in the order of the items.
    held_out
        The items to find: not zero where a user has one, (users, items), an array or a sparse matrix.
    n
        How long the list is.
    fold_in
        The items the model was shown, which are never ranked; None for none.

    Returns
    -------
    Estimate
        Mean over users, its standard error and the value of each user; users without held-out items are ``skipped``.

    Examples
    --------
    >>> recall_at(np.array([[3.0, 2.0, 1.0]]), np.array([[1, 0, 1]]), n=2).mean
    0.5
    """
    return recall_of(_lists(scores, held_out, n, fold_in), held_out, n)


def ndcg_at(scores: Any, held_out: Any, n: int, fold_in: Any = None) -> Estimate:
    r"""Return the normalised discounted cumulative gain of the first ``n`` of each user's ranking.

    .. math:: \mathrm{NDCG@}N(u) = \sum_{v \le N} \frac{\mathbb{1}[\text{hit at } v]}{\log_2(v+1)} \Big/
        \sum_{v \le \min(N, |\text{held-out}(u)|)} \frac{1}{\log_2(v+1)}

    Parameters and returned value are those of `recall_at`.

    Examples
    --------
    >>> round(ndcg_at(np.array([[3.0, 2.0, 1.0]]), np.array([[1, 0, 1]]), n=3).mean, 9)
    0.919720789
    """
    return ndcg_of(_lists(scores, held_out, n, fold_in), held_out, n)


def recall_of(ids: Any, held_out: Any, n: int) -> Estimate:
    """Return `recall_at` of lists that are already made, such as those of a recommender's ``recommend``.

    Parameters
    ----------
    ids
        The items of each user's list, best first, (users, at least n); -1 where a list has no further item.
    held_out
        The items to find: not zero where a user has one, (users, items), an array or a sparse matrix.
    n
        How many of each list count.

    Examples
    --------
    >>> recall_of([[0, 1, -1]], np.array([[1, 0, 1]]), n=2).mean
    0.5
    """
    hits, wanted = _hits(ids, held_out, n)
    asked = wanted > 0
    return estimate(hits.sum(axis=1)[asked] / np.minimum(n, wanted[asked]), skipped=int((~asked).sum()))


def ndcg_of(ids: Any, held_out: Any, n: int) -> Estimate:
    """Return `ndcg_at` of lists that are already made; parameters are those of `recall_of`.

    Examples
    --------
    >>> round(ndcg_of([[0, 1, 2]], np.array([[1, 0, 1]]), n=3).mean, 9)
    0.919720789
    """
    hits, wanted = _hits(ids, held_out, n)
    asked = wanted > 0
    longest = max(hits.shape[1], int(wanted.max()))
    gain = 1 / np.log2(np.arange(2, longest + 2, dtype=np.float64))
    ideal = np.cumsum(gain)[np.minimum(n, wanted[asked]) - 1]
    return estimate(hits[asked] @ gain[: hits.shape[1]] / ideal, skipped=int((~asked).sum()))


def top_items(scores: Any, n: int, excluded: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """Return the ids and the scores of the ``n`` best items of each row, best first; equal scores by the smaller id.

    Parameters
    ----------
    scores
        (rows, items), without NaN.
    n
        How long each list is.
    excluded
        True for the items that are not listed, (rows, items); None for none.

    Returns
    -------
    ids, scores : numpy.ndarray
        Both (rows, n). A row with fewer than ``n`` items to list ends in ids of -1, whose score is minus infinity.

    Examples
    --------
    >>> ids, scores = top_items([[1.0, 3.0, 3.0]], n=2)
    >>> ids.tolist(), scores.tolist()
    ([[1, 2]], [[3.0, 3.0]])
    """
    rows = np.asarray(scores)
    most = max(rows.shape[-1], LONGEST) if rows.ndim else LONGEST
    if whole_number("n", n) > most:
        raise InvalidParameterError(f"n is {n}, and there are {rows.shape[-1]} items; give at most {most}.")
    rows = rows.astype(np.result_type(rows.dtype, np.float32), copy=False)
    if np.isnan(rows).any():
        raise InvalidInputError("scores contains NaN, which has no rank; give numbers.")
    keys = np.maximum(rows, np.finfo(rows.dtype).min)  # a copy, in which only excluded items are minus infinity
    if excluded is not None:
        keys[excluded] = -np.inf
    length = min(n, rows.shape[1])
    best = _best(keys, length)
    places = np.argsort(-np.take_along_axis(keys, best, axis=1), axis=1, kind="stable")
    best = np.take_along_axis(best, places, axis=1)
    listed = np.take_along_axis(keys, best, axis=1) > -np.inf
    ids = np.full((len(rows), n), NO_ITEM, dtype=np.int64)
    values = np.full((len(rows), n), -np.inf, dtype=rows.dtype)
    ids[:, :length] = np.where(listed, best, NO_ITEM)
    values[:, :length] = np.where(listed, np.take_along_axis(rows, best, axis=1), -np.inf)
    return ids, values


def marks(matrix: Any, rows: slice) -> np.ndarray:
    """Return where some rows of an array or a CSR matrix are not zero, dense."""
    part = matrix[rows]
    return (part.toarray() if is_sparse(part) else part) != 0


def chunks(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Yield slices of rows that are small enough to be dense."""
    size = max(1, _CHUNK_ELEMENTS // max(1, n_columns))
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


def refuse_overlap(fold_in: Any, held_out: Any) -> None:
    """Refuse an item that was both shown and held out."""
    for rows in chunks(*held_out.shape):
        both = (marks(fold_in, rows) & marks(held_out, rows)).any(axis=1)
        if both.any():
            raise InvalidInputError(
                f"User {rows.start + int(np.argmax(both))} has an item both in fold_in and in held_out; an item that "
                f"was shown cannot be found."
            )


def _lists(scores: Any, held_out: Any, n: int, fold_in: Any) -> np.ndarray:
    whole_number("n", n)
    ranked = np.asarray(scores)
    wanted = as_matrix(held_out, "held_out")
    same_shape(ranked, wanted, "scores and held_out")
    seen = None if fold_in is None else as_matrix(fold_in, "fold_in")
    if seen is not None:
        same_shape(ranked, seen, "scores and fold_in")
        refuse_overlap(seen, wanted)
    return np.concatenate(
        [top_items(ranked[rows], n, None if seen is None else marks(seen, rows))[0] for rows in chunks(*ranked.shape)]
    )


def _hits(ids: Any, held_out: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return which of the first ``n`` of each list are held out, and how many held-out items each user has."""
    whole_number("n", n)
    wanted = as_matrix(held_out, "held_out")
    lists = np.asarray(ids)
    _check_lists(lists, wanted.shape, n)
    lists = lists[:, : min(n, wanted.shape[1])]
    hits, n_wanted = np.empty(lists.shape, dtype=bool), np.empty(len(lists), dtype=np.int64)
    for rows in chunks(*wanted.shape):
        is_wanted = marks(wanted, rows)
        found = np.take_along_axis(is_wanted, np.maximum(lists[rows], 0), axis=1)
        hits[rows] = found & (lists[rows] != NO_ITEM)
        n_wanted[rows] = is_wanted.sum(axis=1)
    return hits, n_wanted


def _check_lists(lists: np.ndarray, shape: tuple[int, int], n: int) -> None:
    if lists.ndim != 2 or lists.dtype.kind not in "iu" or len(lists) != shape[0] or lists.shape[1] < n:
        raise InvalidInputError(
            f"ids is {lists.dtype} of shape {lists.shape}; give whole numbers of shape (users, n) for {shape[0]} "
            f"users and n={n}."
        )
    if lists.min() < NO_ITEM or lists.max() >= shape[1]:
        raise InvalidInputError(
            f"ids run from {lists.min()} to {lists.max()}; give columns of held_out, 0 to {shape[1] - 1}, and "
            f"{NO_ITEM} for no item."
        )
    in_order = np.sort(lists, axis=1)
    if ((in_order[:, 1:] == in_order[:, :-1]) & (in_order[:, 1:] != NO_ITEM)).any():
        raise InvalidInputError("ids lists an item twice for one user; give each item once.")


def _best(keys: np.ndarray, length: int) -> np.ndarray:
    """Return the columns of the ``length`` largest of each row, by column; of equal ones the first."""
    n_columns = keys.shape[1]
    if length == n_columns:
        return np.tile(np.arange(n_columns, dtype=np.int64), (len(keys), 1))
    least = np.partition(keys, n_columns - length, axis=1)[:, n_columns - length, None]
    above, tied = keys > least, keys == least
    room = length - above.sum(axis=1, keepdims=True)
    kept = above | (tied & (np.cumsum(tied, axis=1) <= room))
    return np.nonzero(kept)[1].reshape(-1, length)
