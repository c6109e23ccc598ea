"""Whole numbers that count something, and others: answers on a scale, ages, years, codes of categories."""

from __future__ import annotations

import numpy as np

_ROWS = 2_000
"""How many rows are looked at, evenly spaced."""
_MIN_VARIANCE = 0.05
"""The least variance of a rounded Gaussian, so that a nearly constant column does not decide by itself."""
_WIDE = 1e5
"""From this deviation on, the probability of a whole number is the density at it, to ten digits."""


def count_something(array: np.ndarray) -> bool:
    r"""Return whether columns of whole numbers from 0 up are described better as counts than as measured values.

    The first is a negative binomial distribution per column, the second a Gaussian that is rounded, both with the
    column's mean and variance:

    .. math:: \sum_{ij} \log \mathrm{NB}(x_{ij}) > \sum_{ij} \log\big[\Phi((x_{ij} + \tfrac12 - m_j) / s_j)
        - \Phi((x_{ij} - \tfrac12 - m_j) / s_j)\big]

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> count_something(rng.poisson(0.3, (100, 5)) * rng.poisson(2.0, (100, 5)))
    True
    >>> count_something(rng.integers(1, 6, (100, 5)))  # answers from 1 to 5
    False
    """
    rows = array[np.unique(np.linspace(0, len(array) - 1, min(_ROWS, len(array))).astype(np.int64))]
    x = np.asarray(rows, dtype=np.float64)
    x = x[:, x.min(axis=0) < x.max(axis=0)]
    mean, variance = x.mean(axis=0), x.var(axis=0)
    return bool((_log_counts(x, mean, variance) - _log_measured(x, mean, variance)).sum() > 0)


def _log_counts(x: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Return log NB(x) with the size m^2 / (s^2 - m); where the variance is no larger than the mean, Poisson's."""
    from scipy.special import gammaln, xlog1py, xlogy

    poisson = xlogy(x, mean) - mean - gammaln(x + 1)
    spread = np.maximum(variance - mean, 1e-3 * mean)  # nearer to Poisson, differences of gammas lose their digits
    size = mean**2 / spread
    ways = gammaln(size + x) - gammaln(size) - gammaln(x + 1)
    binomial = ways - xlog1py(size, mean / size) - x * np.log1p(size / mean)
    return np.where(variance > 1.001 * mean, binomial, poisson)


def _log_measured(x: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Return the log probability of a Gaussian that is rounded to whole numbers."""
    from scipy.special import log_ndtr

    scale = np.sqrt(np.maximum(variance, _MIN_VARIANCE))
    near = np.abs(x - mean)  # the tail at the nearer side, whose digits are all there
    density = -0.5 * (near / scale) ** 2 - np.log(np.sqrt(2 * np.pi) * scale)
    narrow = np.minimum(scale, _WIDE)  # beyond, the two tails are the same number
    upper, lower = log_ndtr((0.5 - near) / narrow), log_ndtr((-0.5 - near) / narrow)
    apart = np.minimum(np.exp(lower - upper), 1 - np.finfo(np.float64).eps)
    return np.where(scale > _WIDE, density, upper + np.log1p(-apart))
