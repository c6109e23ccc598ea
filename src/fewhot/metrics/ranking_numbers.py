"""What a recommender finds of items it is not shown, beside what is popular, as numbers of a summary."""

from __future__ import annotations

from typing import Any

import numpy as np

from fewhot.metrics.estimates import Estimate
from fewhot.metrics.libraries import library
from fewhot.metrics.numbers import estimated
from fewhot.metrics.observed import as_array
from fewhot.metrics.ranking import chunks, ndcg_of, top_items
from fewhot.metrics.summary import Number

LIST_LENGTH = 100
HIDDEN_SHARE = 0.2
_USERS = 2000
_SEED = 0
_BATCH = 4096


def ranking_numbers(estimator: Any, X: Any) -> list[Number]:
    """Return NDCG@100 of a fifth of each user's items, ranked from the others, and the same by popularity."""
    both = ndcg_of_hidden(estimator, X)
    if both is None:
        return []
    found, popular = both
    gain = found.values - popular.values
    se = float(gain.std(ddof=1) / len(gain) ** 0.5) if len(gain) > 1 else np.nan
    of = f"NDCG@{LIST_LENGTH} of a fifth of each user's items, hidden and ranked from the others"
    return [
        estimated("ndcg", found, "", f"{of}; {len(gain):,} users", float(gain.mean()) / se if se else np.nan),
        estimated(
            "ndcg_popularity", popular, "", "the same by how often items occur in the training rows, for all users"
        ),
    ]


def ndcg_of_hidden(estimator: Any, X: Any) -> tuple[Estimate, Estimate] | None:
    """Return the NDCG of each user's hidden items by a model and by popularity; the same items for every model.

    None for models that recommend nothing, for words and other counts, and where no user has five items.
    """
    references = getattr(estimator, "references_", None)
    if (
        getattr(estimator, "recipe_", None) != "likes"
        or references is None
        or references.columns.family != "multinomial"
    ):
        return None
    data = estimator._rows(X)
    rng: Any = np.random.default_rng(_SEED)
    users = np.sort(rng.permutation(data.n_rows)[:_USERS])
    rows = [library("scipy.sparse").csr_array(as_array(batch.x)) for batch in data.subset(users).batches(_BATCH)]
    shown, hidden = hide_items(library("scipy.sparse").vstack(rows, format="csr"), HIDDEN_SHARE, _SEED)
    if not hidden.nnz:
        return None
    found = ndcg_of(estimator._best_columns(shown, LIST_LENGTH)[0], hidden, LIST_LENGTH)
    return found, ndcg_of(_most_popular(references.columns.loc, shown), hidden, LIST_LENGTH)


def hide_items(rows: Any, share: float, seed: int) -> tuple[Any, Any]:
    """Return CSR rows without a share of each row's items, at least one more shown than hidden, and those items."""
    counts = np.diff(rows.indptr)
    user = np.repeat(np.arange(len(counts)), counts)
    rng: Any = np.random.default_rng(seed)
    drawn = rng.random(rows.nnz)
    rank = np.empty(rows.nnz, dtype=np.int64)
    rank[np.lexsort((drawn, user))] = np.arange(rows.nnz) - rows.indptr[user]
    is_hidden = rank < np.floor(share * counts + 1e-9)[user]
    return _only(rows, ~is_hidden), _only(rows, is_hidden)


def _only(rows: Any, kept: np.ndarray) -> Any:
    offsets = np.concatenate([[0], np.cumsum(kept)])[rows.indptr]
    return type(rows)((rows.data[kept], rows.indices[kept], offsets), shape=rows.shape)


def _most_popular(shares: np.ndarray, shown: Any) -> np.ndarray:
    """Return the most frequent items that each user is not shown, (users, n)."""
    lists: list[np.ndarray] = []
    for part in chunks(*shown.shape):
        seen = shown[part].toarray() != 0
        lists.append(top_items(np.broadcast_to(shares, seen.shape), LIST_LENGTH, seen)[0])
    return np.concatenate(lists)
