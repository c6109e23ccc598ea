"""A warning where a fit ends with codes that say nothing."""

from __future__ import annotations

from typing import Any

from sklearn.exceptions import ConvergenceWarning

from fewhot.core.warning import warn_caller
from fewhot.data import Dataset
from fewhot.training.evaluation import Evaluator
from fewhot.training.trainer import rows_to_watch


def warn_if_unused(estimator: Any, rows: Dataset) -> None:
    """Warn where none of the fitted units is used: none is on in 0.5 % of the rows, or has a mean that varies."""
    module = estimator.module_
    if Evaluator(module, rows_to_watch(rows, estimator.seed_), estimator.seed_)()["used"]:
        return
    what = "is active in more than a few rows" if module.latent.gated else "varies over rows"
    remedy = "lower the weight of the KL" if not module.latent.gated else "ask for more active units (l0= or density=)"
    warn_caller(
        f"None of the {module.latent.n_latent} units {what} after {estimator.n_iter_} steps, so the codes say nothing "
        f"about them; {remedy}, train longer (max_steps=), or keep codes in use by against_collapse=.",
        ConvergenceWarning,
    )
