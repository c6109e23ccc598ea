"""The verbs of recommenders: scores for every item, the best items of each user, items like others."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fewhot.core.checks import truth, whole_number
from fewhot.core.errors import InvalidInputError
from fewhot.core.warning import warn_caller
from fewhot.data import as_matrix
from fewhot.data.interactions import find_items, is_frame
from fewhot.data.stored import StoredRows
from fewhot.estimators.histories import item_names, named_items
from fewhot.estimators.validation import Histories, check_filled, interactions_of
from fewhot.metrics.ranking import chunks, top_items


class RecommenderMixin:
    """Recommend items to users, chunk by chunk, from one method that gives scores.

    A subclass defines ``_score_rows(rows)``: the score of every item for a few users, (users, items), from their
    histories in CSR. Users are rows like any other: new ones need no fit.
    """

    n_features_in_: int
    recommends: ClassVar[bool] = True
    """Whether lists of items and frames of pairs are taken for what users have."""
    _histories_in: type = np.float32
    """The type of numbers in which `_score_rows` takes histories."""

    def score_items(self, X: Any) -> np.ndarray:
        """Return the score of every item for every user of X, dense, (users, items); higher is better.

        For some users at a time: memory grows with users times items. `recommend` goes through them in chunks.
        """
        return np.concatenate([self._score_rows(rows) for rows in self._histories(X)])

    def recommend(self, X: Any, n: int = 10, exclude_seen: bool = True) -> tuple[np.ndarray, np.ndarray]:
        """Return the ``n`` best items of each user, best first, and their scores.

        Parameters
        ----------
        X
            What each user has; the users may be new. A matrix, (users, items), with the columns of the fit; a list of
            items for each user, such as ``[["tea", "milk"], ["tea"]]``; or a frame of users, items and, if there are
            any, weights, whose users come in the order in which they are first met.
        n
            How many items to list.
        exclude_seen
            Whether to leave out what a user has in X.

        Returns
        -------
        items, scores : numpy.ndarray
            Both (users, n). The items' names where the model knows them, from lists, pairs or the columns of a frame;
            else their columns. Equal scores come in the order of the items. A user with fewer than ``n`` items left
            gets None, or columns of -1, at the end, whose score is minus infinity. A score is what the model expects
            of an item, such as the decoder's mean of `NFA`: it orders the items of one user, and scores of different
            users cannot be compared. Of a user without items of the fit nothing is known, which is warned of.
        """
        columns, scores, n_unknown = self._ranked(X, n, exclude_seen)
        if n_unknown:
            warn_caller(
                f"Nothing is known of {n_unknown:,} of {len(columns):,} users: they have no item of the fit, and are "
                f"all recommended the same.",
                UserWarning,
            )
        return _as_named(self, columns), scores

    def _best_columns(self, X: Any, n: int, exclude_seen: bool = True) -> tuple[np.ndarray, np.ndarray]:
        """Return what `recommend` does, with columns for names."""
        return self._ranked(X, n, exclude_seen)[:2]

    def _ranked(self, X: Any, n: int, exclude_seen: bool) -> tuple[np.ndarray, np.ndarray, int]:
        """Return the best columns of each user, their scores, and how many users have no item."""
        whole_number("n", n)
        truth("exclude_seen", exclude_seen)
        lists: list[tuple[np.ndarray, np.ndarray]] = []
        n_unknown = 0
        for rows in self._histories(X):
            n_unknown += int((np.diff(rows.indptr) == 0).sum())
            lists.append(top_items(self._score_rows(rows), n, rows.toarray() != 0 if exclude_seen else None))
        return np.concatenate([ids for ids, _ in lists]), np.concatenate([scores for _, scores in lists]), n_unknown

    def _score_rows(self, rows: Histories) -> np.ndarray:
        raise TypeError(f"{type(self).__name__} does not say its scores; define _score_rows(rows).")

    def _histories(self, X: Any) -> Iterator[Histories]:
        """Yield the histories of a few users at a time; rows on disk are read as they are needed."""
        check_is_fitted(self)
        estimator: Any = self
        if getattr(estimator, "vocabulary_", None) is not None:
            raise InvalidInputError(
                "Items are recommended from rows of counts, and the model was fitted on texts; fit it on such rows."
            )
        _refuse_flat(X)
        matrix = X if is_frame(X) or isinstance(X, list | tuple) else as_matrix(X)
        if isinstance(matrix, StoredRows):
            check_filled(matrix)
            for part in chunks(*matrix.shape):
                some = matrix.rows(np.arange(part.start, part.stop))
                yield interactions_of(estimator, some, fitting=False, dtype=self._histories_in, named=X)
            return
        rows = interactions_of(estimator, X, fitting=False, dtype=self._histories_in)
        for part in chunks(*rows.shape):
            yield rows[part]


class SimilarItemsMixin:
    """Find items like others, from one method: ``_similarity(items)`` gives (len(items), all items)."""

    n_features_in_: int

    def similar_items(self, items: Any, n: int = 10) -> tuple[np.ndarray, np.ndarray]:
        """Return the ``n`` items most like each of ``items``, best first, and their scores.

        Parameters
        ----------
        items
            An item or a sequence of items: names where the model knows them, or columns of the matrix that was fitted.
        n
            How many items to list; an item is never like itself.

        Returns
        -------
        items, scores : numpy.ndarray
            Both (len(items), n), names or columns as `recommend` returns them; where there are fewer than ``n`` other
            items, None or -1 and minus infinity at the end.
        """
        check_is_fitted(self)
        whole_number("n", n)
        asked = np.atleast_1d(np.asarray(_columns_of(self, items)))
        if asked.ndim != 1 or asked.dtype.kind not in "iu" or not len(asked):
            raise InvalidInputError(f"items is {items!r}; give the number of a column, or several.")
        if asked.min() < 0 or asked.max() >= self.n_features_in_:
            raise InvalidInputError(
                f"items run from {asked.min()} to {asked.max()}; the columns of the fit are 0 to "
                f"{self.n_features_in_ - 1}."
            )
        itself = np.arange(self.n_features_in_) == asked[:, None]
        columns, scores = top_items(self._similarity(asked), n, itself)
        return _as_named(self, columns), scores

    def _similarity(self, items: np.ndarray) -> np.ndarray:
        raise TypeError(f"{type(self).__name__} does not say which items are alike; define _similarity(items).")


def _as_named(estimator: Any, columns: np.ndarray) -> np.ndarray:
    """Return the names of columns, None for -1; the columns themselves where the model knows no names."""
    names = item_names(estimator)
    return columns if names is None else named_items([*names, None])[columns]


def _columns_of(estimator: Any, items: Any) -> Any:
    """Return the columns of items that were named; anything else as it is."""
    names = item_names(estimator)
    asked = [items] if isinstance(items, str) else items
    by_name = getattr(estimator, "items_", None) is not None or (
        isinstance(asked, Iterable) and any(isinstance(item, str) for item in asked)
    )
    if names is None or not by_name:
        return items
    found = find_items(asked if isinstance(asked, Iterable) else [asked], names)
    missing = next((item for item, column in found.items() if column is None), None)
    if missing is not None:
        raise InvalidInputError(
            f"items has {reprlib.repr(missing)}, which was not in the fit; give items such as {names[0]!r}."
        )
    return list(found.values())


def _refuse_flat(X: Any) -> None:
    """Refuse the items of one user without the list around them."""
    if isinstance(X, list | tuple) and X and isinstance(X[0], str):
        raise InvalidInputError(
            "X is a list of words; give a list of items for each user, such as [[...]] for one user."
        )


def cosine(vectors: np.ndarray, items: np.ndarray) -> np.ndarray:
    """Return the cosine between some rows of ``vectors`` and all, (len(items), n); 0 for a row of zeros."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = vectors / np.where(norms == 0, 1, norms)
    return unit[items] @ unit.T
