"""The ELBO and reconstructions of a summary, beside those of the references."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fewhot.metrics.comparison import Comparison
from fewhot.metrics.estimates import Estimate, estimate
from fewhot.metrics.numbers import estimated, measured
from fewhot.metrics.summary import Number
from fewhot.metrics.verdicts import RULES, Verdict

_NATS = "nats per row"
_LARGEST_SE = 1.0
_RECORD = "the evidence lower bound with exact gates, the number of record"


def bound_and_references(bound: Estimate, compared: Comparison | None) -> list[Number]:
    """Return the ELBO, judged by the better reference, then the references and the reconstructions."""
    if compared is None:
        return [estimated("bound", bound, "nats a row", _RECORD)]
    found = compared.references
    words = compared.facts()
    on = f"fitted on {found.n_rows:,} training rows"
    numbers = [
        _judged(bound, compared),
        estimated(
            "reference_columns",
            estimate(compared.columns),
            _NATS,
            f"log density of the same rows by the columns alone, without a code; {words['columns']}, {on}",
        ),
    ]
    if compared.factors is not None:
        meaning = f"log density of the same rows by a linear code of as many dimensions; {words['factors']}, {on}"
        numbers.append(estimated("reference_factors", estimate(compared.factors), _NATS, meaning))
    if np.isfinite(compared.fvu):
        numbers += _reconstructions(compared, words["axes"])
    return numbers


def judged_gain(gain: Estimate) -> tuple[float, Verdict]:
    """Return how many standard errors an ELBO lies above the better reference, row by row, and what that is worth.

    A few rows that a model explains very badly make the standard error as large as the shortfall: below the reference
    it counts as one nat at most.
    """
    unit = gain.se if gain.mean > 0 else min(gain.se, _LARGEST_SE)
    by = gain.mean / unit if unit else np.nan
    return by, RULES["bound"](by)


def _judged(bound: Estimate, compared: Comparison) -> Number:
    gain = compared.gain(bound.values)
    number = estimated("bound", bound, "nats a row", _RECORD, judged_gain(gain)[0])
    return replace(number, why=f"{gain.mean:+.3g} ± {gain.se:.2g} nats per row against {compared.better}: {number.why}")


def _reconstructions(compared: Comparison, axes: str) -> list[Number]:
    unit = "share of standardized variance" if compared.of_standardized else "share of variance"
    ratio = compared.fvu / compared.fvu_pca if compared.fvu_pca else np.nan
    of = " of standardized columns" if compared.of_standardized else ""
    meaning = f"fraction of variance{of} unexplained when map codes are decoded"
    return [
        measured("fvu", compared.fvu, unit, meaning, ratio),
        measured("fvu_pca", compared.fvu_pca, unit, f"the same by as many principal axes as units are active; {axes}"),
    ]
