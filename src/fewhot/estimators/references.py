"""The references of a fit: simple models of the rows it learned from, kept to be compared with."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp

from fewhot.codes import encode_values
from fewhot.codes.encoding import Encoding
from fewhot.core.seeding import derive_seed
from fewhot.data import Dataset
from fewhot.likelihoods import (
    BernoulliLikelihood,
    GaussianLikelihood,
    LaplaceLikelihood,
    Likelihood,
    MultinomialLikelihood,
    NegativeBinomialLikelihood,
    PoissonLikelihood,
    StandardisedLikelihood,
)
from fewhot.likelihoods.words import WordLikelihood
from fewhot.metrics.columns import Family
from fewhot.metrics.observed import observed
from fewhot.metrics.references import (
    MAX_DENSE_ENTRIES,
    MAX_ENTRIES,
    MAX_ROWS,
    MAX_SPARSE_ROWS,
    References,
    fit_references,
)
from fewhot.metrics.sparsity import active_units
from fewhot.models.decoder import NoDecoder
from fewhot.models.latent_model import LatentModel

D = TypeVar("D", bound=Dataset)

_FAMILIES: dict[type[Likelihood], Family] = {
    GaussianLikelihood: "gaussian",
    LaplaceLikelihood: "gaussian",
    BernoulliLikelihood: "bernoulli",
    PoissonLikelihood: "poisson",
    NegativeBinomialLikelihood: "negative-binomial",
    MultinomialLikelihood: "multinomial",
    WordLikelihood: "multinomial",
}
_ENCODED_ROWS = 2000
"""Rows on which active units are counted: the standard error of four per row is then below a tenth."""
_WEIGHED_ROWS = 200


def references_of(module: LatentModel, train: Dataset, seed: int, max_active: int | None = None) -> References | None:
    """Fit the references to the training rows of a model, or to some of them where there are many.

    Parameters
    ----------
    module
        The trained model.
    train
        The rows it learned from.
    seed
        The seed of the fit, by which rows are drawn.
    max_active
        The most units a code may have on.

    Returns
    -------
    References or None
        None for a likelihood of the user's, of which nothing is known, and for a model without a density of rows.
    """
    head = module.decoder.head
    if isinstance(module.decoder, NoDecoder):
        return None
    family: Family | None = next((family for kind, family in _FAMILIES.items() if isinstance(head, kind)), None)
    if family is None:
        return None
    drawn = derive_seed(seed, "references")
    X = observed_rows(module, some_rows(train, most_rows(module, train, drawn), drawn))
    n_factors = 0
    if family in ("gaussian", "bernoulli"):
        some = some_rows(train, _ENCODED_ROWS, derive_seed(seed, "active units"))
        n_factors = max(1, round(_mean_active(module, some, seed, max_active)))
    scale = head.scale.double().cpu().numpy() if isinstance(head, StandardisedLikelihood) else None
    alike = {"one_variance": isinstance(head, GaussianLikelihood) and head.variance == "shared"}
    try:
        return fit_references(X, family, n_factors, scale, _floor(head), derive_seed(seed, "axes"), **alike)
    except np.linalg.LinAlgError:  # values so far apart that a covariance has no digits left; no reason to fail a fit
        return fit_references(X, family, 0, scale, _floor(head), **alike)


def _floor(head: Likelihood) -> float:
    """Return the least variance that the likelihood itself allows, in the units of its columns."""
    if isinstance(head, LaplaceLikelihood):
        return 2 * head.noise_scale**2
    return head.floor if isinstance(head, GaussianLikelihood) and head.floor > 0 else 1e-6


def _mean_active(module: LatentModel, data: Dataset, seed: int, max_active: int | None) -> float:
    """Return how many units are active in the mean row; without gates, how many vary over rows."""
    how = Encoding(max_active=max_active, refine_steps=module.inference.steps_a_row, seed=seed)
    codes: Any = encode_values(module, data, how, sparse=True)
    return float((codes != 0).sum() / codes.shape[0]) if module.latent.gated else active_units(codes).by_mean


def most_rows(module: LatentModel, data: Dataset, seed: int) -> int:
    """Return how many rows may be looked at; sparse ones count by what some of them store."""
    if not data.spec.sparse:
        return max(2, min(MAX_ROWS, MAX_DENSE_ENTRIES // data.spec.n_columns))
    some = observed_rows(module, some_rows(data, _WEIGHED_ROWS, seed))
    return max(2, min(MAX_SPARSE_ROWS, int(MAX_ENTRIES * some.shape[0] / max(some.nnz, 1))))


def some_rows(data: D, most: int, seed: int) -> D:
    """Return the rows, or so many drawn by a seed, in their order."""
    if data.n_rows <= most:
        return data
    return data.subset(np.sort(np.random.default_rng(seed).choice(data.n_rows, most, replace=False)))


def observed_rows(module: LatentModel, data: Dataset) -> Any:
    """Return rows as the likelihood scores them, (n, p), dense or CSR."""
    parts = list(observed(module, data))
    return sp.csr_array(sp.vstack(parts, format="csr")) if sp.issparse(parts[0]) else np.concatenate(parts)
