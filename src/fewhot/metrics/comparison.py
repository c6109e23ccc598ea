"""A model beside its references on the same rows: densities, reconstructions and what they say."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fewhot.data import Dataset
from fewhot.metrics.columns import IndependentColumns
from fewhot.metrics.estimates import Estimate, estimate
from fewhot.metrics.observed import observed
from fewhot.metrics.references import References, fraction_unexplained

BATCH = 512
_COLUMNS = {
    "gaussian": "the mean and variance of each column",
    "bernoulli": "the mean of each column",
    "poisson": "the rate of each column",
    "negative-binomial": "the mean and dispersion of each column",
    "multinomial": "the share of each column in all counts",
}
_NO_FACTORS = {
    "bernoulli": "factor analysis has no density of values in [0, 1]; reconstruction is compared with PCA instead",
    "poisson": "factor analysis has no density of counts",
    "negative-binomial": "factor analysis has no density of counts",
    "multinomial": "factor analysis has no density of counts",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What references say of rows, and how far reconstructions are from them.

    Attributes
    ----------
    references
        What the rows were compared with.
    columns
        Log density of each row under independent columns, in nats, (n,).
    factors
        Log density of each row under the linear code, (n,); None where rows are not real numbers.
    fvu, fvu_pca
        Fraction of variance unexplained by the model's reconstructions and by as many principal axes as units are
        active; NaN for counts.
    """

    references: References
    columns: np.ndarray
    factors: np.ndarray | None = None
    fvu: float = float("nan")
    fvu_pca: float = float("nan")

    @property
    def of_standardized(self) -> bool:
        """Whether errors of columns are compared in units of each column's own."""
        axes = self.references.axes
        return axes is not None and bool(np.ptp(axes.scale) > 0)

    @property
    def better(self) -> str:
        """The name of the better reference, as a number of a summary."""
        has_factors = self.factors is not None and self.factors.mean() >= self.columns.mean()
        return "reference_factors" if has_factors else "reference_columns"

    def gain(self, elbos: np.ndarray) -> Estimate:
        """Return how far ELBOs of the same rows lie above the better reference, in nats per row."""
        better = self.columns if self.factors is None or self.better == "reference_columns" else self.factors
        return estimate(np.asarray(elbos, dtype=np.float64) - better)

    def facts(self, elbos: np.ndarray | None = None) -> dict[str, Any]:
        """Return in words what the references are, and how far ``elbos`` lie above the better one, row by row."""
        found = self.references
        words: dict[str, Any] = {"n_rows": found.n_rows, "columns": _columns_in_words(found.columns)}
        if elbos is not None:
            gain = self.gain(elbos)
            words["gain"] = {"over": self.better, "mean": gain.mean, "se": None if np.isnan(gain.se) else gain.se}
        if found.factors is not None:
            words["factors"] = f"{found.factors_name} with {factors_in_words(found.n_factors)}"
        else:
            words["no_factors"] = _NO_FACTORS.get(found.columns.family, "there are too few rows or columns for factors")
        if found.axes is not None:
            words["axes"] = f"PCA with {found.n_factors} dimension{'' if found.n_factors == 1 else 's'}"
        return words


def _columns_in_words(columns: IndependentColumns) -> str:
    """Return what is known of the columns, such as "the mean and variance of each column"."""
    has_one = columns.family == "gaussian" and len(columns.spread) > 1 and np.ptp(columns.spread) == 0
    return "the mean of each column and one variance for all" if has_one else _COLUMNS[columns.family]


def factors_in_words(n: int) -> str:
    """Return "1 factor", "4 factors"."""
    return f"{n} factor{'' if n == 1 else 's'}"


def compare_with_references(estimator: Any, X: Any, codes: Any) -> Comparison | None:
    """Return what the references of a fitted estimator say of rows whose map codes are given.

    None for an estimator that has no references: one grown by `partial_fit`, one that an older version saved, or one
    with a likelihood of the user's own.
    """
    references: References | None = getattr(estimator, "references_", None)
    if references is None:
        return None
    module, data = estimator.module_, estimator._rows(X)
    compared = log_densities(references, module, data)
    if references.axes is None:
        return compared
    errors, pca_errors, deviations = 0.0, 0.0, 0.0
    at = 0
    for rows in observed(module, data, BATCH):
        decoded = estimator._decoded(codes[at : at + rows.shape[0]])
        errors += references.axes.squared_deviations(rows, decoded).sum()
        pca_errors += references.axes.squared_errors(rows).sum()
        deviations += references.axes.squared_deviations(rows).sum()
        at += rows.shape[0]
    return replace(
        compared,
        fvu=fraction_unexplained(errors, deviations),
        fvu_pca=fraction_unexplained(pca_errors, deviations),
    )


def log_densities(references: References, module: Any, data: Dataset) -> Comparison:
    """Return the log densities of rows under references."""
    columns: list[np.ndarray] = []
    factors: list[np.ndarray] = []
    for rows in observed(module, data, BATCH):
        columns.append(references.columns.log_density(rows))
        if references.factors is not None:
            factors.append(references.factors.log_density(rows))
    return Comparison(
        references=references,
        columns=np.concatenate(columns),
        factors=np.concatenate(factors) if factors else None,
    )
