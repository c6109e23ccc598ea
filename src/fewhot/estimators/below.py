"""A warning where a fit ends below simple models of the same rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fewhot.codes import score
from fewhot.core.warning import warn_caller
from fewhot.data import Dataset
from fewhot.metrics.comparison import factors_in_words, log_densities
from fewhot.metrics.reference_numbers import judged_gain
from fewhot.training.trainer import rows_to_watch

SAID = "The ELBO of held-out rows"
"""How the warning begins."""
_LEAST_ROWS = 20


def warn_if_below_references(estimator: Any, held_out: Dataset | None) -> None:
    """Warn where held-out rows are explained better by their columns alone, or by as many linear factors.

    What likes are worth is how many hidden ones are found, and no ELBO.
    """
    references = estimator.references_
    if references is None or held_out is None or held_out.n_rows < _LEAST_ROWS or not estimator._is_judged_by_elbo:
        return
    rows = rows_to_watch(held_out, estimator.seed_)
    compared = log_densities(references, estimator.module_, rows)
    elbos = score(estimator.module_, rows, estimator._encoding())
    if judged_gain(compared.gain(elbos))[1] != "poor":
        return
    better, than = compared.columns, "the columns alone, without a code"
    if compared.factors is not None and compared.better == "reference_factors":
        better, than = compared.factors, f"{references.factors_name} with {factors_in_words(references.n_factors)}"
    warn_caller(
        f"{SAID} ({np.mean(elbos, dtype=np.float64):.4g} nats per row) is below that of {than} ({better.mean():.4g}); "
        f"fewhot.metrics.summarise says more, and fewhot.metrics.alarms what to try.",
        ConvergenceWarning,
    )
