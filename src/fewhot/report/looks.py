"""The page's style sheet and its few lines of script, both inline."""

from __future__ import annotations

import base64
import hashlib
from importlib import resources

from fewhot.plots.palette import DARK, LIGHT, Theme

_LIGHT = {
    "ground": "#f4f6f8",
    "good": "#0b6b4f",
    "good-ground": "#e4f4ee",
    "fair": "#7d5300",
    "fair-ground": "#fcf1d8",
    "poor": "#a82a1c",
    "poor-ground": "#fdebe8",
    "note-ground": "#e6f1fa",
}
_DARK = {
    "ground": "#0e1115",
    "good": "#58d6ac",
    "good-ground": "#12302a",
    "fair": "#f2c45f",
    "fair-ground": "#352b13",
    "poor": "#ff9a8b",
    "poor-ground": "#3a1d1a",
    "note-ground": "#13293a",
}


def style_sheet() -> str:
    """Return the style sheet: light, dark by the reader's setting or choice, and light again on paper."""
    light, dark = _variables(LIGHT, _LIGHT), _variables(DARK, _DARK)
    return (
        f":root{{color-scheme:light;{light}}}"
        f"@media screen and (prefers-color-scheme: dark)"
        f"{{:root:not([data-theme=light]){{color-scheme:dark;{dark}}}}}"
        f"@media screen{{:root[data-theme=dark]{{color-scheme:dark;{dark}}}}}\n{_file('page.css')}"
    )


def script() -> str:
    """Return the script of the light and dark switch."""
    return _file("theme.js")


def policy() -> str:
    """Return a content policy under which nothing is loaded and no script runs but ours."""
    digest = base64.b64encode(hashlib.sha256(script().encode()).digest()).decode()
    return f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'"


def _variables(theme: Theme, more: dict[str, str]) -> str:
    return "".join(f"--{name}:{colour};" for name, colour in {**theme.to_dict(), **more}.items())


def _file(name: str) -> str:
    return resources.files("fewhot.report").joinpath(name).read_text(encoding="utf-8")
