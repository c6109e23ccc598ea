"""Small pieces of HTML for notebooks: everything escaped, no script, right on light and dark grounds."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any

VERDICTS = {"good": ("#12855a", "✓ good"), "fair": ("#9a6a00", "~ fair"), "poor": ("#cf3f2e", "✗ poor")}
"""Colors with a contrast of about 4 on white and on black, and a word, for who sees no colors."""
_LINE = "1px solid rgba(128,128,128,.3)"
_CELL = f"text-align:left;vertical-align:top;padding:.15em .9em .15em 0;border-top:{_LINE};"


def escape(value: Any) -> str:
    """Escape a text; marks that cannot be shown become spaces.

    >>> escape("<a & b>")
    '&lt;a &amp; b&gt;'
    """
    return html.escape("".join(mark if mark.isprintable() else " " for mark in str(value)))


def sheet(title: str, *parts: str) -> str:
    """Return a titled block that takes its colors from the page around it."""
    return (
        '<div style="font-family:system-ui,sans-serif;font-size:13px;line-height:1.45;max-width:60em">'
        f'<div style="font-weight:600;margin:.2em 0 .4em">{escape(title)}</div>{"".join(parts)}</div>'
    )


def line(words: str, kind: str = "") -> str:
    """Return a line of text; ``kind`` "good", "fair" or "poor" colors its edge, "quiet" makes it small."""
    if kind == "quiet":
        return f'<div style="opacity:.7;font-size:12px;margin:.3em 0">{escape(words)}</div>'
    color = VERDICTS[kind][0] if kind in VERDICTS else "rgba(128,128,128,.5)"
    return f'<div style="border-left:3px solid {color};padding-left:.6em;margin:.3em 0">{escape(words)}</div>'


def badge(verdict: str) -> str:
    """Return a verdict in its color; nothing for what was not judged."""
    if verdict not in VERDICTS:
        return ""
    color, word = VERDICTS[verdict]
    return f'<span style="color:{color};font-weight:600;white-space:nowrap">{word}</span>'


def table(rows: Iterable[Sequence[str]], head: Sequence[str] = ()) -> str:
    """Return a table whose cells are HTML already: escape what goes in; the first cell of a row is its header."""
    titles = "".join(f'<th scope="col" style="{_CELL}border-top:0;opacity:.7">{name}</th>' for name in head)
    body = "".join(
        f'<tr style="background:none"><th scope="row" style="{_CELL}font-weight:600">{first}</th>'
        + "".join(f'<td style="{_CELL}">{cell}</td>' for cell in others)
        + "</tr>"
        for first, *others in rows
    )
    top = f"<thead><tr>{titles}</tr></thead>" if head else ""
    style = "border-collapse:collapse;border:0;margin:.2em 0;font-size:13px"
    return f'<table style="{style}">{top}<tbody>{body}</tbody></table>'


def folded(title: str, content: str) -> str:
    """Return HTML that opens at a click, without a script."""
    opener = f'<summary style="cursor:pointer;opacity:.8">{escape(title)}</summary>'
    return f'<details style="margin:.3em 0">{opener}{content}</details>'
