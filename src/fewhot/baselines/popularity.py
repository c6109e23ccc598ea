"""The most popular items, for everyone."""

from __future__ import annotations

import numpy as np

from fewhot.baselines.base import Recommender
from fewhot.core.registry import BASELINES
from fewhot.estimators.validation import Histories


@BASELINES.register("Popularity")
class Popularity(Recommender):
    r"""Recommend to everyone what most users have: the least a recommender must beat.

    .. math:: s_{ui} = \frac{1}{n} \sum_{v=1}^{n} \mathbb{1}[x_{vi} > 0]

    Attributes
    ----------
    shares_ : ndarray of shape (n_items,)
        The share of training users that have each item.

    Examples
    --------
    >>> model = Popularity().fit(np.array([[1, 1, 0], [1, 0, 0], [1, 0, 1]]))
    >>> ids, shares = model.recommend(np.array([[0, 1, 0]]), n=2)
    >>> ids.tolist()
    [[0, 2]]
    """

    shares_: np.ndarray

    def _fit(self, rows: Histories) -> None:
        counts = np.bincount(rows.indices, minlength=rows.shape[1])
        self.shares_ = (counts / rows.shape[0]).astype(np.float32)

    def _score_rows(self, rows: Histories) -> np.ndarray:
        return np.tile(self.shares_, (rows.shape[0], 1))
