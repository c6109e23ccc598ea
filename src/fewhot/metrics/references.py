"""Simple models of the training rows, beside which a fitted one is judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fewhot.metrics.columns import Family, IndependentColumns, fit_columns
from fewhot.metrics.factors import FactorModel, PrincipalAxes, fit_factors

MAX_ROWS, MAX_DENSE_ENTRIES = 10_000, 10_000_000
MAX_SPARSE_ROWS, MAX_ENTRIES = 100_000, 1_000_000
"""The most training rows, dense and sparse, and the most entries of them, that references are fitted on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class References:
    """What is known of the training rows without a code, and by a linear one; see `fit_references`.

    Attributes
    ----------
    n_rows
        Training rows they were fitted on.
    columns
        Independent columns.
    axes
        Principal axes, as many as a code has active units; None for counts, whose means are not compared.
    factors
        A linear Gaussian density of as many dimensions; None where rows are not real numbers.
    factors_name
        "factor analysis" or "probabilistic PCA"; empty without ``factors``.
    """

    n_rows: int
    columns: IndependentColumns
    axes: PrincipalAxes | None = None
    factors: FactorModel | None = None
    factors_name: str = ""

    @property
    def n_factors(self) -> int:
        """How many dimensions the linear code has; 0 without one."""
        return 0 if self.axes is None else len(self.axes.axes)

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return everything but names and numbers, by name."""
        found = {"loc": self.columns.loc, "spread": self.columns.spread}
        if self.axes is not None:
            found |= {"mean": self.axes.mean, "scale": self.axes.scale, "axes": self.axes.axes}
        if self.factors is not None:
            found |= {"loadings": self.factors.loadings, "noise": self.factors.noise}
        return {name: np.array(value, dtype=np.float64, order="C") for name, value in found.items()}

    def facts(self) -> dict[str, Any]:
        """Return names and numbers as JSON values; with `to_arrays`, `from_parts` makes the same of them."""
        return {"n_rows": self.n_rows, "family": self.columns.family, "factors_name": self.factors_name}

    @classmethod
    def from_parts(cls, facts: dict[str, Any], arrays: dict[str, np.ndarray]) -> References:
        """Return what `facts` and `to_arrays` describe."""
        axes, factors = None, None
        if "axes" in arrays:
            axes = PrincipalAxes(mean=arrays["mean"], scale=arrays["scale"], axes=arrays["axes"])
        if "loadings" in arrays:
            shape = {name: arrays[name] for name in ("mean", "scale", "loadings", "noise")}
            factors = FactorModel(**shape)
        return cls(
            n_rows=int(facts["n_rows"]),
            columns=IndependentColumns(family=facts["family"], loc=arrays["loc"], spread=arrays["spread"]),
            axes=axes,
            factors=factors,
            factors_name=str(facts["factors_name"]),
        )


def fit_references(
    X: Any,
    family: Family,
    n_factors: int = 0,
    scale: np.ndarray | None = None,
    floor: float = 1e-3,
    seed: int = 0,
    *,
    one_variance: bool = False,
) -> References:
    """Fit the references to training rows.

    Parameters
    ----------
    X
        Rows, (n, p), dense or sparse.
    family
        What the columns are, as in `IndependentColumns`.
    n_factors
        How many dimensions the linear code has: as many as units are active; 0 for none, as for counts.
    scale
        The unit of each column, (p,), in which reconstructions are compared and variances have their floor; None
        takes the units of the data.
    floor
        Least variance of "gaussian" columns and of the noise of factors, in squared units: that of the model they
        stand beside.
    seed
        Seed of the search for axes of wide rows.
    one_variance
        Whether all "gaussian" columns, and the noise of factors, have the same variance, as in a model of pixels.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.normal(size=(2000, 1)) * np.ones(3) + 0.1 * rng.normal(size=(2000, 3))
    >>> found = fit_references(rows[:1000], "gaussian", n_factors=1)
    >>> gained = found.factors.log_density(rows[1000:]) - found.columns.log_density(rows[1000:])
    >>> found.factors_name, bool(gained.mean() > 3)
    ('factor analysis', True)
    """
    unit = np.ones(X.shape[1]) if scale is None else np.asarray(scale, dtype=np.float64)
    columns = fit_columns(X, family, floor * unit**2, one_variance=one_variance)
    n, p = X.shape
    if not n_factors or n < 3 or p < 2 or family not in ("gaussian", "bernoulli"):
        return References(n_rows=n, columns=columns)
    axes, factors, name = fit_factors(X, n_factors, unit, floor, seed, one_variance=one_variance)
    if family == "bernoulli":
        return References(n_rows=n, columns=columns, axes=axes)
    return References(n_rows=n, columns=columns, axes=axes, factors=factors, factors_name=name)


def fraction_unexplained(squared_errors: Any, squared_deviations: Any) -> float:
    """Return the fraction of variance unexplained: errors over distances from the mean, both summed over rows.

    Examples
    --------
    >>> fraction_unexplained([1.0, 1.0], [4.0, 6.0])
    0.2
    """
    total = float(np.sum(squared_deviations))
    return float(np.sum(squared_errors)) / total if total > 0 else float("nan")
