"""What a recommender finds of held-out items, user by user, and how two recommenders differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fewhot.core.checks import whole_number
from fewhot.core.errors import InvalidInputError, InvalidParameterError, InvalidTypeError, UnknownNameError
from fewhot.metrics.estimates import Estimate, estimate
from fewhot.metrics.matrices import as_matrix, is_sparse, same_shape
from fewhot.metrics.ranking import ndcg_of, recall_of, refuse_overlap


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingScores:
    """Recall and NDCG of one recommender on users with held-out items.

    Attributes
    ----------
    estimates
        By name, such as ``"ndcg@100"``: the mean over users, its standard error and the value of each user.
    n_held_out
        How many held-out items each given user has, (users,); users with none are left out of the estimates.
    """

    estimates: Mapping[str, Estimate]
    n_held_out: np.ndarray

    @property
    def users(self) -> np.ndarray:
        """The rows the values belong to, in their order."""
        return np.flatnonzero(self.n_held_out)

    def __getitem__(self, name: str) -> Estimate:
        if name not in self.estimates:
            raise UnknownNameError(f"No metric is called {name!r}; known are {', '.join(self.estimates)}.")
        return self.estimates[name]

    def minus(self, other: RankingScores) -> dict[str, Estimate]:
        r"""Return the paired differences to another recommender on the same users, by each metric they share.

        .. math:: d_u = m_u - m'_u, \qquad \bar d \pm \mathrm{se}(d)

        Users are hard or easy for both, so the standard error of a difference is far smaller than that of a mean.
        """
        if not np.array_equal(self.n_held_out, other.n_held_out):
            raise InvalidInputError("The two were evaluated on other users or held-out items; use the same for both.")
        if not self.estimates.keys() & other.estimates.keys():
            raise InvalidInputError(
                f"One was evaluated by {', '.join(self.estimates)} and the other by {', '.join(other.estimates)}; "
                f"evaluate both by a metric they share."
            )
        skipped = int((self.n_held_out == 0).sum())
        return {
            name: estimate(one.values - other.estimates[name].values, skipped=skipped)
            for name, one in self.estimates.items()
            if name in other.estimates
        }


def evaluate_recommender(
    recommender: Any, fold_in: Any, held_out: Any, *, recall: Sequence[int] = (20, 50), ndcg: Sequence[int] = (100,)
) -> RankingScores:
    """Recommend from what users are known to have, and see how much of the rest is found.

    Parameters
    ----------
    recommender
        Anything fitted with ``recommend(X, n, exclude_seen=True)`` that returns ids and scores.
    fold_in
        The items the recommender is shown, (users, items); they are never listed.
    held_out
        The items to find, of the same shape; no item is in both.
    recall, ndcg
        The lengths of the lists.

    Returns
    -------
    RankingScores
        Values of each user, means and standard errors; `RankingScores.minus` compares two recommenders.

    Examples
    --------
    >>> from fewhot.baselines import Popularity
    >>> fold_in, held_out = np.array([[1, 0, 0], [0, 0, 1]]), np.array([[0, 1, 0], [1, 0, 0]])
    >>> model = Popularity().fit(np.array([[1, 1, 0], [1, 0, 0], [1, 0, 1]]))
    >>> evaluate_recommender(model, fold_in, held_out, recall=[1], ndcg=[1])["recall@1"].mean
    1.0
    """
    lengths = {"recall": _lengths("recall", recall), "ndcg": _lengths("ndcg", ndcg)}
    if not (lengths["recall"] or lengths["ndcg"]):
        raise InvalidParameterError("recall and ndcg are both empty; give at least one length of list.")
    if not hasattr(recommender, "recommend"):
        raise InvalidTypeError(f"{type(recommender).__name__} recommends nothing; give a model with recommend(X, n).")
    wanted, seen = as_matrix(held_out, "held_out"), as_matrix(fold_in, "fold_in")
    same_shape(seen, wanted, "fold_in and held_out")
    refuse_overlap(seen, wanted)
    find = getattr(recommender, "_best_columns", recommender.recommend)  # columns, where items have names
    ids, _ = find(fold_in, n=max(lengths["recall"] + lengths["ndcg"]), exclude_seen=True)
    estimates = {f"recall@{n}": recall_of(ids, wanted, n) for n in lengths["recall"]}
    estimates |= {f"ndcg@{n}": ndcg_of(ids, wanted, n) for n in lengths["ndcg"]}
    return RankingScores(estimates=estimates, n_held_out=_row_counts(wanted))


def _lengths(name: str, lengths: Sequence[int]) -> list[int]:
    if not np.iterable(lengths) or isinstance(lengths, str):
        raise InvalidParameterError(f"{name} is {lengths!r}; it must be a sequence of whole numbers, such as (20, 50).")
    return [whole_number(f"each of {name}", length) for length in lengths]


def _row_counts(matrix: Any) -> np.ndarray:
    if not is_sparse(matrix):
        return np.count_nonzero(matrix, axis=1)
    return np.bincount(matrix.nonzero()[0], minlength=matrix.shape[0])
