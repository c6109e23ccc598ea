"""How sparse codes are: Hoyer's measure, what rows have in common, and units that do something."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fewhot.core.errors import InvalidInputError
from fewhot.metrics.estimates import Estimate, estimate
from fewhot.metrics.matrices import as_matrix, column_moments, is_sparse, row_sums, same_shape, scale_columns

ACTIVE_VARIANCE = 0.01
ACTIVE_RATE = 0.01


def hoyer(z: Any) -> np.ndarray:
    r"""Return Hoyer's sparsity of each row: 1 for one-hot rows, 0 for rows of constant magnitude.

    .. math:: \mathrm{Hoyer}(z) = \frac{\sqrt{d} - \|z\|_1 / \|z\|_2}{\sqrt{d} - 1}

    Parameters
    ----------
    z
        Codes, (n, d): an array or a sparse matrix.

    Returns
    -------
    ndarray
        One number a row, (n,); NaN for a row of zeros, where it is not defined.

    Examples
    --------
    >>> hoyer(np.array([[0.0, 3.0, 0.0], [1.0, -1.0, 1.0]])).round(6).tolist()
    [1.0, 0.0]
    """
    codes = as_matrix(z, "z")
    n_units = codes.shape[1]
    if n_units < 2:
        raise InvalidInputError("z has one column; Hoyer's measure needs at least two.")
    l1 = row_sums(abs(codes))
    l2 = np.sqrt(row_sums(codes.multiply(codes) if is_sparse(codes) else codes**2))
    ratio = np.divide(l1, l2, out=np.full_like(l1, np.nan), where=l2 > 0)
    return np.clip((np.sqrt(n_units) - ratio) / (np.sqrt(n_units) - 1), 0.0, 1.0)  # rounding may step outside


def average_hoyer(codes: Any) -> Estimate:
    r"""Return the average Hoyer sparsity of codes whose units have been brought to one scale.

    .. math:: \mathrm{AH} = \frac{1}{n} \sum_i \mathrm{Hoyer}(z_i / \sigma), \qquad
        \sigma_j = \mathrm{std}_i(z_{ij})

    A unit that is the same in every row is left undivided. Rows of zeros are left out, and counted in ``skipped``.
    The standard error takes the scales as known.

    Parameters
    ----------
    codes
        Codes of the whole corpus, (n, d); usually one draw a row (`code_matrix` with ``kind="sample"``).

    Examples
    --------
    >>> average_hoyer(np.eye(4)).mean
    1.0
    """
    matrix = as_matrix(codes, "codes")
    _, std = column_moments(matrix)
    values = hoyer(scale_columns(matrix, 1 / np.where(std > 0, std, 1.0)))
    defined = ~np.isnan(values)
    return estimate(values[defined], skipped=int((~defined).sum()))


def support_overlap(codes: Any) -> float:
    r"""Return the share of a row's active units that are active in another row too.

    .. math:: \frac{\sum_j r_j\,(n r_j - 1)/(n - 1)}{\sum_j r_j}

    with :math:`r_j` the share of the n rows in which unit j is active: 1 when all rows use the same units, which is a
    choice of dimensions and not a sparse code; the density when units are used evenly and by chance. NaN for a code
    without activations and for a single row.

    Parameters
    ----------
    codes
        Codes as `transform` returns them, (n, K).

    Examples
    --------
    >>> support_overlap(np.array([[1.0, 0.0], [2.0, 0.0]])), support_overlap(np.eye(2))
    (1.0, 0.0)
    """
    matrix = as_matrix(codes, "codes")
    n_rows = matrix.shape[0]
    share = row_sums((matrix != 0).T) / n_rows
    if n_rows < 2 or not share.sum():
        return float("nan")
    return float((share * (n_rows * share - 1)).sum() / (n_rows - 1) / share.sum())


@dataclass(frozen=True, slots=True, kw_only=True)
class ActiveUnits:
    """Units that do something.

    Attributes
    ----------
    by_mean
        Units whose expected value varies over rows by a variance above 0.01.
    by_gate
        Units that are on with a mean probability above 0.01; None without gates.
    """

    by_mean: int
    by_gate: int | None = None


def active_units(mean_codes: Any, p_active: Any = None) -> ActiveUnits:
    r"""Count the units that do something: :math:`\mathrm{Var}_x(\mathbb{E}_q[z_j]) > 0.01`.

    Parameters
    ----------
    mean_codes
        Expected codes, (n, K): `code_matrix` with ``kind="mean"``.
    p_active
        On-probabilities of gated families, (n, K).

    References
    ----------
    Burda, Grosse and Salakhutdinov (2016), Importance Weighted Autoencoders.

    Examples
    --------
    >>> active_units(np.array([[1.0, 0.0], [-1.0, 0.0]])).by_mean
    1
    """
    means = as_matrix(mean_codes, "mean_codes")
    _, std = column_moments(means)
    by_mean = int((std**2 > ACTIVE_VARIANCE).sum())
    if p_active is None:
        return ActiveUnits(by_mean=by_mean)
    probabilities = as_matrix(p_active, "p_active")
    same_shape(means, probabilities, "mean_codes and p_active")
    return ActiveUnits(by_mean=by_mean, by_gate=int((column_moments(probabilities)[0] > ACTIVE_RATE).sum()))
