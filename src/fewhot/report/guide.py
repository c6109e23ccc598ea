"""How to read a report: the few words that need explaining."""

from __future__ import annotations

from fewhot.report.markup import section, text

_SHARED = {
    "Bound": "A lower bound on the log-probability of a row, in nats (1 nat is 1.44 bits); higher is better. It can be "
    "compared only between models of the same rows under the same likelihood.",
    "Columns alone, factor analysis": "What rows of the fit say of these without a code, and by a linear code of as "
    "many dimensions as units are active: a model below them is not worth having.",
    "Variance unexplained": "The squared error of decoded codes over that of the mean of the training rows: 0 % is "
    "perfect, 100 % says nothing.",
    "Code": "The numbers a row is turned into, one a unit. The decoder turns a code back into a row.",
    "Decoded": "The mean row that the decoder expects for a code. It is smoother than any real row.",
}
_TEXTS = {
    "Decoded": "What the decoder says of a code: the likeliest word, then the likeliest one after it, up to the end.",
    "_UNK": "A word that is not among the known ones; all such words are read as one.",
}
_GATED = {
    "Active": "A unit is active in a row if its value in the code is not zero.",
    "Used, always on, never on": "A unit is used if it is active in at least 0.5 % of the rows, and always on if it is "
    "active in more than half of them. Good sparse codes have many used units and few that are always on.",
    "Effective units": "How many evenly used units would spread the work as widely.",
    "Exact and relaxed": "In training, gates may be relaxed so that gradients pass. The number of record always uses "
    "exact gates, either on or off; a relaxed one that is much better is an illusion.",
    "P(active)": "The probability, given the row, that a unit is on. The code keeps units above one half.",
}
_DENSE = {
    "Used": "Without gates every unit is on in every row; a unit counts as used if its value varies over rows by more "
    "than 0.01 in variance.",
}


def guide_section(gated: bool, *, texts: bool = False) -> str:
    """Return the glossary, for codes with or without gates, of texts or of numbers."""
    words = {**_SHARED, **(_TEXTS if texts else {}), **(_GATED if gated else _DENSE)}
    entries = "".join(f"<dt>{text(name)}</dt><dd>{text(meaning)}</dd>" for name, meaning in words.items())
    return section("guide", "How to read this", f'<dl class="guide">{entries}</dl>')
