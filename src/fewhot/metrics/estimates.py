"""A mean over rows with its standard error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fewhot.core.checks import whole_number
from fewhot.metrics.matrices import as_numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    r"""A mean over rows, and how far other rows might have moved it.

    .. math:: \mathrm{se} = \sqrt{\frac{1}{n(n-1)} \sum_i (v_i - \bar v)^2}

    Attributes
    ----------
    mean
        Mean of the values; NaN when there are none.
    se
        Standard error of the mean over rows; NaN for fewer than two.
    values
        The number of each row it is defined for, (n,).
    skipped
        How many rows were left out because the number is not defined there.
    """

    mean: float
    se: float
    values: np.ndarray
    skipped: int = 0


def estimate(values: Any, skipped: int = 0) -> Estimate:
    """Return the mean of one value a row with its standard error.

    Examples
    --------
    >>> estimate([1.0, 3.0]).mean, estimate([1.0, 3.0]).se
    (2.0, 1.0)
    """
    rows = as_numbers(values, "values").ravel()
    n = len(rows)
    return Estimate(
        mean=float(rows.mean()) if n else float("nan"),
        se=float(rows.std(ddof=1) / np.sqrt(n)) if n > 1 else float("nan"),
        values=rows,
        skipped=whole_number("skipped", skipped, least=0),
    )
