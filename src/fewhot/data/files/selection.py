"""Which columns of a table are rows, and which one holds the labels."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fewhot.core.errors import DataError


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What a caller wants of a table's columns.

    Attributes
    ----------
    label
        The column of labels, by name or by place from 0; None for none.
    label_may_lack
        Whether a table without that column is read all the same.
    columns
        The columns to keep, as names or as text with commas between them; None for all.
    drop
        Those to leave out.
    known
        The columns of an earlier fit: these are read, in this order, and no others; None where there was none.
    n_known
        How many columns an earlier fit had.
    as_text
        Columns to read as text though they may look like plain numbers.
    """

    label: str | int | None = None
    label_may_lack: bool = False
    columns: str | Sequence[str] | None = None
    drop: str | Sequence[str] | None = None
    known: Sequence[str] | None = None
    n_known: int | None = None
    as_text: Sequence[str] = ()

    def places(self, names: Sequence[str], path: str | Path, *, has_names: bool = True) -> tuple[list[int], int | None]:
        """Return the places of the columns to keep, in order, and that of the labels."""
        label = self._label_place(names, path, has_names)
        if self.known is not None and has_names:
            return self._known_places(names, path), label
        keep = range(len(names)) if self.columns is None else _places("columns", self.columns, names, path)
        dropped = set() if self.drop is None else set(_places("drop", self.drop, names, path))
        kept = [place for place in keep if place not in dropped and place != label]
        if not kept:
            besides = " besides the labels" if label is not None else " left"
            raise DataError(f"{path} has no column{besides}; give at least one column of numbers.")
        return kept, label

    def _label_place(self, names: Sequence[str], path: str | Path, has_names: bool) -> int | None:
        if not self.label_may_lack or self.label in names:
            return label_index(self.label, names, path)
        if not isinstance(self.label, int) or not -len(names) <= self.label < len(names):
            return None
        place = self.label % len(names)
        known = names[place] in (self.known or ()) if has_names else len(names) == self.n_known
        return None if known else place

    def _known_places(self, names: Sequence[str], path: str | Path) -> list[int]:
        assert self.known is not None
        missing = next((name for name in self.known if name not in names), None)
        if missing is not None:
            raise DataError(f"{path} lacks the column {missing!r}; give all columns of the fit.")
        return [list(names).index(name) for name in self.known]


def label_index(label: str | int | None, names: Sequence[str], path: str | Path) -> int | None:
    """Return the place of the label column, given by its name or its place."""
    if label is None:
        return None
    if label in names:
        return list(names).index(str(label))
    if isinstance(label, int) and -len(names) <= label < len(names):
        return label % len(names)
    raise DataError(f"{path} has no column {label!r} for the labels.{_nearest(str(label), names)}")


def _places(what: str, given: str | Sequence[str], names: Sequence[str], path: str | Path) -> list[int]:
    """Return the places of named columns; text is one name, or several with commas between them."""
    several = given if not isinstance(given, str) else [given] if given in names else given.split(",")
    places = []
    for item in several:
        name = item.strip()
        if name not in names:
            raise DataError(f"{path} has no column {name!r}, which {what}= names.{_nearest(name, names)}")
        places.append(list(names).index(name))
    return places


def _nearest(name: str, names: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, names, n=1)
    return (f" Did you mean {near[0]!r}?" if near else "") + f" Its columns: {shortened(names)}."


def shortened(names: Sequence[str], limit: int = 8) -> str:
    """Return a list of names that fits into a sentence."""
    return ", ".join(names[:limit]) + (f" and {len(names) - limit} more" if len(names) > limit else "")
