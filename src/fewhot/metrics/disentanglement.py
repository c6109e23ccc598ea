"""Whether every source has a unit of its own, by what units know of sources: the mutual information gap and InfoMEC."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fewhot.core.checks import whole_number
from fewhot.core.errors import InvalidInputError
from fewhot.metrics.binned import N_BINS, binned, entropies, is_class, mutual_information
from fewhot.metrics.libraries import library
from fewhot.metrics.sources import best_minus_second, sources_and_codes

_NARROW = 1 / 20
_INVERSE_PENALTY = 1e4  # next to none: enough for classes that can be separated to have an answer
_MAX_ITERATIONS = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class InformationGap:
    """The mutual information gap of a code.

    Attributes
    ----------
    score
        Mean of the gaps: 1 when one unit knows all of a source and no other unit knows anything, 0 when two units know
        as much.
    gaps
        The gap of each source, (K,).
    information
        The share of each source's entropy that each unit knows, (K, J).
    """

    score: float
    gaps: np.ndarray
    information: np.ndarray


@dataclass(frozen=True, slots=True, kw_only=True)
class InfoMEC:
    """Modularity, explicitness and compactness of a code, each between 0 and 1.

    Attributes
    ----------
    modularity
        InfoM: whether a unit knows of one source only; mean over active units.
    explicitness
        InfoE: how much of the sources a linear predictor reads from the code; mean over sources.
    compactness
        InfoC: whether one unit knows what the code knows of a source; mean over sources.
    information
        The share of each source's entropy that each unit knows, (K, J); 0 for units that are not active.
    active
        The numbers of the active units.
    """

    modularity: float
    explicitness: float
    compactness: float
    information: np.ndarray
    active: np.ndarray


def mig(sources: Any, codes: Any, n_bins: int = N_BINS) -> InformationGap:
    r"""Return the mutual information gap.

    .. math:: \mathrm{MIG} = \frac{1}{K} \sum_k \frac{I(s_k; z_{(1)}) - I(s_k; z_{(2)})}{H(s_k)}

    where :math:`z_{(1)}` and :math:`z_{(2)}` are the units that know most of source k. Sources and units are sorted
    into bins of equal width, zero into one of its own; columns of at most ``n_bins`` values keep them. Counting errors
    add about ``n_bins``² / 2n nats to every mutual information, so give thousands of rows. Sources that know of each
    other, such as those of one part that may be missing, keep the score of any code below 1: compare it with
    ``mig(sources, sources)``.

    Parameters
    ----------
    sources
        The sources of the rows, (n, K); every column must change.
    codes
        Codes of the same rows, (n, J): an array or a sparse matrix.
    n_bins
        How many bins.

    References
    ----------
    Chen, Li, Grosse and Duvenaud (2018), Isolating sources of disentanglement in variational autoencoders.

    Examples
    --------
    >>> S = np.random.default_rng(0).integers(0, 4, size=(2000, 3))
    >>> round(mig(S, S[:, [2, 0, 1]]).score, 2), round(mig(S, S @ np.ones((3, 2))).score, 2)
    (1.0, 0.0)
    """
    known, units = sources_and_codes(sources, codes)
    information = _shares(known, units, n_bins)
    gaps = best_minus_second(information)
    return InformationGap(score=float(gaps.mean()), gaps=gaps, information=information)


def infomec(sources: Any, codes: Any, n_bins: int = N_BINS) -> InfoMEC:
    r"""Return modularity, explicitness and compactness.

    With :math:`n_{kj} = I(s_k; z_j) / H(s_k)`, K sources and J active units:

    .. math::

        \mathrm{InfoM} &= \frac{1}{J} \sum_j \frac{\max_k n_{kj} / \sum_k n_{kj} - 1/K}{1 - 1/K} \\
        \mathrm{InfoC} &= \frac{1}{K} \sum_k \frac{\max_j n_{kj} / \sum_j n_{kj} - 1/J}{1 - 1/J} \\
        \mathrm{InfoE} &= \frac{1}{K} \sum_k \Big( 1 - \frac{H_V(s_k \mid z)}{H_V(s_k)} \Big)

    :math:`H_V` is the least loss of a linear predictor on these rows: the squared error of a linear regression, whose
    share is :math:`R^2`, or the cross-entropy of a logistic regression for a source of at most ``n_bins`` values. What
    knows nothing scores 0, and a single active unit is compact. Units that never change are not active, nor, as the
    authors have it, are units that are never zero and whose range is no more than a twentieth of the widest.

    Mutual information is that of `mig`; the authors estimate it from nearest neighbours where numbers are continuous.

    Parameters
    ----------
    sources
        The sources of the rows, (n, K), at least two; every column must change.
    codes
        Codes of the same rows, (n, J): an array or a sparse matrix. Give many more rows than units.
    n_bins
        How many bins.

    References
    ----------
    Hsu, Dorrell, Whittington, Wu and Finn (2023), Disentanglement via latent quantization.

    Examples
    --------
    >>> S = np.random.default_rng(0).integers(0, 4, size=(2000, 3))
    >>> found = infomec(S, S[:, [2, 0, 1]])
    >>> round(found.modularity, 2), round(found.compactness, 2)
    (1.0, 1.0)
    """
    known, units = sources_and_codes(sources, codes)
    n_sources = known.shape[1]
    if n_sources < 2:
        raise InvalidInputError("sources has one column; modularity needs at least two.")
    active = _active(units)
    information = np.zeros((n_sources, units.shape[1]))
    if not len(active):
        return InfoMEC(modularity=0.0, explicitness=0.0, compactness=0.0, information=information, active=active)
    information[:, active] = _shares(known, units[:, active], n_bins)
    return InfoMEC(
        modularity=float(_concentration(information[:, active].T).mean()),
        explicitness=float(np.mean([_read_linearly(source, units[:, active], n_bins) for source in known.T])),
        compactness=float(_concentration(information[:, active]).mean()),
        information=information,
        active=active,
    )


def _active(units: np.ndarray) -> np.ndarray:
    ranges = units.max(axis=0) - units.min(axis=0)
    wide = ranges > ranges.max() * _NARROW
    return np.flatnonzero((ranges > 0) & (wide | (units == 0).any(axis=0)))


def _shares(sources: np.ndarray, units: np.ndarray, n_bins: int) -> np.ndarray:
    """Return I(s_k; z_j) / H(s_k), (K, J)."""
    whole_number("n_bins", n_bins, least=2)
    bins = binned(sources, n_bins)
    return mutual_information(bins, binned(units, n_bins)) / entropies(bins)[:, None]


def _concentration(values: np.ndarray) -> np.ndarray:
    """Return how much of a row's sum its largest entry has: 0 for equal entries or none, 1 for a single one."""
    n = values.shape[1]
    total = values.sum(axis=1)
    share = np.divide(values.max(axis=1), total, out=np.full_like(total, 1 / n), where=total > 0)
    return (share - 1 / n) / (1 - 1 / n) if n > 1 else (total > 0).astype(np.float64)


def _read_linearly(source: np.ndarray, units: np.ndarray, n_bins: int) -> float:
    """Return the share of a source that a linear predictor reads from the code."""
    code = (units - units.mean(axis=0)) / units.std(axis=0)
    return _classified(source, code) if is_class(source, n_bins) else _regressed(source, code)


def _regressed(source: np.ndarray, code: np.ndarray) -> float:
    target = source - source.mean()
    residual: np.ndarray = target - code @ library("scipy.linalg").lstsq(code, target)[0]
    return float(1 - (residual @ residual) / (target @ target))


def _classified(source: np.ndarray, code: np.ndarray) -> float:
    classes, labels = np.unique(source, return_inverse=True)
    model = library("sklearn.linear_model").LogisticRegression(C=_INVERSE_PENALTY, max_iter=_MAX_ITERATIONS)
    said = model.fit(code, labels).predict_log_proba(code)[np.arange(len(labels)), labels]
    shares = np.bincount(labels, minlength=len(classes)) / len(labels)
    return float(max(0.0, 1 - said.mean() / np.log(shares)[labels].mean()))
