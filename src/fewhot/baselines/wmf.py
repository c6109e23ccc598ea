"""WMF: weighted matrix factorisation by alternating least squares."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import get_lapack_funcs

from fewhot.baselines.base import Recommender
from fewhot.core.checks import real_number, whole_number
from fewhot.core.errors import DivergedError
from fewhot.core.registry import BASELINES
from fewhot.core.seeding import derive_seed, resolve_seed
from fewhot.estimators.recommending import SimilarItemsMixin, cosine
from fewhot.estimators.validation import Histories

_START = 0.01  # scale of the first factors


@BASELINES.register("WMF")
class WMF(SimilarItemsMixin, Recommender):
    r"""Factorise histories, trusting what a user has more than what is missing.

    .. math::
        \min_{x, y} \sum_{u,i} c_{ui} (p_{ui} - x_u^\top y_i)^2
        + \lambda \Big( \sum_u \lVert x_u \rVert^2 + \sum_i \lVert y_i \rVert^2 \Big),
        \quad p_{ui} = \mathbb{1}[r_{ui} > 0], \quad c_{ui} = 1 + a\, r_{ui}

    Users and items take turns, each side solved exactly while the other rests. The same equation folds in new users:

    .. math:: x_u = \big(Y^\top Y + Y^\top (C_u - I) Y + \lambda I\big)^{-1} Y^\top C_u\, p_u

    A user without items scores 0 everywhere.

    Parameters
    ----------
    n_components : int, default=100
        Length of the factors.
    positive_weight : float, default=2.0
        The weight a of what users have, beside the 1 of everything.
    regularisation : float, default=30.0
        The weight λ of the squared factors; a and λ are to be tuned together, as more of one wants more of the other.
    max_iter : int, default=15
        How often both sides are solved.
    tol : float, default=0.0
        Stop when the objective falls by less than this share of itself; 0 always makes ``max_iter`` sweeps.
    random_state : int, numpy generator or None, default=None
        Seed of the first factors.

    Attributes
    ----------
    item_factors_ : ndarray of shape (n_items, n_components)
        The vectors y.
    losses_ : list of float
        The objective after each sweep; it never rises.
    n_iter_ : int
        How many sweeps were made.

    References
    ----------
    Hu, Y., Koren, Y. and Volinsky, C. (2008). Collaborative filtering for implicit feedback datasets. ICDM.

    Examples
    --------
    >>> X = np.array([[1, 1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 1], [0, 0, 0, 1]])
    >>> model = WMF(n_components=2, regularisation=0.1, random_state=0).fit(X)
    >>> model.recommend(np.array([[0, 1, 0, 0], [0, 0, 1, 0]]), n=1)[0].tolist()
    [[0], [3]]
    """

    item_factors_: np.ndarray
    losses_: list[float]
    n_iter_: int

    def __init__(
        self,
        n_components: int = 100,
        *,
        positive_weight: float = 2.0,
        regularisation: float = 30.0,
        max_iter: int = 15,
        tol: float = 0.0,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.positive_weight = positive_weight
        self.regularisation = regularisation
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _fit(self, rows: Histories) -> None:
        rng = np.random.default_rng(derive_seed(resolve_seed(self.random_state), "factors"))
        items = _START * rng.standard_normal((rows.shape[1], self.n_components), dtype=np.float32)
        columns: Histories = sp.csr_array(rows.T)
        self.losses_ = []
        for _ in range(self.max_iter):
            users = self._solve(rows, items)
            items = self._solve(columns, users)
            self.losses_.append(self._loss(rows, users, items))
            if not np.isfinite(self.losses_[-1]):
                raise DivergedError("The loss of WMF is no longer finite; rescale X or lower positive_weight.")
            if len(self.losses_) > 1 and self.losses_[-2] - self.losses_[-1] < self.tol * self.losses_[-2]:
                break
        self.item_factors_, self.n_iter_ = items, len(self.losses_)

    def _score_rows(self, rows: Histories) -> np.ndarray:
        return self._solve(rows, self.item_factors_) @ self.item_factors_.T

    def _similarity(self, items: np.ndarray) -> np.ndarray:
        return cosine(self.item_factors_, items)

    @np.errstate(over="ignore", invalid="ignore")  # what is no longer finite is refused
    def _solve(self, rows: Histories, others: np.ndarray) -> np.ndarray:
        """Return the best factor of each row while those of the columns rest."""
        (solve,) = get_lapack_funcs(("posv",), (others,))
        everything = others.T @ others
        everything[np.diag_indices_from(everything)] += self.regularisation
        factors = np.zeros((rows.shape[0], others.shape[1]), dtype=others.dtype)
        for row, (start, end) in enumerate(zip(rows.indptr[:-1], rows.indptr[1:], strict=True)):
            if start < end:
                known = others[rows.indices[start:end]]
                extra = np.float32(self.positive_weight) * rows.data[start:end]  # c - 1
                left = everything + known.T @ (known * extra[:, None])
                _, factors[row], info = solve(left, (1 + extra) @ known, overwrite_a=True, overwrite_b=True)
                if info or not np.isfinite(factors[row]).all():
                    raise DivergedError(
                        "The least squares of WMF cannot be solved in float32; rescale X, lower positive_weight or "
                        "raise regularisation."
                    )
        return factors

    @np.errstate(over="ignore", invalid="ignore")
    def _loss(self, rows: Histories, users: np.ndarray, items: np.ndarray) -> float:
        """Return the objective: over all pairs as if p were 0, then corrected where it is 1."""
        everywhere = float(((users.T @ users) * (items.T @ items)).sum(dtype=np.float64))
        known = 0.0
        for row, (start, end) in enumerate(zip(rows.indptr[:-1], rows.indptr[1:], strict=True)):
            score = (items[rows.indices[start:end]] @ users[row]).astype(np.float64)
            weight = 1 + self.positive_weight * rows.data[start:end].astype(np.float64)
            known += float((weight * (1 - score) ** 2 - score**2).sum())
        size = float(np.square(users).sum(dtype=np.float64) + np.square(items).sum(dtype=np.float64))
        return everywhere + known + self.regularisation * size

    def _check_parameters(self) -> None:
        whole_number("n_components", self.n_components)
        whole_number("max_iter", self.max_iter)
        real_number("positive_weight", self.positive_weight, low=0)
        real_number("regularisation", self.regularisation, low=0, open_low=True)
        real_number("tol", self.tol, low=0)
