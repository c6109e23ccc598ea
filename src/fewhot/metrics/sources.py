"""Which unit follows which source, for data whose sources are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fewhot.core.errors import InvalidInputError
from fewhot.metrics.matrices import as_matrix, dense
from fewhot.metrics.stability import correlations, used_units

SHOWN = 0.07
"""The least absolute correlation that the paper's figures show."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceCorrelation:
    """How units go with sources.

    Attributes
    ----------
    correlation
        Correlation of every source with every unit, with sign, (K, J); the column of a unit that never changes is 0.
    contrast
        Mean over sources of the largest absolute correlation minus the second largest: 1 when every source has a unit
        of its own, 0 when no unit stands out.
    contrast_used
        The same among the used units alone. A VAE's unused units change by next to nothing, but may follow a source
        in it, which costs contrast.
    best
        The unit with the largest absolute correlation of each source, (K,).
    used
        How many units are used, as `unit_matching` counts them.
    linked
        How many units correlate with some source by at least 0.07, below which the paper shows nothing.
    """

    correlation: np.ndarray
    contrast: float
    contrast_used: float
    best: np.ndarray
    used: int
    linked: int


def source_correlation(sources: Any, codes: Any) -> SourceCorrelation:
    r"""Correlate sources with units, as they are: absolute values are taken of correlations, not of sources or codes.

    .. math:: \text{contrast} = \frac{1}{K} \sum_k \big( |\rho_{k(1)}| - |\rho_{k(2)}| \big), \qquad
        \rho_{kj} = \mathrm{corr}(s_k, z_j)

    where :math:`|\rho_{k(1)}| \ge |\rho_{k(2)}| \ge \ldots` are a source's absolute correlations in order. With a
    single unit the second largest is 0.

    Parameters
    ----------
    sources
        The sources of the rows, (n, K); every column must change.
    codes
        Codes of the same rows, (n, J): an array or a sparse matrix.

    References
    ----------
    Tonolini, Jensen and Murray-Smith (2019), Variational sparse coding.

    Examples
    --------
    >>> S = np.random.default_rng(0).normal(size=(200, 3))
    >>> found = source_correlation(S, np.column_stack([-2 * S[:, 1], np.zeros(200), S[:, 0], S[:, 2]]))
    >>> found.best.tolist(), found.used
    ([2, 0, 3], 3)
    >>> bool(found.correlation[1, 0] < -0.999), found.contrast > 0.8
    (True, True)
    """
    known, units = sources_and_codes(sources, codes)
    correlation = correlations(known, units)
    size, used = np.abs(correlation), used_units(codes)
    return SourceCorrelation(
        correlation=correlation,
        contrast=float(best_minus_second(size).mean()),
        contrast_used=float(best_minus_second(size[:, used]).mean()),
        best=size.argmax(axis=1),
        used=len(used),
        linked=int((size.max(axis=0) >= SHOWN).sum()),
    )


def sources_and_codes(sources: Any, codes: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return sources that change and codes of the same rows, as arrays."""
    known, units = dense(as_matrix(sources, "sources")), dense(as_matrix(codes, "codes"))
    if known.shape[0] != units.shape[0]:
        raise InvalidInputError(
            f"sources has {known.shape[0]} rows and codes has {units.shape[0]}; give both of the same rows."
        )
    still = np.flatnonzero(known.min(axis=0) == known.max(axis=0))
    if not known.shape[1] or len(still):
        which = f"Column {still[0]} of sources is the same in every row" if len(still) else "sources has no column"
        raise InvalidInputError(f"{which}; give sources that change.")
    if not units.shape[1]:
        raise InvalidInputError("codes has no column; give at least one unit.")
    return known, units


def best_minus_second(values: np.ndarray) -> np.ndarray:
    """Return the largest of each row minus the second largest, (K,); values are at least 0, missing ones 0."""
    ordered = np.sort(np.pad(values, ((0, 0), (0, 2))), axis=1)
    return ordered[:, -1] - ordered[:, -2]
