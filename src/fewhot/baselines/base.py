"""What all baselines, and all recommenders among them, share."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from fewhot.core.memory import within_memory
from fewhot.estimators.recommending import RecommenderMixin
from fewhot.estimators.undoing import undone_on_failure
from fewhot.estimators.validation import Histories, interactions_of


class Baseline(BaseEstimator):
    """A model that is saved by what it has learned: the attributes whose names end in an underscore."""

    def save(self, path: str | Path) -> None:
        """Write the fitted model to a folder that `fewhot.load` reads: safetensors and JSON, never pickle."""
        from fewhot.baselines.storage import save

        check_is_fitted(self)
        save(self, path)

    def _check_parameters(self) -> None:
        """Refuse arguments that no fit can use."""

    def _after_loading(self) -> None:
        """Do what is left to do once all that was learned is read from a file."""


class Recommender(RecommenderMixin, Baseline):
    """A recommender fitted on histories, (users, items). Subclasses define `_fit` and `_score_rows`."""

    n_features_in_: int
    n_users_: int

    @within_memory("give fewer n_components, or fewer items")
    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X
            What each user has, (users, items), best as CSR: above 0 where a user has an item. Entries given twice
            are added up.
        y
            Ignored.
        """
        self._check_parameters()
        with undone_on_failure(self):
            self._fit(interactions_of(self, X, fitting=True, dtype=self._dtype()))
        return self

    def _fit(self, rows: Histories) -> None:
        raise TypeError(f"{type(self).__name__} does not say how it is fitted; define _fit(rows).")

    def _dtype(self) -> type:
        """Return the type of numbers that a fit works in."""
        return np.float32

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags
