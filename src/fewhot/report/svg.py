"""Figures as SVG that belongs to the page: its colours follow the page's theme, its text the page's font."""

from __future__ import annotations

import io
import re
import warnings
from xml.etree import ElementTree

import matplotlib as mpl
from matplotlib.figure import Figure

from fewhot.plots.palette import LIGHT

_VARIABLES = {colour: f"var(--{name})" for name, colour in LIGHT.to_dict().items()}
_COLOUR = re.compile("|".join(_VARIABLES))
_POINTER_IN_URL = re.compile(r"url\(#([^)]+)\)")
_POINTS_TO_PIXELS = 4 / 3
_LARGEST = 1.25
"""How far a figure may be enlarged to fill the page."""


def inline_svg(figure: Figure, *, key: str, alt: str) -> str:
    """Return a figure drawn with the light theme as an ``<svg>`` element.

    Parameters
    ----------
    figure
        The figure.
    key
        A word that no other figure of the page has; its ids begin with it.
    alt
        What a reader who cannot see the figure is told.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font", UserWarning)  # the reader's fonts may have it
        file = io.StringIO()
        with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "fewhot"}):
            figure.savefig(file, format="svg", facecolor=LIGHT.paper)
    root = ElementTree.fromstring(file.getvalue())
    pointed = {match for node in root.iter() for match in _pointers(node)}
    _clean(root, key, pointed)
    width = figure.get_figwidth() * 72 * _POINTS_TO_PIXELS
    box = root.get("viewBox", "")
    root.attrib.clear()
    root.attrib.update(
        {"viewBox": box, "role": "img", "aria-label": alt, "style": f"max-width:{_LARGEST * width:.0f}px"}
    )
    return ElementTree.tostring(root, encoding="unicode")


def _clean(node: ElementTree.Element, key: str, pointed: set[str]) -> None:
    """Take off namespaces, unused ids, metadata and styles; set the page's variables and font; in place."""
    node.tag = _plain(node.tag)
    attributes = {_plain(name): value for name, value in node.attrib.items()}
    node.attrib.clear()
    for name, value in attributes.items():
        if name == "id":
            if value in pointed:
                node.set("id", f"{key}-{value}")
        elif name == "style":
            node.set("style", _themed(_POINTER_IN_URL.sub(rf"url(#{key}-\1)", value)))
        elif name == "clip-path":
            node.set(name, _POINTER_IN_URL.sub(rf"url(#{key}-\1)", value))
        elif name == "href":
            node.set(name, f"#{key}-{value[1:]}" if value.startswith("#") else re.sub(r"\s", "", value))
        else:
            node.set(name, re.sub(r"\s+", " ", value))
    if node.tag != "text":
        node.text = None
    node.tail = None
    for child in list(node):
        if _plain(child.tag) in ("metadata", "style"):
            node.remove(child)
        else:
            _clean(child, key, pointed)


def _pointers(node: ElementTree.Element) -> list[str]:
    """Return the ids that an element points at."""
    found = []
    for name, value in node.attrib.items():
        if _plain(name) == "href" and value.startswith("#"):
            found.append(value[1:])
        elif "url(#" in value:
            found.extend(_POINTER_IN_URL.findall(value))
    return found


def _themed(style: str) -> str:
    parts = [part.strip() for part in style.split(";")]
    kept = [part for part in parts if part and not part.startswith("font-family")]
    return _COLOUR.sub(lambda match: _VARIABLES[match.group()], ";".join(kept))


def _plain(name: str) -> str:
    return name.rpartition("}")[2]
