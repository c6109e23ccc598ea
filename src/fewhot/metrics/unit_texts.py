"""Which texts a unit answers to most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fewhot.core.checks import whole_number
from fewhot.core.errors import InvalidTypeError
from fewhot.data.text import TextDataset
from fewhot.metrics.examples import check_estimator, map_codes
from fewhot.metrics.matrices import is_sparse
from fewhot.metrics.text_counts import as_texts
from fewhot.metrics.traversal import chosen_units

_SHOWN = 80
"""Characters of a text that are printed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopTexts:
    """The texts in whose codes a unit is largest, one way or the other.

    Attributes
    ----------
    units
        The units, (U,).
    rows
        Places of the texts, those of the largest code first, an array a unit; a unit that is on in few texts has few.
    values
        The unit's code in them, with its sign, in the same places.
    texts
        The texts themselves, a list a unit.
    """

    units: np.ndarray
    rows: list[np.ndarray]
    values: list[np.ndarray]
    texts: list[list[str]]

    def __len__(self) -> int:
        return len(self.units)

    def __str__(self) -> str:
        lines: list[str] = []
        for unit, values, texts in zip(self.units, self.values, self.texts, strict=True):
            lines.append(f"unit {unit}" if texts else f"unit {unit}  on in no text")
            lines += [f"  {value:+.2f}  {_shortened(text)}" for value, text in zip(values, texts, strict=True)]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able mapping: a record a unit, with its texts, their places and codes."""
        parts = zip(self.units.tolist(), self.rows, self.values, self.texts, strict=True)
        records = [{"unit": unit, "texts": _records(rows, values, texts)} for unit, rows, values, texts in parts]
        return {"units": records}


def unit_texts(estimator: Any, texts: Any, n: int = 5, *, units: Sequence[int] | None = None) -> TopTexts:
    r"""Return the texts in whose map code :math:`|z_j|` is largest, for every unit j; of equals, the first.

    Parameters
    ----------
    estimator
        An estimator fitted on texts.
    texts
        Strings, or a data set of texts, whose words are then put together again.
    n
        How many texts at most; those in which the unit is off are never shown.
    units
        Which units; None takes all.

    Examples
    --------
    >>> import fewhot as fh
    >>> texts = ["the sea is blue", "the sun is hot"] * 20
    >>> vsc = fh.VSC(4, l0=2, hidden_layer_sizes=(8,), max_steps=5, random_state=0).fit(texts)
    >>> len(unit_texts(vsc, texts, 3))
    4
    """
    check_estimator(estimator)
    whole_number("n", n)
    read = as_texts(texts, getattr(estimator, "vocabulary_", None), "texts")
    if read is None:
        raise InvalidTypeError(
            f"texts is of type {type(texts).__name__} without strings, and {type(estimator).__name__} was fitted on "
            f"rows of numbers; give an estimator of texts, and texts."
        )
    codes = map_codes(estimator, texts)  # as given: a pretrained encoder reads more than known words
    codes = codes.tocsc() if is_sparse(codes) else np.asarray(codes)
    chosen = chosen_units(units, codes.shape[1])
    found = [_largest(codes, unit, n) for unit in chosen.tolist()]
    given = None if isinstance(texts, TextDataset) else list(texts)
    said = [[_text(read, row) if given is None else str(given[row]) for row in rows.tolist()] for rows, _ in found]
    return TopTexts(units=chosen, rows=[rows for rows, _ in found], values=[values for _, values in found], texts=said)


def _largest(codes: Any, unit: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows in which a unit's code is largest, and the code there."""
    if is_sparse(codes):
        inside = slice(codes.indptr[unit], codes.indptr[unit + 1])
        rows, values = codes.indices[inside], codes.data[inside]
    else:
        rows, values = np.arange(len(codes)), codes[:, unit]
    size = np.abs(values)
    least = np.partition(size, -n)[-n] if len(size) > n else 0.0  # so that few are put in order
    kept = (size >= least) & (size > 0)
    rows, values = rows[kept], values[kept]
    order = np.lexsort((rows, -np.abs(values)))[:n]
    return rows[order].astype(np.int64), values[order].astype(np.float64)


def _text(texts: TextDataset, row: int) -> str:
    return " ".join(texts.words(row))


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1]}…"


def _records(rows: np.ndarray, values: np.ndarray, texts: list[str]) -> list[dict[str, Any]]:
    parts = zip(rows.tolist(), values.tolist(), texts, strict=True)
    return [{"row": row, "value": value, "text": text} for row, value, text in parts]
