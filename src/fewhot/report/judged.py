"""Warnings first, then every number with what it means and whether it is good."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fewhot.report.markup import amount, measured, paragraph, section, table, text

_SEVERITIES = {"serious": ("poor", "Serious"), "warning": ("fair", "Warning"), "note": ("note", "Note")}
_BADGES = {"good": "✓ good", "fair": "~ fair", "poor": "✗ poor", "": "not judged"}
_FIRST = ("bound", "active", "used", "information", "probe_map", "relaxation_gap", "slack")
"""What to look at first; the first four of these that were measured."""
_TILES = 4
_BESIDE = {"bound": "reference_columns", "probe_map": "probe_columns"}
"""What stands in the tile of a number, to compare it with; of the bound the better reference."""
_COMPARED = ("", "This model", "Without a code", "Simple model")
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


def references_section(summary: Any) -> str:
    """Return what the numbers can be compared with; nothing where the fit kept no references."""
    words = summary.facts.get("references")
    by_name = {number.name: number for number in summary.numbers}
    if words is None or "bound" not in by_name:
        return ""
    lines = [
        _compared(["ELBO", "nats per row"], by_name, ("bound", "reference_columns", "reference_factors"), words),
        _compared(["Reconstruction", "variance unexplained"], by_name, ("fvu", "", "fvu_pca"), words),
        _compared(["Hidden likes", "NDCG@100"], by_name, ("ndcg", "ndcg_popularity", None), words),
        _compared(["Probe", "accuracy"], by_name, ("probe_map", "probe_majority", "probe_columns"), words),
    ]
    fitted = f"They were fitted on {words['n_rows']:,} of the rows that this model was fitted on."
    missing = f" {_sentence(words['no_factors'])}" if "no_factors" in words else ""
    return section(
        "references",
        "Beside simple models",
        paragraph(f"What simpler models make of the same rows. {fitted}{missing}"),
        table(_COMPARED, [line for line in lines if line], "The model beside its references.", "compared"),
        paragraph(_gained(words), "quiet"),
    )


def _compared(
    title: list[str], by_name: dict[str, Any], names: tuple[str, str, str | None], words: dict[str, Any]
) -> list[str | list[str]]:
    """Return a line of the comparison, each cell a value and what it is; nothing without a number of the model."""
    if names[0] not in by_name:
        return []
    described = {
        "reference_columns": words["columns"],
        "reference_factors": words.get("factors", ""),
        "fvu": "map codes decoded",
        "fvu_pca": words.get("axes", ""),
        "ndcg_popularity": "popularity",
        "probe_map": "map codes",
        "probe_majority": "the commonest class",
        "probe_columns": "the columns themselves",
    }
    cells: list[str | list[str]] = [title]
    for name in names:
        number = by_name.get(name or "")
        if name == "":
            cells.append(["100 %", "the mean of the fitted rows"])
        elif number is None:
            cells.append("–")
        else:
            value = measured(number.value, number.se, number.unit)[0]
            cells.append([value, described[name]] if name in described else [value])
    return cells


def _gained(words: dict[str, Any]) -> str:
    """Say how far the ELBO lies above the better reference, row by row."""
    gain = words["gain"]
    other = words["factors"] if gain["over"] == "reference_factors" else "the columns alone"
    value, _ = measured(abs(gain["mean"]), gain["se"], "nats")
    return f"Row by row, the ELBO is {value} nats {'above' if gain['mean'] >= 0 else 'below'} {other}."


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
            f"<b>{text(value)} <small>{text(unit)}</small></b>{_beside(number.name, summary, by_name)}</li>"
        )
    return f'<ul class="glance" aria-label="At a glance">{"".join(lines)}</ul>' if lines else ""


def _beside(name: str, summary: Any, by_name: dict[str, Any]) -> str:
    """Return what the number of a tile has to be compared with, in a few words."""
    words = getattr(summary, "facts", {}).get("references", {})
    other = by_name.get(_BESIDE.get(name, ""))
    if other is None:
        return ""
    said = "the columns themselves" if name == "probe_map" else "columns alone"
    factors = by_name.get("reference_factors")
    if name == "bound" and factors is not None and factors.value > other.value:
        other, said = factors, words.get("factors", "")
    value = f"{100 * other.value:.1f} %" if other.unit.startswith("share") else amount(other.value)
    return f'<span class="beside">{text(said)}: {text(value)}</span>'


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
