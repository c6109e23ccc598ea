"""How well labels or counts are predicted, beside simple models, as numbers of a summary."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from fewhot.data import Dataset
from fewhot.metrics.code_kinds import encoded_rows
from fewhot.metrics.estimates import Estimate, estimate
from fewhot.metrics.label_references import LabelReferences
from fewhot.metrics.labels import f1_estimate
from fewhot.metrics.libraries import library
from fewhot.metrics.numbers import estimated, measured
from fewhot.metrics.observed import observed
from fewhot.metrics.summary import Number

_NATS = "nats per row"
_LARGEST_SE = 1.0
_MARGIN = 40.0
"""Of a logit: beyond it a label is as good as certain, and infinite ones would make a row impossible."""


def label_numbers(estimator: Any, data: Dataset, labels: np.ndarray) -> list[Number]:
    """Return how well a fitted model predicts which labels rows have, (n, K), and how well its references do."""
    references: LabelReferences | None = getattr(estimator, "label_references_", None)
    logits = estimator._of_encoded(encoded_rows(estimator, data), "logits")
    predicted = estimator._of_encoded(encoded_rows(estimator, data), "probs") >= estimator.threshold_
    likely = {"": _log_likelihood(logits, labels)}
    said = {"": predicted}
    if references is not None:
        shares = np.broadcast_to(references.means, labels.shape)
        likely["shares"] = _log_likelihood(np.log(shares) - np.log1p(-shares), labels)
        said["shares"] = shares >= references.thresholds["shares"]
    if references is not None and references.linear is not None:
        scores = _linear_scores(estimator, data, references)
        likely["linear"] = _log_likelihood(scores, labels)
        said["linear"] = library("scipy.special").expit(scores) >= references.thresholds["linear"]
    f1 = {
        average: {name: f1_estimate(labels, sets, average) for name, sets in said.items()}
        for average in ("micro", "macro")
    }
    return [
        *_beside(
            "label_likelihood",
            likely,
            _NATS,
            "log likelihood of a row's labels by their probabilities, each label by itself",
            references,
        ),
        *_beside("micro_f1", f1["micro"], "", "F1 score of predicted labels, all labels together", references),
        *_beside("macro_f1", f1["macro"], "", "F1 score of predicted labels, the mean over labels", references),
    ]


def count_numbers(estimator: Any, data: Dataset, counts: np.ndarray) -> list[Number]:
    """Return how well a fitted model predicts how often things occur, (n, K), and how well its references do."""
    references: LabelReferences | None = getattr(estimator, "label_references_", None)
    expected = {"": estimator._of_encoded(encoded_rows(estimator, data), "mean")}
    if references is not None:
        expected["means"] = np.broadcast_to(references.means, counts.shape)
    if references is not None and references.linear is not None:
        expected["linear"] = _linear_scores(estimator, data, references)
    errors = {name: estimate(((means - counts) ** 2).mean(axis=1)) for name, means in expected.items()}
    r2 = {name: _r2(counts, means) for name, means in expected.items() if name != "means"}
    meaning = "mean squared error of an expected count"
    shared = "share of the variance of a count that is predicted, the mean over what is counted"
    return [
        *_beside("squared_error", errors, "", meaning, references, higher=False),
        *(measured(_named("r2", name), value, "", _worded(shared, name, references)) for name, value in r2.items()),
    ]


def _beside(
    score: str,
    found: dict[str, Estimate],
    unit: str,
    meaning: str,
    references: LabelReferences | None,
    *,
    higher: bool = True,
) -> list[Number]:
    """Return a score of the model, judged by the better simple model row by row, then those of the simple models."""
    own, *others = found
    sign = 1 if higher else -1
    number = estimated(score, found[own], unit, meaning)
    if others:
        best = others[int(np.argmax([sign * found[name].mean for name in others]))]
        gain = estimate(sign * (found[own].values - found[best].values))
        least = _LARGEST_SE if unit == _NATS else np.inf  # a few rows far off make the error as large as the shortfall
        se = gain.se if gain.mean > 0 else min(gain.se, least)
        number = estimated(score, found[own], unit, meaning, gain.mean / se if se else np.nan, rule="labels")
        number = replace(number, why=f"{gain.mean:+.3g} ± {gain.se:.2g} against {score}_{best}: {number.why}")
    simple = [estimated(_named(score, name), found[name], unit, _worded(meaning, name, references)) for name in others]
    return [number, *simple]


def _named(score: str, reference: str) -> str:
    return f"{score}_{reference}" if reference else score


def _worded(meaning: str, reference: str, references: LabelReferences | None) -> str:
    """Return what a number means, with the simple model that it is of."""
    if not reference or references is None:
        return meaning
    n_rows = references.n_rows if reference != "linear" or references.linear is None else references.linear.n_rows
    return f"the same by {references.in_words(reference)}, from {n_rows:,} training rows"


def _linear_scores(estimator: Any, data: Dataset, references: LabelReferences) -> np.ndarray:
    assert references.linear is not None
    return np.concatenate([references.linear(rows) for rows in observed(estimator.module_, data)])


def _log_likelihood(logits: np.ndarray, labels: np.ndarray) -> Estimate:
    bounded = np.clip(np.asarray(logits, dtype=np.float64), -_MARGIN, _MARGIN)
    return estimate((labels * bounded - np.logaddexp(0, bounded)).sum(axis=1))


def _r2(counts: np.ndarray, means: np.ndarray) -> float:
    return float(library("sklearn.metrics").r2_score(counts, means)) if len(counts) > 1 else np.nan
