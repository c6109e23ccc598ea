"""The section that shows what units of counts are about: words, or whatever the columns are."""

from __future__ import annotations

from typing import Any

from fewhot.data.text import UNKNOWN_WORD
from fewhot.metrics import top_words
from fewhot.metrics.words import KEPT_WORDS, TopWords, no_words, things_of
from fewhot.report.markup import paragraph, section, table
from fewhot.report.sample import Sample, unit_use, used_units

_WORDS = 8
ABOUT = (
    "the {things} of the rows of the fit in which its value is largest, by how much more often these rows hold them "
    "than others do; of a unit with two sides, those of its high values and those of its low ones. They say what goes "
    "together and not what causes what"
)


def words_section(sample: Sample) -> str:
    """Return units with the columns of counts that their rows hold; nothing for rows of other numbers."""
    units = used_units(sample)
    if not units or kept_words(sample.estimator, sample.data) is None:
        return ""
    rows = [
        (f"unit {unit}", unit_use(sample, unit), words)
        for unit, words in zip(units, words_of_units(sample, units), strict=True)
    ]
    things = things_of(sample.estimator)
    head = ("Unit", "On in" if sample.gated else "Deviation", things.capitalize())
    return section(
        "words",
        f"Units in {things}",
        paragraph(f"Beside each unit, {ABOUT.format(things=things)}."),
        table(head, rows, f"Units in {things}.", "texts words"),
    )


def kept_words(estimator: Any, data: Any) -> TopWords | None:
    """Return the words of all units, those that the fit has kept, by the names of the data; None without any."""
    kept: Any = getattr(estimator, "_kept_words", None)
    if kept is None or not kept.lists or data.image_shape is not None:
        return None
    return top_words(estimator, kept.columns_up.shape[1], vocabulary=None if data.holds_texts else data.feature_names)


def words_of_units(sample: Sample, units: list[int]) -> list[list[str]]:
    """Return a line of words for each side of some units, unknown words and marks left out."""
    found = kept_words(sample.estimator, sample.data)
    if found is None and sample.data.holds_texts:
        n_known = len(sample.estimator.vocabulary_.known)
        found = top_words(sample.estimator, min(KEPT_WORDS, n_known), X=sample.read) if n_known else None
    if found is None:
        return [["none"] for _ in units]
    said = found.in_words()
    return [_lines(said[unit]) or [no_words(sample.gated)] for unit in units]


def _lines(said: dict[str, list[str]]) -> list[str]:
    told = {name: [word for word in words if _is_word(word)][:_WORDS] for name, words in said.items()}
    return [
        f"{name}: {', '.join(words)}" if len(told) > 1 else ", ".join(words) for name, words in told.items() if words
    ]


def _is_word(word: str) -> bool:
    return word != UNKNOWN_WORD and any(mark.isalnum() for mark in word)
