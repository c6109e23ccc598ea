"""Ranking held-out items: Recall@N and NDCG@N."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from fewhot.core.checks import whole_number
from fewhot.core.errors import InvalidInputError
from fewhot.metrics.estimates import Estimate, estimate
from fewhot.metrics.matrices import as_matrix, is_sparse, same_shape


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
    values = [hits.sum() / min(n, wanted) if wanted else None for hits, wanted in _hits(scores, held_out, n, fold_in)]
    return _over_users(values)


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
    values: list[float | None] = []
    for hits, wanted in _hits(scores, held_out, n, fold_in):
        gain = 1 / np.log2(np.arange(2, len(hits) + 2))
        ideal = (1 / np.log2(np.arange(2, min(n, wanted) + 2))).sum()
        values.append(float(gain[hits].sum() / ideal) if wanted else None)
    return _over_users(values)


def _hits(scores: Any, held_out: Any, n: int, fold_in: Any) -> Iterator[tuple[np.ndarray, int]]:
    """Yield, for each user, which of the first ``n`` are held out, and how many held-out items there are."""
    whole_number("n", n)
    ranked = np.asarray(scores)
    wanted = as_matrix(held_out, "held_out")
    same_shape(ranked, wanted, "scores and held_out")
    seen = None if fold_in is None else as_matrix(fold_in, "fold_in")
    if seen is not None:
        same_shape(ranked, seen, "scores and fold_in")
    if np.isnan(ranked).any():
        raise InvalidInputError("scores contains NaN, which has no rank; give numbers.")
    for user, row in enumerate(ranked):
        is_wanted = _marks(wanted, user)
        is_seen = np.zeros(len(row), dtype=bool) if seen is None else _marks(seen, user)
        if (is_wanted & is_seen).any():
            raise InvalidInputError(
                f"User {user} has an item both in fold_in and in held_out; an item that was shown cannot be found."
            )
        yield is_wanted[_first(row, np.flatnonzero(~is_seen), n)], int(is_wanted.sum())


def _marks(matrix: Any, row: int) -> np.ndarray:
    if not is_sparse(matrix):
        return matrix[row] != 0
    marks = np.zeros(matrix.shape[1], dtype=bool)
    span = slice(matrix.indptr[row], matrix.indptr[row + 1])
    marks[matrix.indices[span][matrix.data[span] != 0]] = True
    return marks


def _first(row: np.ndarray, items: np.ndarray, n: int) -> np.ndarray:
    """Return the ``n`` best of ``items``, best first; ties in the order of the items."""
    scores = row[items]
    if n < len(items):
        kept = scores >= np.partition(scores, -n)[-n]
        items, scores = items[kept], scores[kept]
    return items[np.argsort(-scores, kind="stable")][:n]


def _over_users(values: list[float | None]) -> Estimate:
    defined = [value for value in values if value is not None]
    return estimate(defined, skipped=len(values) - len(defined))
