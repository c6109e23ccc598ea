"""A summary in a notebook and on a terminal: warnings, the numbers to look at first, then all of them."""

from __future__ import annotations

import math
from typing import Any

from fewhot.core.html import badge, escape, folded, line, sheet, table

FIRST = (
    *(
        f"{score}{of}"
        for score in ("label_likelihood", "micro_f1", "macro_f1", "squared_error")
        for of in ("", "_shares", "_means", "_linear")
    ),
    *("r2", "r2_linear"),
    *(
        "bound",
        "reference_columns",
        "reference_factors",
        "perplexity",
        "perplexity_columns",
        "ndcg",
        "ndcg_popularity",
        "fvu",
        "fvu_pca",
    ),
    *("active", "used", "dead", "active_units"),
    *("probe_map", "marginal_probe_sample", "probe_majority", "probe_columns"),
)
"""What is shown before the fold."""
_SEVERITIES = {"serious": "poor", "warning": "fair", "note": ""}
_HEAD = ("", "value", "verdict", "what it means")


def page(summary: Any) -> str:
    """Return a summary as HTML."""
    from fewhot.metrics.alarms import alarms

    facts = summary.facts
    title = f"{facts.get('estimator', 'Summary')} on {facts.get('n_rows', 0):,} rows"
    found = alarms(summary) if facts.keys() & {"n_units", "n_labels"} else []
    told = [line(f"{alarm.severity}: {alarm.sentence}", _SEVERITIES[alarm.severity]) for alarm in found]
    first = [number for number in summary.numbers if number.name in FIRST]
    missing = facts.get("references", {}).get("no_factors")
    return sheet(
        title,
        *told,
        table([_row(number, why=False) for number in first], _HEAD),
        *([line(f"{missing}.", "quiet")] if missing else []),
        folded(
            f"All {len(summary.numbers)} numbers", table([_row(number, why=True) for number in summary.numbers], _HEAD)
        ),
    )


def lines(summary: Any) -> str:
    """Return a summary as lines of text: name, value, unit, verdict."""
    facts = summary.facts
    title = f"{facts.get('estimator', 'Summary')} on {facts.get('n_rows', 0):,} rows"
    cells = [
        (number.name, f"{value_in_words(number)} {number.unit}".strip(), number.verdict) for number in summary.numbers
    ]
    widths = [max((len(row[column]) for row in cells), default=0) for column in range(2)]
    return "\n".join([title, *(f"  {a:{widths[0]}}  {b:{widths[1]}}  {c}".rstrip() for a, b, c in cells)])


def value_in_words(number: Any) -> str:
    """Return a value with its standard error.

    >>> from fewhot.metrics.summary import Number
    >>> value_in_words(Number(name="bound", value=-24.9405, se=0.122, unit="nats per row"))
    '-24.94 ± 0.12'
    """
    if not math.isfinite(number.value):
        return "not defined"
    error = f" ± {number.se:.2g}" if number.se and math.isfinite(number.se) else ""
    return f"{number.value:,.4g}{error}"


def _row(number: Any, *, why: bool) -> list[str]:
    small = f'<div style="opacity:.7;font-size:12px">{escape(number.unit)}</div>' if number.unit else ""
    reason = f'<div style="opacity:.7;font-size:12px">{escape(number.why)}</div>' if why and number.why else ""
    shown = f'<span style="white-space:nowrap">{escape(value_in_words(number))}</span>{small}'
    return [escape(number.name.replace("_", " ")), shown, badge(number.verdict), escape(number.meaning) + reason]
