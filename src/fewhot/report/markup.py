"""Small pieces of HTML; every text that goes in is escaped here."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from matplotlib.figure import Figure

from fewhot.core.html import escape as text
from fewhot.report.svg import inline_svg


def section(key: str, title: str, *parts: str) -> str:
    """Return a section with a heading that can be linked to."""
    heading = f'<h2 id="{key}-title">{text(title)}</h2>'
    return f'<section id="{key}" aria-labelledby="{key}-title">{heading}{"".join(parts)}</section>'


def paragraph(words: str, kind: str = "") -> str:
    """Return a paragraph of plain text."""
    return f'<p class="{kind}">{text(words)}</p>' if kind else f"<p>{text(words)}</p>"


def picture(figure: Figure, *, key: str, alt: str, caption: str) -> str:
    """Return a figure with its caption, both readable without seeing it."""
    drawing = inline_svg(figure, key=key, alt=alt)
    return f'<figure><div class="sheet">{drawing}</div><figcaption>{text(caption)}</figcaption></figure>'


def facts_table(rows: Iterable[tuple[str, str]], caption: str) -> str:
    """Return a table of two columns: what, and its value."""
    lines = "".join(f'<tr><th scope="row">{text(name)}</th><td>{text(value)}</td></tr>' for name, value in rows)
    return f'<table class="facts"><caption class="unseen">{text(caption)}</caption><tbody>{lines}</tbody></table>'


def table(head: Sequence[str], rows: Iterable[Sequence[str | list[str]]], caption: str, kind: str = "") -> str:
    """Return a table of texts with column headers; each cell carries its header for narrow screens.

    A cell that is a list has its entries one below the other; ``kind`` is one more class of the style sheet.
    """
    classes = f"listing {kind}".strip()
    top = "".join(f'<th scope="col">{text(name)}</th>' for name in head)
    body = f"<thead><tr>{top}</tr></thead><tbody>{_lines(head, rows)}</tbody>"
    return f'<table class="{classes}"><caption class="unseen">{text(caption)}</caption>{body}</table>'


def _lines(head: Sequence[str], rows: Iterable[Sequence[str | list[str]]]) -> str:
    return "".join(
        "<tr>"
        + "".join(
            f'<th scope="row">{_cell(cell)}</th>' if not at else f'<td data-head="{text(head[at])}">{_cell(cell)}</td>'
            for at, cell in enumerate(row)
        )
        + "</tr>"
        for row in rows
    )


def _cell(cell: str | list[str]) -> str:
    if isinstance(cell, str):
        return text(cell)
    return "".join(f'<span class="line">{text(entry)}</span>' for entry in cell)


def amount(value: float) -> str:
    """Return a number as a person would write it: whole numbers whole, others with four digits.

    Examples
    --------
    >>> amount(-24.9405), amount(11.0), amount(12345.6), amount(float("nan"))
    ('−24.94', '11', '12,346', 'not defined')
    """
    if not math.isfinite(value):
        return "not defined" if value != value else "infinite"
    written = f"{value:,.0f}" if value == round(value) or abs(value) >= 1000 else f"{value:.4g}"
    return "0" if written == "-0" else written.replace("-", "−")


def measured(value: float, se: float | None, unit: str) -> tuple[str, str]:
    """Return a number with its standard error, and its unit; shares are written as percentages.

    Examples
    --------
    >>> measured(-24.9405, 0.122, "nats a row"), measured(0.8086, 0.02, "share of rows")
    (('−24.94 ± 0.12', 'nats a row'), ('80.9 ± 2.0 %', 'of rows'))
    """
    if unit.startswith("share") and math.isfinite(value):
        written = _with_error(100 * value, None if se is None else 100 * se)
        return f"{written} %", unit.removeprefix("share").strip()
    return _with_error(value, se), unit


def _with_error(value: float, se: float | None) -> str:
    """Write a value to the second digit of its standard error."""
    if not se or not math.isfinite(se) or not math.isfinite(value):
        return amount(value)
    decimals = max(0, 1 - math.floor(math.log10(se)))
    return f"{value:,.{decimals}f} ± {se:,.{decimals}f}".replace("-", "−")
