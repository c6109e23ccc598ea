"""Numbers of a summary, with their verdicts."""

from __future__ import annotations

from dataclasses import replace

from fewhot.metrics.estimates import Estimate
from fewhot.metrics.summary import Number
from fewhot.metrics.verdicts import RULES


def estimated(
    name: str, found: Estimate, unit: str, meaning: str, judged: float | None = None, rule: str | None = None
) -> Number:
    """Return a mean over rows as a number of a summary, with its standard error."""
    return with_se(measured(name, found.mean, unit, meaning, judged, rule), found.se)


def measured(
    name: str, value: float, unit: str, meaning: str, judged: float | None = None, rule: str | None = None
) -> Number:
    """Return a number of a summary; ``judged`` is what the rule of that name, or ``rule``, is applied to."""
    if judged is None:
        return Number(name=name, value=float(value), unit=unit, meaning=meaning, why=_NOT_JUDGED.get(name, ""))
    judge = RULES[rule or name]
    return Number(
        name=name, value=float(value), unit=unit, meaning=meaning, verdict=judge(judged), why=judge.why(judged)
    )


def with_se(number: Number, se: float) -> Number:
    """Return a number with its standard error."""
    return replace(number, se=se)


_COMPARE = "nats depend on the data and the likelihood: compare models of the same rows"
_ALONE = "this model was fitted without references; compare models of the same rows"
_NOT_JUDGED = {
    "bound": _COMPARE + "; this one was fitted without references",
    "reference_columns": "stands beside the bound",
    "reference_factors": "stands beside the bound",
    "coherence": "depends on the columns and the length of rows: compare models of the same rows",
    "fvu_pca": "stands beside fvu",
    "perplexity": "compare models of the same rows",
    "perplexity_columns": "stands beside perplexity",
    "ndcg_popularity": "stands beside ndcg",
    **{f"label_likelihood{of}": "stands beside label_likelihood" for of in ("_shares", "_linear")},
    **{f"micro_f1{of}": "stands beside micro_f1" for of in ("_shares", "_linear")},
    **{f"macro_f1{of}": "stands beside macro_f1" for of in ("_shares", "_linear")},
    **{f"squared_error{of}": "stands beside squared_error" for of in ("_means", "_linear")},
    "label_likelihood": _ALONE,
    "micro_f1": _ALONE,
    "macro_f1": _ALONE,
    "squared_error": _ALONE,
    "r2": "stands beside squared_error, which is judged",
    "r2_linear": "stands beside r2",
    "probe_majority": "stands beside the probes",
    "probe_columns": "stands beside the probes: what codes leave out shows here",
    "iwae": _COMPARE,
    "slack": "depends on the size of the model: compare models of the same rows",
    "information": "no unit varies over rows: the KL is how far the codes are from the prior, not what they say",
    "training_objective": "for comparison with the bound; never a number of record",
    "active": "no number of units was asked for",
    "dead": "units left over do no harm; what counts is how many are used",
    "hoyer_map": "codes without gates are dense by design",
    "hoyer_mean": "expected codes are dense by design",
    "hoyer_sample": "codes without gates are dense by design",
    "calibration": "the model does not draw rows of the kind it was fitted on, so this is an upper limit",
    "active_units": "depends on the number of units that the data need",
}
