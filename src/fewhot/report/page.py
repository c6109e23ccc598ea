"""One page that says what was fitted, how well, and what to worry about."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fewhot.core.files import replacing_file
from fewhot.plots.effects import unit_effects
from fewhot.report.fitted import fitted_section
from fewhot.report.guide import guide_section
from fewhot.report.judged import alarms_section, glance, numbers_section, verdict_counts
from fewhot.report.looks import policy, script, style_sheet
from fewhot.report.markup import text
from fewhot.report.sample import Sample
from fewhot.report.shown import (
    calibration_section,
    codes_section,
    reconstructions_section,
    training_section,
    traversals_section,
    units_section,
    usage_section,
)

MAX_ROWS = 2000
"""Rows that are encoded for the pictures; the numbers come from the summary and may rest on more."""

_LINKS = {
    "warnings": "Warnings",
    "codes": "Codes",
    "units": "Units",
    "traversals": "Turning a unit",
    "reconstructions": "Reconstructions",
    "usage": "Usage",
    "numbers": "Numbers",
    "training": "Training",
    "calibration": "Calibration",
    "fitted": "What was fitted",
    "guide": "How to read this",
}


def build_report(
    estimator: Any,
    data: Any,
    *,
    summary: Any,
    alarms: Sequence[Any],
    facts: dict[str, Any] | None = None,
) -> str:
    """Return a report on a fitted model as one HTML page that loads nothing from anywhere.

    Parameters
    ----------
    estimator
        A fitted estimator.
    data
        The rows to look at: a `fewhot.data.Loaded`. Sparse rows stay sparse; only the few that are drawn become dense.
    summary
        What `fewhot.metrics.summarise` returned for these rows.
    alarms
        What `fewhot.metrics.alarms` returned for the summary.
    facts
        More to say about the fit, such as the command, by name.

    Returns
    -------
    str
        The page. The same fit and rows give the same numbers, words and pictures.
    """
    sample = Sample.of(estimator, data, MAX_ROWS)
    asked = getattr(summary, "facts", {}).get("asked")
    effects = unit_effects(estimator, sample.X, codes=sample.codes, scale=sample.columns.scale)
    sections = {
        "warnings": alarms_section(alarms),
        "codes": codes_section(sample),
        "units": units_section(sample, effects),
        "traversals": traversals_section(sample, effects),
        "reconstructions": reconstructions_section(sample),
        "usage": usage_section(sample),
        "numbers": numbers_section(summary),
        "training": training_section(estimator, asked),
        "calibration": calibration_section(sample),
        "fitted": fitted_section(estimator, data, summary, facts or {}),
        "guide": guide_section(sample.gated),
    }
    return _page(f"{type(estimator).__name__} on {data.name}", _lead(sample, summary), glance(summary), sections)


def write_report(path: str | Path, html: str) -> None:
    """Write a report, atomically.

    Parameters
    ----------
    path
        The file, such as ``report.html``; its folder is made if it is missing.
    html
        What `build_report` returned.
    """
    with replacing_file(Path(path)) as temporary:
        temporary.write_text(html, encoding="utf-8")


def _lead(sample: Sample, summary: Any) -> str:
    n, p = sample.data.X.shape
    kind = "pictures" if sample.data.image_shape is not None else "rows"
    return (
        f"{type(sample.estimator).__name__} describes {kind} of {p:,} numbers by {sample.n_units} units. "
        f"This page looks at {n:,} {kind}. {verdict_counts(summary)}"
    )


def _page(title: str, lead: str, first: str, sections: dict[str, str]) -> str:
    links = "".join(f'<a href="#{key}">{name}</a>' for key, name in _LINKS.items() if sections[key])
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy()}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{text(title)}</title><style>{style_sheet()}</style></head>\n"
        '<body><header><div class="top"><div><p class="brand">fewhot report</p>'
        f"<h1>{text(title)}</h1></div>"
        '<button type="button" id="theme" hidden>Light / dark</button></div>'
        f'<p class="lead">{text(lead)}</p><nav aria-label="Sections">{links}</nav>{first}</header>\n'
        f"<main>{chr(10).join(part for part in sections.values() if part)}</main>\n"
        "<footer><p>Made by fewhot. This page is one file: it loads nothing, and can be sent as it is.</p></footer>\n"
        f"<script>{script()}</script></body></html>\n"
    )
