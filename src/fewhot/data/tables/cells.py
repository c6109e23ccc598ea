"""Cells of text as numbers, truth values and dates: the spellings that spreadsheets and exports use."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

MISSING = frozenset(["", "na", "n/a", "nan", "nat", "null", "none", "?", "-", "--", ".", "#n/a", "<na>", "#value!"])
"""How tables spell a value that is not there, in lower case."""

_SPACES = str.maketrans({"\u00a0": " ", "\u202f": " ", "\u2009": " ", "\u2212": "-"})
_CURRENCIES = "$€£¥₹"
_GROUPED = r"\d{{1,3}}(?:[{group} '’]\d{{3}})+"
_NUMBER = r"[+-]?(?={point}?\d)(?:{grouped}|\d+)?(?:{point}\d*)?(?:[eE][+-]?\d+)?"
_NUMBERS = {
    point: re.compile(_NUMBER.format(grouped=_GROUPED.format(group=re.escape(group)), point=re.escape(point)))
    for point, group in ((".", ","), (",", "."))
}

_TRUTHS = {"true": 1.0, "yes": 1.0, "y": 1.0, "t": 1.0, "on": 1.0, "false": 0.0, "no": 0.0, "n": 0.0, "f": 0.0}
_TRUTHS |= {"off": 0.0, "ja": 1.0, "nein": 0.0, "oui": 1.0, "non": 0.0, "si": 1.0, "sí": 1.0, "wahr": 1.0}
_TRUTHS |= {"falsch": 0.0, "vrai": 1.0, "faux": 0.0}

ISO = "year-month-day"
_DAYS = {
    ISO: None,
    "year/month/day": "%Y/%m/%d",
    "day.month.year": "%d.%m.%Y",
    "day.month.year, two digits": "%d.%m.%y",
    "month/day/year": "%m/%d/%Y",
    "day/month/year": "%d/%m/%Y",
    "month/day/year, two digits": "%m/%d/%y",
    "day/month/year, two digits": "%d/%m/%y",
    "day-month-year": "%d-%m-%Y",
    "month-day-year": "%m-%d-%Y",
    "day month year": "%d %b %Y",
    "day-month name-year": "%d-%b-%Y",
    "day-month name-year, two digits": "%d-%b-%y",
    "day month name year": "%d %B %Y",
    "month day, year": "%b %d, %Y",
    "month name day, year": "%B %d, %Y",
    "year-month": "%Y-%m",
    "month/year": "%m/%Y",
    "month year": "%b %Y",
}
"""How days are written, by what a summary calls it; where several read all cells, the first is taken."""

_CLOCKS = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", " %I:%M %p", " %I:%M:%S %p")
_FIRST = datetime(1970, 1, 1, tzinfo=UTC)

Reader = Callable[[str], float]
"""What a cell means as a number; NaN where it means none."""


@dataclass(frozen=True, slots=True)
class Spelling:
    """How the cells of a column are written.

    Attributes
    ----------
    kind
        "number", "truth", "time" (of day) or "date".
    name
        The decimal mark of numbers, the order of the parts of a date; else empty.
    """

    kind: str
    name: str = ""

    @property
    def reader(self) -> Reader:
        """The function that reads a cell; dates become days since 1970, times of day a share of the day."""
        if self.kind == "number":
            return lambda cell: _number(cell, self.name)
        if self.kind == "truth":
            return lambda cell: _TRUTHS.get(cell.strip().lower(), np.nan)
        return _clock if self.kind == "time" else lambda cell: _day(cell, self.name)

    def read(self, cells: np.ndarray) -> np.ndarray:
        """Return the numbers of cells, strings or None, as float64; NaN where a cell is missing or reads as none."""
        present = np.array([cell is not None for cell in cells], dtype=bool)
        found = np.full(len(cells), np.nan)
        if present.any():
            different, places = np.unique(cells[present].astype(str), return_inverse=True)
            reader = self.reader
            found[present] = np.array([reader(cell) for cell in different])[places]
        return found


def is_missing(cell: str) -> bool:
    """Say whether a cell holds nothing, however the table spells it.

    >>> is_missing(" N/A "), is_missing("0")
    (True, False)
    """
    return cell.strip().lower() in MISSING


def spellings(decimal: str | None = None) -> list[Spelling]:
    """Return every way to write a column, the likeliest first; ``decimal`` is the mark where both would do."""
    marks = (",", ".") if decimal == "," else (".", ",")
    numbers = [Spelling("number", mark) for mark in marks]
    return [*numbers, Spelling("truth"), *(Spelling("date", name) for name in _DAYS), Spelling("time")]


def _number(cell: str, point: str) -> float:
    """Read a number with this decimal mark: groups of thousands, a sign of percent or of a currency may be there.

    >>> _number("1.234,5 €", ","), _number("12 %", "."), _number("1,5", ".")
    (1234.5, 0.12, nan)
    """
    bare = cell.translate(_SPACES).strip()
    share = bare.endswith("%")
    bare = bare.removesuffix("%").strip()
    negative = bare.startswith("-")
    bare = bare.removeprefix("-").strip().strip(_CURRENCIES).strip()
    if not _NUMBERS[point].fullmatch(bare):
        return np.nan
    digits = re.sub(r"[ '’]", "", bare).replace("," if point == "." else ".", "").replace(point, ".")
    value = float(digits) * (0.01 if share else 1.0)
    return -value if negative else value


def _day(cell: str, name: str) -> float:
    """Read a date as days since 1970, with the time of day as a fraction; times with a zone are taken in UTC."""
    pattern, text = _DAYS[name], cell.strip()
    if pattern is None:
        return _iso_day(text)
    for clock in _CLOCKS:
        try:
            return _days_of(datetime.strptime(text, pattern + clock).replace(tzinfo=UTC))
        except ValueError:
            continue
    return np.nan


def _iso_day(text: str) -> float:
    if len(text) < len("2000-01-01") or text[4:5] != "-":
        return np.nan
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return np.nan
    return _days_of(found if found.tzinfo is not None else found.replace(tzinfo=UTC))


def _clock(cell: str) -> float:
    """Read a time of day as a share of the day."""
    for pattern in ("%H:%M", "%H:%M:%S", "%I:%M %p"):
        try:
            found = datetime.strptime(cell.strip(), pattern)
        except ValueError:
            continue
        return (found.hour * 3600 + found.minute * 60 + found.second) / 86_400
    return np.nan


def _days_of(moment: datetime) -> float:
    return (moment - _FIRST).total_seconds() / 86_400


def day_text(days: float) -> str:
    """Return days since 1970 as a date, with the time where there is one.

    >>> day_text(18690.0), day_text(18690.25)
    ('2021-03-04', '2021-03-04 06:00')
    """
    moment = np.datetime64(0, "s") + np.timedelta64(round(float(days) * 86_400), "s")
    date, _, clock = str(moment).partition("T")
    return date if clock == "00:00:00" else f"{date} {clock[:5]}"
