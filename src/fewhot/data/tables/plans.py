"""What becomes of one column: numbers, a date, categories, or nothing. Each plan is learned once and kept as JSON."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from fewhot.core.errors import InvalidInputError
from fewhot.data.tables.cells import Spelling, day_text, spellings
from fewhot.data.tables.columns import days_of

MIN_READ = 0.95
"""A column is of numbers or dates when at least this share of its cells reads as such; the others count as missing."""
MAX_LEVELS = 20
"""Levels of a category that get a column each; the rarer ones share one."""
MIN_SHARE = 0.01
"""A level in fewer rows than this share, or in one row, is rare."""
MIN_COVERED = 0.2
"""A column of text is left out where its levels that are not rare cover a smaller share of its cells."""
MIN_REFUSED = 10
"""From this number of unreadable cells on, a column most of whose cells are unreadable is an error."""
_CHECKED = 200
"""How many different cells decide how a column is spelled."""
_IDENTIFIER = re.compile(r"(^|[_\s.-])(id|uuid|guid|index|key|row|nr|no)$|ID$|Id$")
OTHER, ABSENT = "other", "missing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What becomes of one column.

    Attributes
    ----------
    name
        What the column is called.
    """

    kind: ClassVar[str]
    name: str

    @property
    def outputs(self) -> list[str]:
        """The columns that it becomes."""
        return [self.name]

    def block(self, cells: np.ndarray) -> tuple[np.ndarray, str]:
        """Return the numbers of cells, (n, len(outputs)), and what was unusual about them, in words."""
        raise TypeError(f"{type(self).__name__} must implement block.")

    def cells(self, block: np.ndarray) -> list[Any] | None:
        """Return values for a person to read from numbers, (n, len(outputs)); None for a column that was left out."""
        return [float(value) for value in block[:, 0]]

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able mapping; `plan_of_dict` inverts it."""
        return {"kind": self.kind, **asdict(self)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped(Plan):
    """A column that is left out, and why."""

    kind = "dropped"
    reason: str

    @property
    def outputs(self) -> list[str]:
        """No columns."""
        return []

    def block(self, cells: np.ndarray) -> tuple[np.ndarray, str]:
        """Return no numbers."""
        return np.empty((len(cells), 0)), ""

    def cells(self, block: np.ndarray) -> list[Any] | None:
        """Return nothing: what the column held is not known."""
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Number(Plan):
    """Numbers, truth values as 0 and 1, or times of day, with the median in gaps.

    Attributes
    ----------
    fill
        What stands in for missing values.
    reads
        What cells of text are: "number", "truth" or "time" (of day).
    decimal
        The decimal mark of cells of text; None where they had none, or were numbers already.
    n_missing, n_unread
        How many cells were missing, and how many of text were taken as missing because they read as no number.
    """

    kind = "number"
    fill: float
    reads: str = "number"
    decimal: str | None = None
    n_missing: int = 0
    n_unread: int = 0

    def block(self, cells: np.ndarray) -> tuple[np.ndarray, str]:
        """Read, and fill what is missing."""
        values, n_unread = self._read(cells)
        return _filled(self.name, values, self.fill, n_unread)

    def _read(self, cells: np.ndarray) -> tuple[np.ndarray, int]:
        if cells.dtype.kind == "M":
            return days_of(cells), 0
        if cells.dtype.kind != "O":
            values = cells.astype(np.float64)
            return np.where(np.isfinite(values), values, np.nan), 0
        spelling = Spelling(self.reads, self.decimal or ".")
        if self.decimal is None and self.reads == "number":  # the fit had plain numbers, which any mark goes with
            found = spelling_of(cells)
            spelling = found if found is not None and found.kind == "number" else spelling
        values = spelling.read(cells)
        return values, _n_unread(cells, values)

    def cells(self, block: np.ndarray) -> list[Any] | None:
        """Return the numbers; truth values rounded."""
        return [int(value > 0.5) if self.reads == "truth" else float(value) for value in block[:, 0]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Date(Plan):
    """Days since the earliest date of the fit, with the time of day as a fraction and the median in gaps."""

    kind = "date"
    spelling: str | None
    origin: float
    fill: float
    n_missing: int = 0
    n_unread: int = 0

    @property
    def outputs(self) -> list[str]:
        """One column, named after its unit."""
        return [f"{self.name}_days"]

    def block(self, cells: np.ndarray) -> tuple[np.ndarray, str]:
        """Read, count from the origin, and fill what is missing."""
        if cells.dtype.kind == "O":
            days = Spelling("date", self.spelling or "year-month-day").read(cells)
            n_unread = _n_unread(cells, days)
        else:
            days, n_unread = (days_of(cells) if cells.dtype.kind == "M" else cells.astype(np.float64)), 0
        return _filled(self.name, days - self.origin, self.fill, n_unread)

    def cells(self, block: np.ndarray) -> list[Any] | None:
        """Return dates."""
        return [day_text(self.origin + value) for value in block[:, 0]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Category(Plan):
    """One column of 0 and 1 a level; a category with two levels and no gaps is one column, 1 for the second.

    Attributes
    ----------
    levels
        The levels with a column of their own, in sorted order.
    has_other
        Whether the rare levels share a column, which unknown ones are counted to as well.
    has_absent
        Whether missing values have a column.
    usual
        The most frequent level, which stands in for missing values that have no column.
    n_missing, n_rare
        How many cells were missing, and how many rare levels there were.
    """

    kind = "category"
    levels: list[str]
    has_other: bool
    has_absent: bool
    usual: str
    n_missing: int = 0
    n_rare: int = 0

    @property
    def groups(self) -> list[str]:
        """The levels, then the groups that are none."""
        extra = [
            _free(name, self.levels) for name, there in ((OTHER, self.has_other), (ABSENT, self.has_absent)) if there
        ]
        return [*self.levels, *extra]

    @property
    def is_binary(self) -> bool:
        """Whether one column says it all."""
        return len(self.levels) == 2 and not (self.has_other or self.has_absent)

    @property
    def outputs(self) -> list[str]:
        """A column a group, as scikit-learn's OneHotEncoder names them."""
        groups = self.groups[1:] if self.is_binary else self.groups
        return [f"{self.name}_{group}" for group in groups]

    def block(self, cells: np.ndarray) -> tuple[np.ndarray, str]:
        """Look every level up."""
        words = level_words(cells)
        places = {level: place for place, level in enumerate(self.levels)}
        absent = len(self.groups) - 1 if self.has_absent else places[self.usual]
        unknown = len(self.levels) if self.has_other else places[self.usual] if self.is_binary else -1
        found = np.array([absent if word is None else places.get(word, unknown) for word in words], dtype=np.int64)
        block = np.zeros((len(words), len(self.groups)))
        rows = np.flatnonzero(found >= 0)
        block[rows, found[rows]] = 1.0
        return block[:, 1:] if self.is_binary else block, self._unusual(words)

    def cells(self, block: np.ndarray) -> list[Any] | None:
        """Return the level whose column is largest."""
        places = (block[:, 0] > 0.5).astype(int) if self.is_binary else block.argmax(axis=1)
        return [self.groups[place] for place in places]

    def _unusual(self, words: list[str | None]) -> str:
        known = set(self.levels)
        strange = Counter(word for word in words if word is not None and word not in known)
        if not strange or self.n_rare:  # rare levels are not kept, so a new one cannot be told from an old one
            return ""
        treated = f"taken as {self.usual!r}" if self.is_binary else "taken as none of its levels"
        examples = ", ".join(map(repr, list(strange)[:3]))
        n = sum(strange.values())
        return f"{self.name}: levels that the fit did not have in {_cells(n)} ({examples}), {treated}"


def plan_for(name: str, cells: np.ndarray, decimal: str | None = None) -> Plan:
    """Return what becomes of a column, by what it holds."""
    if cells.dtype.kind == "M":
        return _date(name, days_of(cells), None)
    if cells.dtype.kind != "O":
        values = cells.astype(np.float64)
        reads = "truth" if cells.dtype.kind == "b" else "number"
        return _number(name, np.where(np.isfinite(values), values, np.nan), Spelling(reads))
    spelling = spelling_of(cells, decimal)
    if spelling is None:
        return _category(name, cells)
    values = spelling.read(cells)
    n_unread = _n_unread(cells, values)
    if spelling.kind == "date":
        return _date(name, values, spelling.name, n_unread)
    if spelling.kind == "truth" and len(np.unique(values[~np.isnan(values)])) < 2:
        return _category(name, cells)  # one word or nothing: whether it is there is what the column has to say
    has_mark = any("," in cell or "." in cell for cell in cells if cell is not None)
    return _number(name, values, spelling, n_unread, decimal=spelling.name or None if has_mark else None)


def spelling_of(cells: np.ndarray, decimal: str | None = None) -> Spelling | None:
    """Return how a column of strings is spelled; None for words."""
    different = sorted({cell for cell in cells if cell is not None})
    if not different:
        return None
    checked = np.array(different, dtype=object)[np.unique(np.linspace(0, len(different) - 1, _CHECKED).astype(int))]
    shares = [(spelling, float(np.mean(~np.isnan(spelling.read(checked))))) for spelling in spellings(decimal)]
    best, share = max(shares, key=lambda item: item[1])
    return best if share >= MIN_READ else None


def plan_of_dict(mapping: dict[str, Any]) -> Plan:
    """Return the plan that `Plan.to_dict` wrote."""
    fields = dict(mapping)
    return _KINDS[fields.pop("kind")](**fields)


def level_words(cells: np.ndarray) -> list[str | None]:
    """Return cells as words; numbers and dates as they would be written."""
    if cells.dtype.kind == "O":
        return [None if cell is None else str(cell) for cell in cells]
    if cells.dtype.kind == "M":
        return [None if day != day else day_text(day) for day in days_of(cells)]
    return [None if value != value else f"{value:g}" for value in cells.astype(np.float64)]


def _number(name: str, values: np.ndarray, spelling: Spelling, n_unread: int = 0, decimal: str | None = None) -> Plan:
    present = values[~np.isnan(values)]
    if not len(present):
        return Dropped(name=name, reason="empty")
    fill = float(np.median(present))
    fill = float(np.round(fill)) if spelling.kind == "truth" else fill
    if (present == fill).all():
        gaps = "wherever it is not missing" if len(present) < len(values) else "in every row"
        return Dropped(name=name, reason=f"{fill:g} {gaps}")
    if _counts_rows(name, values):
        return Dropped(name=name, reason="a number for each row")
    return Number(
        name=name,
        fill=fill,
        reads=spelling.kind,
        decimal=decimal,
        n_missing=int(np.isnan(values).sum()) - n_unread,
        n_unread=n_unread,
    )


def _counts_rows(name: str, values: np.ndarray) -> bool:
    """Say whether whole numbers, all different, do nothing but name the rows."""
    if len(values) < MAX_LEVELS or np.isnan(values).any() or (values != np.floor(values)).any():
        return False
    steps = np.diff(values)
    return bool((steps == 1).all()) or (bool(_IDENTIFIER.search(name)) and len(np.unique(values)) == len(values))


def _date(name: str, days: np.ndarray, spelling: str | None, n_unread: int = 0) -> Plan:
    present = days[~np.isnan(days)]
    if not len(present):
        return Dropped(name=name, reason="empty")
    origin = float(np.floor(present.min()))
    fill = float(np.median(present)) - origin
    if (present == present[0]).all():
        return Dropped(name=name, reason=f"{day_text(present[0])} in every row")
    n_missing = int(np.isnan(days).sum()) - n_unread
    return Date(name=name, spelling=spelling, origin=origin, fill=fill, n_missing=n_missing, n_unread=n_unread)


def _category(name: str, cells: np.ndarray) -> Plan:
    words = level_words(cells)
    counts = Counter(word for word in words if word is not None)
    n_present, n_missing = sum(counts.values()), len(words) - sum(counts.values())
    if not counts:
        return Dropped(name=name, reason="empty")
    least = max(2, int(np.ceil(MIN_SHARE * len(words))))
    if len(counts) == 1 and n_missing < least:
        return Dropped(name=name, reason=f"{next(iter(counts))!r} in every row")
    frequent = [word for word, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])) if count >= least]
    levels = sorted(frequent[:MAX_LEVELS])
    covered = sum(counts[level] for level in levels)
    if covered < MIN_COVERED * n_present:
        return Dropped(name=name, reason=f"text, {len(counts):,} different values in {n_present:,} rows")
    return Category(
        name=name,
        levels=levels,
        has_other=n_present - covered >= least,
        has_absent=n_missing >= least,
        usual=frequent[0],
        n_missing=n_missing,
        n_rare=len(counts) - len(levels),
    )


def _filled(name: str, values: np.ndarray, fill: float, n_unread: int) -> tuple[np.ndarray, str]:
    if n_unread >= MIN_REFUSED and n_unread > len(values) / 2:
        raise InvalidInputError(
            f"{n_unread:,} of {len(values):,} cells of the column {name!r} cannot be read as they were in the fit; "
            f"write numbers and dates the same way."
        )
    words = f"{name}: no number or date in {_cells(n_unread)}, taken as missing" if n_unread else ""
    if len(values) > 1 and np.isnan(values).all():
        words = f"{name}: missing in all {len(values):,} rows, taken as in the median row of the fit"
    return np.where(np.isnan(values), fill, values)[:, None], words


def _cells(n: int) -> str:
    return f"{n:,} {'cell' if n == 1 else 'cells'}"


def _n_unread(cells: np.ndarray, values: np.ndarray) -> int:
    return int(sum(cell is not None and value != value for cell, value in zip(cells, values, strict=True)))


def _free(name: str, taken: Sequence[str]) -> str:
    while name in taken:
        name += "_"
    return name


_KINDS: dict[str, Any] = {cls.kind: cls for cls in (Dropped, Number, Date, Category)}
