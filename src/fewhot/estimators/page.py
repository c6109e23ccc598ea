"""A fitted estimator in a notebook: the numbers of its fit, below scikit-learn's diagram."""

from __future__ import annotations

from typing import Any

from fewhot.core.evaluations import elbo_of
from fewhot.core.html import escape, folded, line, sheet, table
from fewhot.metrics import top_words
from fewhot.metrics.summarise import asked_units, kept_record

_MISS = 0.1  # from which on a fit warns, too
_DEAD = 0.5
_UNITS, _WORDS = 12, 8


def page(estimator: Any) -> str:
    """Return what a fit found, as HTML; nothing of one that has no history."""
    record = kept_record(estimator)
    if record is None:
        return ""
    found = record["evaluation"]
    cells = [(escape(name), escape(value)) for name, value in _facts(estimator, record, found)]
    told = [line(sentence, "fair") for sentence in _warnings(estimator, found)]
    words = _words(estimator)
    hint = "fewhot.metrics.summarise(estimator, X) measures it on other rows, beside simple models."
    return sheet("The fit", *told, table(cells), *words, line(hint, "quiet"))


def _words(estimator: Any) -> list[str]:
    """Return the words of the first units that have some, folded; nothing where a fit has kept no words."""
    kept = getattr(estimator, "_kept_words", None)
    if kept is None:
        return []
    said = top_words(estimator, min(_WORDS, kept.columns_up.shape[1])).in_words()
    having = [(unit, words) for unit, words in enumerate(said) if words]
    cells = [
        (
            escape(f"unit {unit}"),
            "".join(f"<div>{escape(name)}: {escape(', '.join(side))}</div>" for name, side in words.items()),
        )
        for unit, words in having[:_UNITS]
    ]
    title = f"Words of {len(cells)} of {len(said)} units, {len(having)} of which have some"
    return [folded(title, table(cells))] if cells else []


def _facts(estimator: Any, record: dict[str, Any], found: dict[str, float]) -> list[tuple[str, str]]:
    spec = estimator.data_spec_
    rows = "texts" if spec.kind == "text" else f"rows of {spec.n_columns:,} columns"
    elbo = elbo_of(found)
    facts = [
        ("Fitted on", f"{spec.n_rows:,} {rows}"),
        ("Steps", f"{estimator.n_iter_:,}"),
        ("ELBO", f"{elbo:,.4g} nats per row on {record['rows']}, at step {record['step']:,}"),
    ]
    n_units = estimator.module_.latent.n_latent
    if "active" in found:
        asked = asked_units(estimator)
        wanted = "" if asked is None else f" ({asked:g} asked for)"
        facts.append(("Active per row", f"{found['active']:.3g} of {n_units} units{wanted}"))
        facts.append(("Units", f"{found['used']:.0f} used, {found['dead']:.0f} never on"))
    else:
        facts.append(("Units", f"{found['used']:.0f} of {n_units} used"))
    return [*facts, ("Likelihood", str(estimator.likelihood_)), ("Seed", str(estimator.seed_))]


def _warnings(estimator: Any, found: dict[str, float]) -> list[str]:
    n_units, asked = estimator.module_.latent.n_latent, asked_units(estimator)
    if found["used"] < 1:
        return ["No unit is used, so all rows have about the same code."]
    told: list[str] = []
    # After its last step a fit shifts the gates to the target, which the history does not show.
    shifted = bool(getattr(estimator, "gate_shift_", 0.0))
    if asked is not None and not shifted and abs(found.get("active", asked) - asked) > _MISS * asked:
        told.append(f"Target l0={asked:g} not reached: {found['active']:.3g} active units per row.")
    if found.get("dead", 0) > _DEAD * n_units:
        told.append(f"{found['dead']:.0f} of {n_units} units are never on.")
    return told
