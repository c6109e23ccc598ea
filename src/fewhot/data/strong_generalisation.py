r"""Strong generalisation: models meet held-out users for the first time when they are tested.

Users are split into training, validation and test users. Models are trained on all items of the training users; of a
held-out user they see some items, the fold-in, and rank the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from fewhot.core.checks import real_number
from fewhot.core.errors import InvalidInputError, InvalidParameterError
from fewhot.core.seeding import resolve_seed
from fewhot.data.recognise import as_csr
from fewhot.data.splits import hashed_positions, key_of, mixed, row_keys, smallest


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldOutUsers:
    """Users whom no model was trained on.

    Attributes
    ----------
    users
        Their rows in the matrix that was split, ascending.
    fold_in
        The items that a model may see, (users, kept items), CSR.
    held_out
        The items that it should rank high, (users, kept items), CSR.
    """

    users: np.ndarray
    fold_in: sp.csr_array
    held_out: sp.csr_array


@dataclass(frozen=True, slots=True, kw_only=True)
class StrongGeneralisation:
    """A matrix of users and items, split by users.

    Attributes
    ----------
    train
        All items of the training users, (users, kept items), CSR.
    train_users
        The rows of the training users in the matrix that was split, ascending.
    validation, test
        The held-out users.
    items
        The kept items: the columns of the matrix that was split that some training user has, ascending.
    seed
        The seed from which all of it came.
    """

    train: sp.csr_array
    train_users: np.ndarray
    validation: HeldOutUsers
    test: HeldOutUsers
    items: np.ndarray
    seed: int


def strong_generalisation(
    X: Any,
    *,
    n_validation: int,
    n_test: int,
    held_out: float = 0.2,
    users: Sequence[Any] | np.ndarray | None = None,
    random_state: Any = 0,
) -> StrongGeneralisation:
    r"""Split users into training, validation and test users, and the items of the held-out ones into two.

    Hashes decide: of a user :math:`u` (its key :math:`k_u`) and of an item :math:`j` of that user. The test users are
    those with the smallest :math:`h_\mathrm{test}(k_u)`, the validation users those of the others with the smallest
    :math:`h_\mathrm{validation}(k_u)`. Items that no training user has are left out. Of the :math:`n_u` items that
    remain of a held-out user, the :math:`\max(1, \lfloor s\, n_u \rfloor)` with the smallest
    :math:`h_\mathrm{items}(k_u, j)` are held out, :math:`s` being ``held_out``. So who and what is held out does not
    depend on the order of the users.

    A single item is folded in, and the user's held-out row is empty. Such users stay, as do users of whom no item
    remains: leave them out of a mean over users, for there is nothing to rank.

    Parameters
    ----------
    X
        Users and items, a sparse matrix or an array; what is not zero is an item of the user.
    n_validation, n_test
        How many users these have.
    held_out
        The share of a held-out user's items that is held out.
    users
        What identifies a user, one a row, such as its number; None takes the content of the row.
    random_state
        The seed.

    References
    ----------
    Marlin (2004), Collaborative filtering: a machine learning perspective.
    Liang, Krishnan, Hoffman and Jebara (2018), Variational autoencoders for collaborative filtering.

    Examples
    --------
    >>> X = sp.random_array((100, 30), density=0.4, rng=np.random.default_rng(0), format="csr")
    >>> split = strong_generalisation(X, n_validation=10, n_test=20)
    >>> split.train.shape, split.test.fold_in.shape, split.test.held_out.nnz / X[split.test.users].nnz < 0.2
    ((70, 30), (20, 30), True)
    """
    csr = _canonical(X)
    real_number("held_out", held_out, low=0, high=1, open_low=True)
    seed = resolve_seed(random_state)
    keys = _keys(csr, users)
    is_test = smallest(hashed_positions(keys, f"{seed}/test users"), n_test, "n_test")
    is_validation = np.zeros(len(keys), dtype=bool)
    is_validation[~is_test] = smallest(
        hashed_positions(keys[~is_test], f"{seed}/validation users"), n_validation, "n_validation"
    )
    train_users = np.flatnonzero(~is_test & ~is_validation)
    if not len(train_users):
        raise InvalidParameterError(
            f"n_validation is {n_validation} and n_test is {n_test}, which leaves none of {len(keys)} users to train "
            f"on; ask for fewer."
        )
    train = csr[train_users]
    items = np.unique(train.indices)

    def cut(users: np.ndarray) -> HeldOutUsers:
        return _cut(users, csr[users][:, items], mixed(keys[users]), items, held_out, f"{seed}/items")

    return StrongGeneralisation(
        train=train[:, items],
        train_users=train_users,
        validation=cut(np.flatnonzero(is_validation)),
        test=cut(np.flatnonzero(is_test)),
        items=items,
        seed=seed,
    )


def _cut(users: np.ndarray, rows: Any, keys: np.ndarray, items: np.ndarray, share: float, name: str) -> HeldOutUsers:
    """Cut the items of held-out users in two, by a hash of user and item that ``name`` sets apart from others."""
    counts = np.diff(rows.indptr)
    n_out = np.where(counts > 1, np.maximum(1, np.floor(share * counts + 1e-9)), 0)
    user = np.repeat(np.arange(len(users)), counts)  # (nnz,) the row of each entry
    position = hashed_positions(keys[user] + items[rows.indices].astype(np.uint64), name)
    rank = np.empty(len(user), dtype=np.int64)
    rank[np.lexsort((position, user))] = np.arange(len(user)) - rows.indptr[user]
    is_out = rank < n_out[user]
    return HeldOutUsers(users=users, fold_in=_only(rows, ~is_out), held_out=_only(rows, is_out))


def _only(rows: Any, kept: np.ndarray) -> sp.csr_array:
    """Return the rows with some of their entries."""
    offsets = np.concatenate([[0], np.cumsum(kept)])[rows.indptr]
    return sp.csr_array((rows.data[kept], rows.indices[kept], offsets), shape=rows.shape)


def _canonical(X: Any) -> Any:
    csr = as_csr(X).copy()
    csr.eliminate_zeros()
    if not np.isfinite(csr.data).all() or csr.data.min(initial=0) < 0:
        raise InvalidInputError("X holds missing, infinite or negative values; give 0 where a user has no item.")
    if not csr.nnz:
        raise InvalidInputError(f"X has shape {csr.shape} and nothing but zeros; give users with items.")
    return csr


def _keys(csr: Any, users: Sequence[Any] | np.ndarray | None) -> np.ndarray:
    if users is None:
        return row_keys(csr)
    names = np.asarray(users)
    if names.shape != (csr.shape[0],):
        raise InvalidParameterError(f"users has shape {names.shape} for {csr.shape[0]} rows; give one a row.")
    if any(_is_missing(name) for name in names.tolist()):
        raise InvalidParameterError("users has missing values; give each row a user of its own.")
    words = [str(name) for name in names.tolist()]
    if len(set(words)) < len(words):
        raise InvalidParameterError("users has the same user twice; give each row a user of its own.")
    return np.array([key_of(word.encode()) for word in words], dtype=np.uint64)


def _is_missing(name: Any) -> bool:
    """Say whether a name is None, NaN or what pandas calls missing."""
    return name is None or (not isinstance(name, str) and str(name) in ("nan", "NaT", "<NA>"))
