"""Codes in a notebook: how sparse they are, which units are used, and a picture of the first rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from fewhot.core.html import escape, line, sheet, table
from fewhot.metrics.activity import Activity, activity

_ROWS, _UNITS = 12, 64
_CELL = 10
_NEGATIVE, _POSITIVE = "#2b83c6", "#e07a1f"


def summary_line(codes: Any) -> str:
    """Return what codes are in one line."""
    n, n_units = codes.values.shape
    if codes.p_active is None:
        return f"Codes({n:,} rows, {n_units:,} units without gates)"
    return f"Codes({n:,} rows, {n_units:,} units, {_active(codes.values).mean():.3g} active per row)"


def page(codes: Any) -> str:
    """Return codes as HTML."""
    n, n_units = codes.values.shape
    facts = [("Shape", f"{n:,} rows × {n_units:,} units")]
    if codes.p_active is not None:
        facts += _use(codes.values, activity(codes.values))
    if np.isfinite(codes.bound).any():
        facts.append(("ELBO", f"{np.nanmean(codes.bound):,.4g} nats per row"))
    if codes.gap is not None:
        facts.append(("Gained by refinement", f"{codes.gap.mean():,.3g} nats per row"))
    cells = [(escape(name), escape(value)) for name, value in facts]
    return sheet(f"Codes of {n:,} rows", table(cells), _picture(codes.values))


def _active(values: Any) -> np.ndarray:
    return np.asarray((values != 0).sum(axis=1), dtype=float).ravel()


def _use(values: Any, use: Activity) -> list[tuple[str, str]]:
    n_units, active = values.shape[1], _active(values)
    kind = "sparse (CSR)" if sp.issparse(values) else "dense array"
    share = use.active / n_units
    return [
        (
            "Active per row",
            f"{use.active:.3g} (from {active.min():.0f} to {active.max():.0f}), {share:.1%} of the units",
        ),
        ("Units", f"{use.used} used, {use.dead} active in no row, {use.always_on} in more than half of the rows"),
        ("Rows without an active unit", f"{use.empty_rows:.1%}"),
        ("Stored as", kind),
    ]


def _picture(values: Any) -> str:
    """Return the first rows as colored squares, of the busiest units where there are many."""
    n, n_units = min(values.shape[0], _ROWS), min(values.shape[1], _UNITS)
    busy = np.asarray((values != 0).sum(axis=0)).ravel()
    units = np.sort(np.argsort(-busy, kind="stable")[:n_units])
    rows = values[:n]
    block = np.asarray(rows.toarray() if sp.issparse(rows) else rows, dtype=float)[:, units]
    largest = float(np.abs(block).max(initial=0.0)) or 1.0
    squares = "".join(
        f'<rect x="{column * _CELL}" y="{row * _CELL}" width="{_CELL - 1}" height="{_CELL - 1}" '
        f'fill="{_POSITIVE if block[row, column] > 0 else _NEGATIVE}" '
        f'fill-opacity="{0.15 + 0.85 * abs(block[row, column]) / largest:.2f}"/>'
        for row, column in zip(*np.nonzero(block), strict=True)
    )
    width, height = n_units * _CELL, n * _CELL
    which = f"the {n_units} busiest of {values.shape[1]:,} units" if n_units < values.shape[1] else "all units"
    words = f"The first {n} rows, {which}: orange is positive, blue negative, empty is zero."
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    style = "max-width:100%;height:auto;border:1px solid rgba(128,128,128,.4)"
    picture = f'<svg role="img" aria-label="{escape(words)}" {size} style="{style}">{squares}</svg>'
    return picture + line(words, "quiet")
