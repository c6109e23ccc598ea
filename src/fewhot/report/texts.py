"""The sections that show texts: what units answer to, what is said again, and what one unit changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from fewhot.data.text.vocabulary import N_SPECIAL
from fewhot.metrics import unit_texts
from fewhot.report.markup import amount, paragraph, section, table
from fewhot.report.sample import UNITS, Sample, unit_use, used_units
from fewhot.report.words import ABOUT, words_of_units

_TURNED = 6
_WORDS = 8
_TEXTS_A_UNIT = 2
_TEXTS = 6
_LONGEST = 160
"""Characters of a text that are shown."""
_NAME = 40
"""Characters of a label that are shown."""
_SAID = 60
"""Words that the decoder says at most."""


def text_units_section(sample: Sample) -> str:
    """Return units with the words and texts they answer to, those on in most texts first."""
    units = used_units(sample)
    if not units:
        return section("units", "What units answer to", paragraph("No unit is on in these texts."))
    words = words_of_units(sample, units)
    texts = unit_texts(sample.estimator, sample.read, _TEXTS_A_UNIT, units=units)
    rows = [
        (f"unit {unit}", unit_use(sample, unit), words[at], _texts_of(sample, texts.rows[at], texts.values[at]))
        for at, unit in enumerate(units)
    ]
    measure = "on in most texts" if sample.gated else "that vary most over texts"
    more = "" if len(units) < UNITS else f" The {UNITS} {measure} are shown."
    use = "the share of texts in which it is on" if sample.gated else "how far it varies over texts"
    about = f"Beside each unit, {use}; {ABOUT.format(things='words')}; and the texts it is largest in."
    head = ("Unit", "On in" if sample.gated else "Deviation", "Words", "Texts")
    listed = table(head, rows, "Units in words.", "texts units")
    return section("units", "What units answer to", paragraph(about + more), listed)


def text_reconstructions_section(sample: Sample) -> str:
    """Return texts beside what the decoder says of their codes."""
    rows = sample.examples(_TEXTS).tolist()
    said = _said(sample, _dense(sample.codes[rows]))
    labels = [f"row {sample.numbers[row]}" if sample.y is None else _shortened(sample.y[row], _NAME) for row in rows]
    lines = [
        (label, _shown(sample, row), _shortened(text)) for label, row, text in zip(labels, rows, said, strict=True)
    ]
    in_order = sample.estimator.says_texts
    words = "What survives the code: the closer the decoded text is to the original, the less the code left out. " + (
        "The decoder says the likeliest word after each."
        if in_order
        else f"This model counts words and does not order them: shown are the {_WORDS} it finds likeliest."
    )
    head = ("Row" if sample.y is None else "Label", "Text", "Decoded" if in_order else "Likeliest words")
    listed = table(head, lines, "Texts, said again.", "texts")
    return section("reconstructions", "Originals and reconstructions", paragraph(words), listed)


def turned_texts_section(sample: Sample) -> str:
    """Return one text, decoded while one unit at a time is off, or at its usual value."""
    row = sample.typical()
    units = _units_to_turn(sample, row)
    if not units or not sample.estimator.says_texts:
        return ""
    code = _dense(sample.codes[[row]])[0]
    ends = [_usual_ends(sample, unit) for unit in units]
    codes = np.tile(code, (1 + 2 * len(units), 1))
    for at, (unit, (low, high)) in enumerate(zip(units, ends, strict=True)):
        codes[1 + 2 * at, unit], codes[2 + 2 * at, unit] = low, high
    as_coded, *said = [_shortened(text) for text in _said(sample, codes)]
    lines = [
        (
            f"unit {unit}",
            _here(code[unit], sample.gated),
            off if sample.gated else f"{amount(low)}: {off}",
            f"{amount(high)}: {on}",
        )
        for unit, (low, high), off, on in zip(units, ends, said[::2], said[1::2], strict=True)
    ]
    second, third = ("When off", "At its usual value") if sample.gated else ("At its 5 %", "At its 95 %")
    return section(
        "traversals",
        "Turning one unit",
        paragraph(f"Row {sample.numbers[row]}: “{_shown(sample, row)}”"),
        paragraph(f"Its code is decoded as “{as_coded}”. Below, one unit at a time has another value."),
        table(("Unit", "Here", second, third), lines, "One text, with one unit at a time changed.", "texts turned"),
    )


def _texts_of(sample: Sample, rows: np.ndarray, values: np.ndarray) -> list[str]:
    """Return the texts a unit is largest in; of a unit without a gate, with the side of its value."""
    sides = [""] * len(rows) if sample.gated else ["high: " if value > 0 else "low: " for value in values.tolist()]
    return [f"{side}{_shown(sample, row)}" for side, row in zip(sides, rows.tolist(), strict=True)]


def _said(sample: Sample, codes: np.ndarray) -> list[str]:
    """Return what the decoder says of codes: texts, or the words that a model of counts finds likeliest."""
    if sample.estimator.says_texts:
        return [str(text) for text in sample.estimator.decode(codes, max_length=_SAID)]
    known = sample.estimator.vocabulary_.known
    means = np.asarray(sample.estimator.inverse_transform(codes))[:, N_SPECIAL:]
    order = np.argsort(-means, axis=1, kind="stable")[:, :_WORDS]
    return [", ".join(known[column] for column in columns) for columns in order.tolist()]


def _units_to_turn(sample: Sample, row: int) -> list[int]:
    """Return units that are on in a text, the largest first, and then others that many texts use."""
    code = np.abs(_dense(sample.codes[[row]])[0])
    on = [int(unit) for unit in np.argsort(-code, kind="stable") if code[unit] > 0]
    here = on[: _TURNED // 2] if sample.gated else []
    others = [unit for unit in used_units(sample) if unit not in here]
    return [*here, *others][:_TURNED]


def _usual_ends(sample: Sample, unit: int) -> tuple[float, float]:
    """Return off and the mean value when on; without a gate, the quantiles of 5 and 95 %."""
    column = _dense(sample.codes[:, [unit]]).ravel()
    if not sample.gated:
        low, high = np.quantile(column, [0.05, 0.95])
        return float(low), float(high)
    on = column[column != 0]
    return 0.0, float(on.mean()) if len(on) else 0.0


def _here(value: float, gated: bool) -> str:
    return "off" if gated and value == 0 else amount(float(value))


def _shown(sample: Sample, row: int) -> str:
    return _shortened(str(sample.X[row]))


def _shortened(text: str, longest: int = _LONGEST) -> str:
    line = " ".join(text.split())
    if not line:
        return "(no words)"
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def _dense(codes: Any) -> np.ndarray:
    return np.asarray(codes.toarray() if sp.issparse(codes) else codes, dtype=np.float64)
