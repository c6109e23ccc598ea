"""SLIM: a sparse, non-negative linear item-to-item model."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from fewhot.baselines.base import Recommender
from fewhot.baselines.gram import gram
from fewhot.core.checks import real_number, whole_number
from fewhot.core.registry import BASELINES
from fewhot.estimators.recommending import SimilarItemsMixin
from fewhot.estimators.validation import Histories

_BLOCK = 64  # coordinates a matrix product is shared by


@BASELINES.register("SLIM")
class SLIM(SimilarItemsMixin, Recommender):
    r"""Predict each item from a few others with weights that are never negative.

    .. math::
        \min_W \tfrac12 \lVert X - XW \rVert^2 + \tfrac{\beta}{2} \lVert W \rVert^2 + \lambda_1 \lVert W \rVert_1,
        \quad W \ge 0, \quad \mathrm{diag}\,W = 0

    Coordinate descent on :math:`G = X^\top X`, one row of W after the other, all columns at once:

    .. math:: W_{ij} \leftarrow \frac{\max(0,\; G_{ij} - \sum_{k \ne i} G_{ik} W_{kj} - \lambda_1)}{G_{ii} + \beta}

    A user scores :math:`xW`; one without items scores 0 everywhere.

    Parameters
    ----------
    l1 : float, default=1.0
        The weight λ₁, which makes W sparse.
    l2 : float, default=300.0
        The weight β.
    max_iter : int, default=200
        Most sweeps over all rows of W.
    tol : float, default=1e-3
        A column of W is done when none of its weights moves by more than this in a sweep.

    Attributes
    ----------
    item_weights_ : scipy.sparse.csr_array of shape (n_items, n_items)
        The matrix W.
    n_iter_ : int
        How many sweeps were made.

    References
    ----------
    Ning, X. and Karypis, G. (2011). SLIM: sparse linear methods for top-n recommender systems. ICDM.

    Examples
    --------
    >>> X = np.array([[1, 1, 0], [1, 1, 0], [0, 1, 1], [1, 0, 1]])
    >>> print(SLIM(l1=0.1, l2=0.1).fit(X).item_weights_.toarray().round(2))
    [[0.   0.56 0.18]
     [0.56 0.   0.18]
     [0.16 0.16 0.  ]]
    """

    item_weights_: Any
    n_iter_: int

    def __init__(self, l1: float = 1.0, l2: float = 300.0, *, max_iter: int = 200, tol: float = 1e-3) -> None:
        self.l1 = l1
        self.l2 = l2
        self.max_iter = max_iter
        self.tol = tol

    def _fit(self, rows: Histories) -> None:
        products = gram(rows)
        weights = np.zeros_like(products)
        columns = np.arange(len(products))  # those that still move
        self.n_iter_ = 0
        while len(columns) and self.n_iter_ < self.max_iter:
            part = weights[:, columns]
            moved = self._sweep(products, part, columns)
            weights[:, columns] = part
            columns = columns[moved > self.tol]
            self.n_iter_ += 1
        if len(columns):
            warnings.warn(
                f"SLIM made {self.max_iter} sweeps and the weights of {len(columns)} items still move; raise max_iter "
                f"or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )
        self.item_weights_ = sp.csr_array(weights)

    def _sweep(self, products: np.ndarray, weights: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Go once over the rows of some columns of W, in place; return the largest move in each column."""
        moved = np.zeros(len(columns), dtype=weights.dtype)
        own = np.full(len(products), -1)
        own[columns] = np.arange(len(columns))
        for start in range(0, len(weights), _BLOCK):
            block = slice(start, start + _BLOCK)
            here, inner = weights[block], products[block, block]
            rest = products[block][:, columns] - products[block] @ weights + inner @ here  # what others leave open
            scale = np.diag(inner) + self.l2
            for i in range(len(here)):
                explained = inner[i] @ here - inner[i, i] * here[i]
                # An item that nobody has meets no other, so its row of weights is 0 whatever divides it.
                new = np.maximum(rest[i] - explained - self.l1, 0) / (scale[i] or 1)
                if own[start + i] >= 0:
                    new[own[start + i]] = 0
                np.maximum(moved, np.abs(new - here[i]), out=moved)
                here[i] = new
        return moved

    def _score_rows(self, rows: Histories) -> np.ndarray:
        return (rows @ self.item_weights_).toarray()

    def _similarity(self, items: np.ndarray) -> np.ndarray:
        return self.item_weights_[items].toarray()

    def _check_parameters(self) -> None:
        real_number("l1", self.l1, low=0)
        real_number("l2", self.l2, low=0)
        whole_number("max_iter", self.max_iter)
        real_number("tol", self.tol, low=0)
