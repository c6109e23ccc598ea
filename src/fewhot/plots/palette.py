"""Colours: a light and a dark theme, of hues that colour-blind readers can tell apart."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from matplotlib.colors import ListedColormap, to_rgb

RAISED = "#e0680f"
LOWERED = "#2b83d8"
"""Hues of signed pictures, read on white and on black alike."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Theme:
    """The colours of a figure.

    Attributes
    ----------
    paper, ink, muted, rule
        Background, text, lesser text, and lines that should hardly be seen.
    blue, orange, green, purple
        Series, in the order in which they are taken; after Okabe and Ito.
    """

    paper: str
    ink: str
    muted: str
    rule: str
    blue: str
    orange: str
    green: str
    purple: str

    def to_dict(self) -> dict[str, str]:
        """Return the colours by name."""
        return asdict(self)


LIGHT = Theme(
    paper="#ffffff",
    ink="#1c2128",
    muted="#59636e",
    rule="#d5dbe1",
    blue="#0068a8",
    orange="#c24f06",
    green="#0a7d5c",
    purple="#a8468a",
)
DARK = Theme(
    paper="#171b21",
    ink="#e6eaee",
    muted="#a2adb9",
    rule="#39424d",
    blue="#61b5f2",
    orange="#f79a45",
    green="#3ecb9d",
    purple="#e592ca",
)


def theme(dark: bool) -> Theme:
    """Return the dark or the light colours."""
    return DARK if dark else LIGHT


def series(theme: Theme) -> list[str]:
    """Return the colours of lines and groups, in the order in which they are taken."""
    return [theme.blue, theme.orange, theme.green, theme.purple, theme.muted]


def signed_colours() -> ListedColormap:
    """Return a map from blue over nothing to orange: zero is transparent, so it is right on any background."""
    t = np.linspace(-1, 1, 255)
    hues = np.where(t[:, None] < 0, to_rgb(LOWERED), to_rgb(RAISED))
    return ListedColormap(np.column_stack([hues, np.abs(t) ** 0.65]), name="signed")


def strength_colours(theme: Theme) -> ListedColormap:
    """Return a map from nothing, which is transparent, to the theme's blue."""
    t = np.linspace(0, 1, 255)
    return ListedColormap(np.column_stack([np.tile(to_rgb(theme.blue), (255, 1)), t**0.8]), name="strength")
