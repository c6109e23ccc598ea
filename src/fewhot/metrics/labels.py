"""F1 of predicted label sets."""

from __future__ import annotations

from typing import Any

import numpy as np

from fewhot.metrics.estimates import Estimate, estimate
from fewhot.metrics.matrices import as_matrix, is_sparse, same_shape


def micro_f1(truth: Any, predicted: Any) -> float:
    r"""Return F1 over all labels together.

    .. math:: \frac{2\sum TP}{2\sum TP + \sum FP + \sum FN}

    Parameters
    ----------
    truth, predicted
        Label sets, (n, K): not zero where a row has a label; arrays or sparse matrices.

    Returns
    -------
    float
        0 when no label is true and none predicted.

    Examples
    --------
    >>> micro_f1([[1, 0], [1, 1]], [[1, 1], [1, 0]])
    0.6666666666666666
    """
    hits, wrong = _counts(truth, predicted)
    return float(_f1(hits.sum(), wrong.sum()))


def macro_f1(truth: Any, predicted: Any) -> float:
    """Return the mean over labels of their F1; a label that is never true and never predicted counts as 0.

    Parameters are those of `micro_f1`.

    Examples
    --------
    >>> macro_f1([[1, 0], [1, 1]], [[1, 1], [1, 0]])
    0.5
    """
    return float(_f1(*_counts(truth, predicted)).mean())


def f1_estimate(truth: np.ndarray, predicted: np.ndarray, average: str) -> Estimate:
    r"""Return an F1 score with its standard error over rows; the differences of two are those of their ``values``.

    F1 is a ratio of sums over rows, :math:`\sum_i a_i / \sum_i b_i` with :math:`a = 2\,TP` and
    :math:`b = 2\,TP + FP + FN`. The number of a row is :math:`F + (a_i - F b_i)/\bar b`, whose mean is F.

    Parameters
    ----------
    truth, predicted
        Label sets, (n, K), as arrays.
    average
        "micro": of all labels together; "macro": the mean of each label's.

    Examples
    --------
    >>> f1_estimate(np.array([[1, 0], [1, 1]]), np.array([[1, 1], [1, 0]]), "micro").values.round(3).tolist()
    [0.667, 0.667]
    """
    true, said = truth != 0, predicted != 0
    hits = 2.0 * (true & said)
    total = hits + (true ^ said)
    if average == "micro":
        hits, total = hits.sum(axis=1, keepdims=True), total.sum(axis=1, keepdims=True)
    score, mean = _f1(hits.sum(axis=0) / 2, total.sum(axis=0) - hits.sum(axis=0)), total.mean(axis=0)
    off = np.divide(hits - score * total, mean, out=np.zeros_like(hits), where=mean > 0)
    return estimate((score + off).mean(axis=1))


def _counts(truth: Any, predicted: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return, for every label, true positives and the number of wrong entries (FP + FN)."""
    true, said = as_matrix(truth, "truth") != 0, as_matrix(predicted, "predicted") != 0
    same_shape(true, said, "truth and predicted")
    hits = _column_sums(
        said.multiply(true) if is_sparse(said) else true.multiply(said) if is_sparse(true) else true & said
    )
    return hits, _column_sums(true) + _column_sums(said) - 2 * hits


def _f1(hits: Any, wrong: Any) -> np.ndarray:
    total = np.asarray(2 * hits + wrong, dtype=np.float64)
    return np.divide(2 * hits, total, out=np.zeros_like(total), where=total > 0)


def _column_sums(matrix: Any) -> np.ndarray:
    return np.asarray(matrix.sum(axis=0), dtype=np.float64).ravel()
