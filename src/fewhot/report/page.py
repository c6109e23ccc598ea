"""One page that says what was fitted, how well, and what to worry about."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fewhot.core.files import replacing_file
from fewhot.metrics.words import things_of
from fewhot.plots.effects import unit_effects
from fewhot.report.fitted import fitted_section
from fewhot.report.guide import guide_section
from fewhot.report.judged import alarms_section, glance, numbers_section, references_section, verdict_counts
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
from fewhot.report.texts import text_reconstructions_section, text_units_section, turned_texts_section
from fewhot.report.words import words_section

MAX_ROWS = 2000
"""Rows that are encoded for the pictures; the numbers come from the summary and may rest on more."""

ABOUT = "Numbers are about"
"""The fact that says which rows the page looks at."""

_LINKS = {
    "warnings": "Warnings",
    "references": "Beside simple models",
    "codes": "Codes",
    "words": "Units in words",
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
    sections = {
        "warnings": alarms_section(alarms),
        "references": references_section(summary),
        "codes": codes_section(sample),
        **(_of_texts(sample) if data.holds_texts else _of_numbers(sample)),
        "usage": usage_section(sample),
        "numbers": numbers_section(summary),
        "training": training_section(estimator, asked),
        "calibration": calibration_section(sample),
        "fitted": fitted_section(estimator, data, summary, facts or {}),
        "guide": guide_section(sample.gated, texts=data.holds_texts),
    }
    title = f"{type(estimator).__name__} on {data.name}"
    links = _LINKS | {"words": f"Units in {things_of(estimator)}"}
    return _page(title, _lead(sample, summary, facts or {}), glance(summary), sections, links)


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


def _of_numbers(sample: Sample) -> dict[str, str]:
    effects = unit_effects(sample.estimator, sample.X, codes=sample.codes, scale=sample.columns.scale)
    return {
        "words": words_section(sample),
        "units": units_section(sample, effects),
        "traversals": traversals_section(sample, effects),
        "reconstructions": reconstructions_section(sample),
    }


def _of_texts(sample: Sample) -> dict[str, str]:
    return {
        "words": "",
        "units": text_units_section(sample),
        "traversals": turned_texts_section(sample),
        "reconstructions": text_reconstructions_section(sample),
    }


def _lead(sample: Sample, summary: Any, facts: dict[str, Any]) -> str:
    data = sample.data
    kind = "texts" if data.holds_texts else "pictures" if data.image_shape is not None else "rows"
    what = kind if data.holds_texts else f"{kind} of {data.X.shape[1]:,} numbers"
    return (
        f"{type(sample.estimator).__name__} describes {what} by {sample.n_units} units. "
        f"This page looks at {facts.get(ABOUT, f'{data.X.shape[0]:,} {kind}')}. {verdict_counts(summary)}"
    )


def _page(title: str, lead: str, first: str, sections: dict[str, str], names: dict[str, str]) -> str:
    links = "".join(f'<a href="#{key}">{name}</a>' for key, name in names.items() if sections[key])
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
