"""Warnings first, then every number with what it means and whether it is good."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fewhot.report.markup import measured, paragraph, section, text

_SEVERITIES = {"serious": ("poor", "Serious"), "warning": ("fair", "Warning"), "note": ("note", "Note")}
_BADGES = {"good": "✓ good", "fair": "~ fair", "poor": "✗ poor", "": "not judged"}
_FIRST = ("bound", "active", "used", "information", "probe_map", "relaxation_gap", "slack")
"""What to look at first; the first four of these that were measured."""
_TILES = 4
_HEAD = ("Number", "Value", "Verdict", "What it means")


def alarms_section(alarms: Sequence[Any]) -> str:
    """Return the warnings in plain words; if there are none, say so."""
    if not alarms:
        words = "No warnings: none of the known ways in which such a model goes wrong was found."
        return section("warnings", "Warnings", f'<ul class="alarms"><li class="good"><span>{words}</span></li></ul>')
    lines = []
    for alarm in alarms:
        kind, word = _SEVERITIES.get(alarm.severity, ("fair", str(alarm.severity)))
        title = f"{word}: {str(alarm.name).replace('_', ' ')}"
        lines.append(f'<li class="{kind}"><strong>{text(title)}</strong><span>{text(alarm.sentence)}</span></li>')
    return section("warnings", "Warnings", f'<ul class="alarms">{"".join(lines)}</ul>')


def numbers_section(summary: Any) -> str:
    """Return every number of the summary as a table."""
    head = "".join(f'<th scope="col">{name}</th>' for name in _HEAD)
    lines = "".join(_line(number) for number in summary.numbers)
    return section(
        "numbers",
        "Numbers",
        paragraph(
            "± is one standard error over rows. Numbers that mean something only beside another model's are not judged."
        ),
        f'<table class="listing numbers"><caption class="unseen">All that was measured.</caption>'
        f"<thead><tr>{head}</tr></thead>"
        f"<tbody>{lines}</tbody></table>",
    )


def glance(summary: Any) -> str:
    """Return the few numbers to look at first."""
    by_name = {number.name: number for number in summary.numbers}
    chosen = [by_name[name] for name in _FIRST if name in by_name][:_TILES]
    lines = []
    for number in chosen:
        value, unit = measured(number.value, number.se, number.unit)
        badge = _badge(number) if number.verdict else ""
        lines.append(
            f'<li><span class="head">{text(_title(number))}{badge}</span>'
            f"<b>{text(value)} <small>{text(unit)}</small></b></li>"
        )
    return f'<ul class="glance" aria-label="At a glance">{"".join(lines)}</ul>' if lines else ""


def verdict_counts(summary: Any) -> str:
    """Say how many numbers are good, fair and poor."""
    counts = {name: sum(number.verdict == name for number in summary.numbers) for name in ("good", "fair", "poor")}
    judged = sum(counts.values())
    if not judged:
        return "None of the numbers could be judged."
    said = [f"{count} {'is' if count == 1 else 'are'} {name}" for name, count in counts.items() if count]
    listed = said[0] if len(said) == 1 else f"{', '.join(said[:-1])} and {said[-1]}"
    return f"Of the {judged} numbers that can be judged by themselves, {listed}."


def _line(number: Any) -> str:
    value, unit = measured(number.value, number.se, number.unit)
    why = f'<span class="why">{text(_sentence(number.why))}</span>' if number.why else ""
    return (
        f'<tr><th scope="row">{text(_title(number))}</th>'
        f'<td class="number" data-head="Value">{text(value)}<small>{text(unit)}</small></td>'
        f'<td data-head="Verdict">{_badge(number)}</td>'
        f'<td class="words" data-head="Meaning">{text(_sentence(number.meaning))}{why}</td></tr>'
    )


def _title(number: Any) -> str:
    return str(number.name).replace("_", " ")


def _badge(number: Any) -> str:
    kind = number.verdict if number.verdict in _BADGES else ""
    return f'<span class="badge {kind or "none"}">{_BADGES[kind]}</span>'


def _sentence(words: str) -> str:
    """Begin with a capital, end with a full stop."""
    return words[:1].upper() + words[1:] + ("" if words.endswith((".", "!", "?")) else ".") if words else ""
