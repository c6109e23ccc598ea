"""Disentanglement, completeness and informativeness: what a predictor of the sources needs of a code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from fewhot.core.checks import one_of
from fewhot.core.errors import InvalidInputError
from fewhot.core.seeding import derive_seed, resolve_seed
from fewhot.metrics.libraries import library
from fewhot.metrics.sources import sources_and_codes

Predictor = Literal["lasso", "forest"]
_FEWEST_ROWS = 20
_HELD_OUT = 0.25
_FOLDS = 5
_MAX_ITERATIONS = 10_000
_TREES, _DEPTH = 20, 8
_PREDICTED = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class DCI:
    """Disentanglement, completeness and informativeness of a code, each between 0 and 1.

    Attributes
    ----------
    disentanglement
        Whether a unit matters to one source only; mean over units, by their share of all importance.
    completeness
        Whether a single unit matters to a source; mean over sources.
    informativeness
        How well sources are predicted from the code on held-out rows; mean over sources.
    importance
        How much each unit matters to the prediction of each source, (K, J).
    by_unit
        Disentanglement of each unit, (J,); 0 for a unit that does not matter.
    by_source
        Completeness of each source, (K,); 0 for a source that nothing predicts.
    predicted
        Informativeness of each source, (K,).
    """

    disentanglement: float
    completeness: float
    informativeness: float
    importance: np.ndarray
    by_unit: np.ndarray
    by_source: np.ndarray
    predicted: np.ndarray


def dci(sources: Any, codes: Any, predictor: Predictor = "lasso", random_state: Any = 0) -> DCI:
    r"""Return disentanglement, completeness and informativeness.

    One predictor a source learns from three quarters of the rows how important each unit is, :math:`R_{kj} \ge 0`. With
    K sources and J units that change:

    .. math::

        D &= \sum_j \rho_j \Big( 1 + \sum_k p_{kj} \log_K p_{kj} \Big), \qquad
            p_{kj} = \frac{R_{kj}}{\sum_i R_{ij}}, \quad \rho_j = \frac{\sum_k R_{kj}}{\sum_{ki} R_{ki}} \\
        C &= \frac{1}{K} \sum_k \Big( 1 + \sum_j q_{kj} \log_J q_{kj} \Big), \qquad
            q_{kj} = \frac{R_{kj}}{\sum_i R_{ki}} \\
        I &= \frac{1}{K} \sum_k \max(0, R^2_k)

    where :math:`R^2_k` is the share of source k's variance that is predicted on the other rows. Where it is below 0.01
    nothing was learned, and the importances count as 0.

    Parameters
    ----------
    sources
        The sources of the rows, (n, K); every column must change.
    codes
        Codes of the same rows, (n, J): an array or a sparse matrix.
    predictor
        "lasso": a linear regression whose penalty is chosen by cross-validation, with the absolute weights of units
        brought to one scale as importance. "forest": twenty trees of depth eight, for relations that are curved.
    random_state
        Seed of the choice of held-out rows and of the forest.

    References
    ----------
    Eastwood and Williams (2018), A framework for the quantitative evaluation of disentangled representations.

    Examples
    --------
    >>> S = np.random.default_rng(0).normal(size=(500, 3))
    >>> found = dci(S, S[:, [2, 0, 1]])
    >>> round(found.disentanglement, 1), round(found.completeness, 1), round(found.informativeness, 1)
    (1.0, 1.0, 1.0)
    """
    one_of("predictor", predictor, ("lasso", "forest"))
    known, units = sources_and_codes(sources, codes)
    if len(known) < _FEWEST_ROWS:
        raise InvalidInputError(f"sources has {len(known)} rows; a predictor needs at least {_FEWEST_ROWS}.")
    seed = resolve_seed(random_state)
    shuffled = np.random.default_rng(derive_seed(seed, "held-out")).permutation(len(known))
    test, train = np.split(shuffled, [int(_HELD_OUT * len(known))])
    known, units = _to_one_scale(known, train), _to_one_scale(units, train)
    changing = np.flatnonzero(units[train].any(axis=0))
    importance = np.zeros((known.shape[1], units.shape[1]))
    predicted = np.zeros(known.shape[1])
    for k, source in enumerate(known.T if len(changing) else ()):
        model = _predictor(predictor, derive_seed(seed, "forest", k)).fit(units[train][:, changing], source[train])
        predicted[k] = max(0.0, _share_predicted(source[test], model.predict(units[test][:, changing])))
        if predicted[k] >= _PREDICTED:
            importance[k, changing] = model.feature_importances_ if predictor == "forest" else np.abs(model.coef_)
    by_unit = _one_minus_entropy(importance.T, known.shape[1])
    by_source = _one_minus_entropy(importance, len(changing))
    total = importance.sum()
    return DCI(
        disentanglement=float(importance.sum(axis=0) @ by_unit / total) if total else 0.0,
        completeness=float(by_source.mean()),
        informativeness=float(predicted.mean()),
        importance=importance,
        by_unit=by_unit,
        by_source=by_source,
        predicted=predicted,
    )


def _predictor(name: str, seed: int) -> Any:
    if name == "lasso":
        return library("sklearn.linear_model").LassoCV(cv=_FOLDS, max_iter=_MAX_ITERATIONS)
    forest = library("sklearn.ensemble").RandomForestRegressor
    return forest(n_estimators=_TREES, max_depth=_DEPTH, random_state=seed % 2**32)


def _to_one_scale(matrix: np.ndarray, train: np.ndarray) -> np.ndarray:
    """Return columns of mean 0 and standard deviation 1 over the training rows; 0 where those do not change."""
    mean, std = matrix[train].mean(axis=0), matrix[train].std(axis=0)
    still = matrix[train].min(axis=0) == matrix[train].max(axis=0)
    return np.where(still, 0.0, (matrix - mean) / np.where(still, 1.0, std))


def _share_predicted(truth: np.ndarray, said: np.ndarray) -> float:
    variance = float(truth.var())
    return float(1 - ((truth - said) ** 2).mean() / variance) if variance else 0.0


def _one_minus_entropy(values: np.ndarray, base: int) -> np.ndarray:
    """Return 1 minus the entropy of each row's shares to a base; 0 for a row of zeros."""
    total = values.sum(axis=1, keepdims=True)
    shares = np.divide(values, total, out=np.zeros_like(values), where=total > 0)
    logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
    return np.where(total[:, 0] > 0, 1 + (shares * logs).sum(axis=1) / np.log(max(base, 2)), 0.0)
