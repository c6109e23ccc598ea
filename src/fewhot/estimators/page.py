"""A fitted estimator in a notebook: the numbers of its fit, below scikit-learn's diagram."""

from __future__ import annotations

from typing import Any

import numpy as np

from fewhot.core.evaluations import elbo_of
from fewhot.core.html import escape, folded, line, sheet, table
from fewhot.metrics import top_words
from fewhot.metrics.label_references import WORDS
from fewhot.metrics.summarise import asked_units, kept_record

_MISS = 0.1  # from which on a fit warns, too
_UNITS, _WORDS = 12, 8
_SCORES = {
    "micro_f1": "Micro F1",
    "macro_f1": "Macro F1",
    "label_likelihood": "Log likelihood per row",
    "squared_error": "Mean squared error",
    "r2": "R²",
}
_VARIANTS = {
    "dis": "labels given rows",
    "gen": "labels given rows, and rows given labels",
    "con": "labels given rows, and rows given labels and further units",
}


def page(estimator: Any) -> str:
    """Return what a fit found, as HTML; nothing of one that has no history."""
    record = kept_record(estimator)
    if record is None:
        return ""
    found = record["evaluation"]
    facts, told, given = _facts(estimator, record, found), _warnings(estimator, found), "X"
    if estimator.labelled:
        facts, told, given = _label_facts(estimator, record, found), [], "X_new, Y_new"
    cells = [(escape(name), escape(value)) for name, value in facts]
    told = [line(sentence, "fair") for sentence in told]
    words = _words(estimator)
    hint = f"fewhot.metrics.summarise(estimator, {given}) measures it on other rows, beside simple models."
    return sheet("The fit", *told, table(cells), *words, line(hint, "quiet"))


def _words(estimator: Any) -> list[str]:
    """Return the words of the first units that have some, folded; nothing where a fit has kept no words."""
    kept = getattr(estimator, "_kept_words", None)
    if kept is None:
        return []
    said = top_words(estimator, min(_WORDS, kept.columns_up.shape[1])).in_words()
    labels = estimator.classes_.tolist() if estimator.labelled else []

    def named(unit: int) -> str:
        return str(labels[unit]) if unit < len(labels) else f"unit {unit}"

    having = [(unit, words) for unit, words in enumerate(said) if words]
    cells = [
        (
            escape(named(unit)),
            "".join(f"<div>{escape(name)}: {escape(', '.join(side))}</div>" for name, side in words.items()),
        )
        for unit, words in having[:_UNITS]
    ]
    what = "labels" if len(labels) == len(said) else "units"
    title = f"Words of {len(cells)} of {len(said)} {what}, {len(having)} of which have some"
    return [folded(title, table(cells))] if cells else []


def _facts(estimator: Any, record: dict[str, Any], found: dict[str, float]) -> list[tuple[str, str]]:
    facts = [*_rows_and_steps(estimator), _elbo(record, found)]
    n_units = estimator.module_.latent.n_latent
    if "active" in found:
        asked = asked_units(estimator)
        wanted = "" if asked is None else f" ({asked:g} asked for)"
        facts.append(("Active per row", f"{found['active']:.3g} of {n_units} units{wanted}"))
        facts.append(("Units", f"{found['used']:.0f} used, {found['dead']:.0f} never on"))
    else:
        facts.append(("Units", f"{found['used']:.0f} of {n_units} used"))
    return [*facts, ("Likelihood", str(estimator.likelihood_)), ("Seed", str(estimator.seed_))]


def _label_facts(estimator: Any, record: dict[str, Any], found: dict[str, float]) -> list[tuple[str, str]]:
    """Return what a model of labels, or of counts, has learned, and how well it predicts held-out ones."""
    facts = _rows_and_steps(estimator)
    references, what = estimator.label_references_, estimator._target
    per_row = "" if references is None else f", {references.means.sum():.3g} per row"
    facts.append((what.capitalize(), f"{estimator.n_labels_:,}{per_row}, from {estimator.n_slots_:,} slots"))
    if what == "labels":
        facts.append(("Predicted", f"labels with a probability of at least {_threshold(estimator)}"))
    facts += _held_out(estimator)
    if estimator.variant != "dis":
        facts += [_elbo(record, found), ("Likelihood of rows", str(estimator.likelihood_))]
    return [*facts, ("Variant", f"{estimator.variant}: {_VARIANTS[estimator.variant]}"), ("Seed", str(estimator.seed_))]


def _held_out(estimator: Any) -> list[tuple[str, str]]:
    """Return the scores of the rows held out of a fit, each beside those of the simple models."""
    numbers = estimator._held_out_scores
    if numbers is None or estimator.label_references_ is None:
        return []
    facts: list[tuple[str, str]] = []
    for score, title in _SCORES.items():
        if score not in numbers:
            continue
        beside = [
            f"{numbers[f'{score}_{end}']:.3g} by {words}"
            for end, words in WORDS[estimator._target].items()
            if f"{score}_{end}" in numbers
        ]
        rows = f"on {numbers['n_rows']:,.0f} held-out rows"
        facts.append((title, f"{'; '.join([f'{numbers[score]:.3g} {rows}', *beside])}"))
    return facts


def _threshold(estimator: Any) -> str:
    """Return from which probability labels are predicted, and how that was chosen."""
    chosen, found = estimator.threshold, np.atleast_1d(estimator.threshold_)
    spread = f"{found.min():.2g} to {found.max():.2g}, one for each label" if len(found) > 1 else f"{found[0]:.3g}"
    average = estimator.threshold_average
    how = {"auto": f"the best {average} F1 to be expected", "cv": f"the best {average} F1 in cross-validation"}
    return f"{spread} ({how[chosen]})" if isinstance(chosen, str) else spread


def _rows_and_steps(estimator: Any) -> list[tuple[str, str]]:
    spec = estimator.data_spec_
    rows = "texts" if spec.kind == "text" else f"rows of {spec.n_columns:,} columns"
    return [("Fitted on", f"{spec.n_rows:,} {rows}"), ("Steps", f"{estimator.n_iter_:,}")]


def _elbo(record: dict[str, Any], found: dict[str, float]) -> tuple[str, str]:
    return "ELBO", f"{elbo_of(found):,.4g} nats per row on {record['rows']}, at step {record['step']:,}"


def _warnings(estimator: Any, found: dict[str, float]) -> list[str]:
    asked = asked_units(estimator)
    if found["used"] < 1:
        return ["No unit is used, so all rows have about the same code."]
    told: list[str] = []
    # After its last step a fit shifts the gates to the target, which the history does not show.
    shifted = bool(getattr(estimator, "gate_shift_", 0.0))
    if asked is not None and not shifted and abs(found.get("active", asked) - asked) > _MISS * asked:
        told.append(f"Target l0={asked:g} not reached: {found['active']:.3g} active units per row.")
    return told
