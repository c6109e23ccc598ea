"""What users have, in every form that recommenders take, and the names of items that a model learns from it."""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from fewhot.core.errors import InvalidInputError
from fewhot.core.warning import warn_caller
from fewhot.data.interactions import Interactions, Name, as_interactions, is_frame


def item_names(estimator: Any) -> list[Name] | None:
    """Return what the items of a fitted model are called, in the order of its columns; None where they have no names.

    Items have the names of lists or pairs that were fitted, or else those of the columns of a frame.
    """
    for name in ("items_", "feature_names_in_"):
        if getattr(estimator, name, None) is not None:
            return getattr(estimator, name).tolist()
    return None


def named_items(names: Sequence[Name | None]) -> np.ndarray:
    """Return names as an array of the words and whole numbers that they are."""
    array = np.empty(len(names), dtype=object)
    array[:] = names
    return array


def as_matrix_of_users(estimator: Any, X: Any, *, fitting: bool, name: str = "X") -> Any:
    """Return lists of items and frames of pairs as a matrix of users and items, and all other data as they are.

    A fit learns the names of the items. Later, items that it did not have are left out, with one warning.
    """
    known = None if fitting else item_names(estimator) or list(range(getattr(estimator, "n_features_in_", 0)))
    found = as_interactions(X, known or None, name)
    if fitting:
        vars(estimator).pop("items_", None)
        estimator._learns_pairs = found is not None and is_frame(X)
    if found is None:
        return X
    if fitting:
        _check_users(found, name)
        estimator.items_ = named_items(found.items)
    else:
        if found.n_unknown:
            _tell_unknown(found, name)
        if item_names(estimator) is None and is_frame(X):
            warn_caller(
                f"The model was fitted on a matrix without names, so the items of {name} are taken for its columns, 0 "
                f"to {len(found.items) - 1}; fit it on pairs, or on a frame with a column an item, if they are names.",
                UserWarning,
            )
    return found.X


def _check_users(found: Interactions, name: str) -> None:
    if len(found.users) < 2:
        raise InvalidInputError(
            f"{name} has one user, and a recommender learns from what several have in common; give at least two users."
        )


def _tell_unknown(found: Interactions, name: str) -> None:
    """Warn of items that are left out; where nothing is left of anyone, refuse."""
    example = reprlib.repr(found.unknown)
    if not found.X.nnz:
        some = ", ".join(map(repr, found.items[:3]))
        raise InvalidInputError(
            f"No item of {name} was in the fit, such as {example}; give items of the fit, such as {some}."
        )
    one = found.n_unknown == 1
    warn_caller(
        f"{found.n_unknown:,} item{' of' if one else 's of'} {name} {'was' if one else 'were'} not in the fit, such as "
        f"{example}, and {'is' if one else 'are'} left out.",
        UserWarning,
    )
