"""From a table as it comes to a matrix of numbers: learned on some rows, the same for all others."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from fewhot.core.errors import InvalidInputError
from fewhot.data.tables.columns import RawColumns, raw_columns
from fewhot.data.tables.plans import Category, Date, Dropped, Number, Plan, plan_for, plan_of_dict
from fewhot.data.tables.summary import summary_lines

FORMAT, FORMAT_VERSION = "fewhot-table", 1


class TableVectorizer(TransformerMixin, BaseEstimator):
    """Turn a table with words, dates and missing values into a matrix of numbers.

    Each column is looked at once, in `fit`, and treated the same way from then on:

    - numbers stay as they are, also those written with decimal commas, thousands separators, percent signs or signs of
      currencies; yes and no become 1 and 0;
    - dates become days since the earliest one;
    - words become a column of 0 and 1 for each level, at most 20, with one more for all levels that less than 1 % of
      the rows have;
    - missing numbers and dates are filled with the median; missing words are a level of their own, or the most frequent
      level where less than 1 % are missing;
    - columns that are constant, name the rows (ids) or hold a different text in almost every row are left out.

    Attributes
    ----------
    plans_ : list
        What becomes of each column.
    n_features_in_ : int
        How many columns the table has.
    feature_names_in_ : ndarray of str
        What they are called, where the table has names.

    Examples
    --------
    >>> table = {"age": ["31", "n/a", "45", "52"], "city": ["Bonn", "Kiel", "Bonn", "Kiel"], "land": ["DE"] * 4}
    >>> vectorizer = TableVectorizer().fit(table)
    >>> vectorizer.transform(table).tolist()
    [[31.0, 0.0], [45.0, 1.0], [45.0, 0.0], [52.0, 1.0]]
    >>> vectorizer.get_feature_names_out().tolist()
    ['age', 'city_Kiel']
    """

    plans_: list[Plan]
    n_features_in_: int
    feature_names_in_: np.ndarray

    def fit(self, X: Any, y: Any = None) -> Self:
        """Look at the columns of a frame, of a mapping from names to values, or of an array; y is ignored."""
        raw = raw_columns(X)
        if raw.n_rows < 2:
            raise InvalidInputError(
                "The table holds 1 row, and what its columns are is learned from several; give more."
            )
        plans = [plan_for(name, cells, raw.decimal) for name, cells in zip(raw.names, raw.cells, strict=True)]
        if all(isinstance(plan, Dropped) for plan in plans):
            reasons = "; ".join(f"{plan.name}: {plan.reason}" for plan in plans[:8] if isinstance(plan, Dropped))
            raise InvalidInputError(f"No column of the table can be used ({reasons}); give one that differs over rows.")
        self.plans_ = _unique(plans)
        self.n_features_in_ = len(raw.names)
        vars(self).pop("feature_names_in_", None)
        if raw.has_names:
            self.feature_names_in_ = np.array(raw.names, dtype=object)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the rows as a float32 matrix; columns are matched by name, and those the fit did not have are ignored.

        Levels that the fit did not have, and cells that cannot be read, are warned of.
        """
        check_is_fitted(self)
        raw = self._matched(raw_columns(X))
        found = [plan.block(cells) for plan, cells in zip(self.plans_, raw.cells, strict=True)]
        for words in filter(None, (words for _, words in found)):
            warnings.warn(f"{words}.", stacklevel=2)
        return np.concatenate([block for block, _ in found], axis=1).astype(np.float32)

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> np.ndarray:
        """Fit, and return the rows as a float32 matrix; cells that cannot be read are in `summary`."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            return super().fit_transform(raw_columns(X), y, **fit_params)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the matrix's columns."""
        check_is_fitted(self)
        return np.array([name for plan in self.plans_ for name in plan.outputs], dtype=object)

    def inverse_transform(self, X: Any) -> dict[str, list[Any]]:
        """Return a table for people from rows such as those that a model draws: columns by name, (n,) each.

        A category takes its largest level, a date is written out; columns that were left out do not come back.
        """
        check_is_fitted(self)
        matrix, start = np.asarray(X, dtype=np.float64), 0
        n_columns = len(self.get_feature_names_out())
        if matrix.ndim != 2 or matrix.shape[1] != n_columns:
            raise InvalidInputError(f"X has shape {matrix.shape}; give (n, {n_columns}), as transform returns.")
        table: dict[str, list[Any]] = {}
        for plan in self.plans_:
            stop = start + len(plan.outputs)
            cells = plan.cells(matrix[:, start:stop])
            table |= {} if cells is None else {plan.name: cells}
            start = stop
        return table

    def summary(self) -> list[str]:
        """Return what becomes of the columns, in a few lines."""
        check_is_fitted(self)
        return summary_lines(self.plans_)

    @property
    def is_mixed(self) -> bool:
        """Whether the matrix has columns of several kinds, so that whole numbers in it are no counts of one thing."""
        kinds = {Category if isinstance(plan, Number) and plan.reads == "truth" else type(plan) for plan in self.plans_}
        return Date in kinds or {Category, Number} <= kinds

    @property
    def has_names(self) -> bool:
        """Whether the table of the fit had names for its columns."""
        return hasattr(self, "feature_names_in_")

    @property
    def needed(self) -> list[str]:
        """The columns that a table must have."""
        return [plan.name for plan in self.plans_ if not isinstance(plan, Dropped)]

    @property
    def spelled(self) -> list[str]:
        """The columns whose cells do not mean what they look like as plain numbers, such as 1.500 for 1500."""
        return [plan.name for plan in self.plans_ if isinstance(plan, Number) and plan.decimal == ","]

    def to_dict(self) -> dict[str, Any]:
        """Return what was learned as a JSON-able mapping; `from_dict` inverts it."""
        check_is_fitted(self)
        return {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "has_names": self.has_names,
            "columns": [plan.to_dict() for plan in self.plans_],
        }

    @classmethod
    def from_dict(cls, mapping: Mapping[str, Any]) -> Self:
        """Return the vectorizer that `to_dict` wrote."""
        try:
            if mapping["format"] != FORMAT or int(mapping["format_version"]) > FORMAT_VERSION:
                raise ValueError(f"format {mapping['format']!r} {mapping['format_version']!r}")
            vectorizer = cls()
            vectorizer.plans_ = [plan_of_dict(column) for column in mapping["columns"]]
            names = [plan.name for plan in vectorizer.plans_]
            if mapping["has_names"]:
                vectorizer.feature_names_in_ = np.array(names, dtype=object)
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidInputError(f"This is not what TableVectorizer.to_dict wrote ({error}); fit again.") from error
        vectorizer.n_features_in_ = len(names)
        return vectorizer

    def _matched(self, raw: RawColumns) -> RawColumns:
        """Return the columns of the fit, in its order; those that were left out may be missing."""
        if not (raw.has_names and self.has_names):
            if len(raw.names) != len(self.plans_):
                raise InvalidInputError(
                    f"The table has {len(raw.names)} columns and the fit had {len(self.plans_)}; give the same columns."
                )
            return raw
        given = dict(zip(raw.names, raw.cells, strict=True))
        missing = [plan.name for plan in self.plans_ if plan.name not in given and not isinstance(plan, Dropped)]
        if missing:
            raise InvalidInputError(f"The table lacks the columns {', '.join(missing)}; give all columns of the fit.")
        empty = np.full(raw.n_rows, np.nan)
        names = [plan.name for plan in self.plans_]
        return RawColumns(names=names, cells=[given.get(name, empty) for name in names])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.categorical = tags.input_tags.allow_nan = True
        return tags


def _unique(plans: Sequence[Plan]) -> list[Plan]:
    """Refuse plans two of whose matrix columns would have one name."""
    outputs = [name for plan in plans for name in plan.outputs]
    twin = next((name for i, name in enumerate(outputs) if name in outputs[:i]), None)
    if twin is not None:
        raise InvalidInputError(
            f"Two columns would be called {twin!r} once prepared; rename one of the table's columns."
        )
    return list(plans)
