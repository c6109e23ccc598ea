"""Pictures in fewer bytes: PNG with a palette, SVG whose numbers are as fine as eyes can see."""

from __future__ import annotations

import base64
import io
import re
from collections import Counter
from pathlib import Path

from PIL import Image

N_COLOURS = 256
DECIMALS = 2
"""Of a point, which is 1/72 inch."""

_ATTRIBUTE = re.compile(r'(?<= )(d|x|y|width|height|points)="([^"]*)"')
_TRANSLATE = re.compile(r"translate\([^)]*\)")
_NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
_STYLE = re.compile(r'style="[^"]*"')
_NAME = re.compile(r' id="([^"]*)"')
_PLAIN_GROUP = re.compile(r"<g>\n((?:(?!</?g[ >]).)*?)</g>\n", re.DOTALL)
_EMBEDDED = re.compile(r"data:image/png;base64,([A-Za-z0-9+/=\s]+)")


def slim_png(path: Path) -> None:
    """Write an opaque picture anew with a palette of its own, where that takes fewer bytes."""
    content = path.read_bytes()
    slim = _with_palette(content)
    if len(slim) < len(content):
        path.write_bytes(slim)


def slim_svg(text: str) -> str:
    r"""Return a picture of matplotlib's with rounded coordinates, short names, and no groups that change nothing.

    >>> slim_svg('<g id="a">\n  <path d="M 0.123456 7 \nL 1.50001 2 \nz\n" style="fill: none"/>\n</g>\n')
    '<path d="M0.12 7L1.5 2z" style="fill:none"/>\n'
    """
    text = re.sub(r"\s*<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = _ATTRIBUTE.sub(lambda found: f'{found[1]}="{_compact(_rounded(found[2]))}"', text)
    text = _STYLE.sub(lambda found: re.sub(r"([:;]) ", r"\1", found[0]), text)
    text = _TRANSLATE.sub(lambda found: _rounded(found[0]), text)
    text = _EMBEDDED.sub(lambda found: f"data:image/png;base64,{_slim_base64(found[1])}", text)
    text = re.sub(r"\n[ \t]+", "\n", text)
    text = _without_groups(re.sub(r'<g id="[^"]*">', "<g>", text))
    return _with_short_names(_with_classes(text))


def _without_groups(text: str) -> str:
    """Leave out groups that change nothing, from the inner ones to the outer."""
    while (fewer := _PLAIN_GROUP.sub(r"\1", text)) != text:
        text = fewer
    return text


def _with_classes(text: str) -> str:
    """Give styles that come often a class each, where the picture has a sheet of styles."""
    often = [style for style, n in Counter(_STYLE.findall(text)).most_common() if n > 2]
    if not often or "</style>" not in text:
        return text
    for i, style in enumerate(often):
        text = text.replace(style, f'class="s{i}"')
    sheet = "".join(f".s{i}{{{style[7:-1]}}}" for i, style in enumerate(often))
    return text.replace("</style>", f"{sheet}</style>", 1)


def _with_short_names(text: str) -> str:
    """Call what is drawn from elsewhere, glyphs and markers and clips, by few letters."""
    for i, name in enumerate(_NAME.findall(text)):
        text = text.replace(f'id="{name}"', f'id="n{i}"').replace(f'"#{name}"', f'"#n{i}"')
        text = text.replace(f"url(#{name})", f"url(#n{i})")
    return text


def _rounded(text: str) -> str:
    return _NUMBER.sub(lambda found: _short(float(found[0])), text)


def _short(number: float) -> str:
    """Return a number with few decimals.

    >>> [_short(number) for number in (-0.001, 1.999, -2.5)]
    ['0', '2', '-2.5']
    """
    return f"{round(number, DECIMALS) + 0.0:.{DECIMALS}f}".rstrip("0").rstrip(".")


def _compact(path: str) -> str:
    """Leave out spaces that part nothing."""
    return re.sub(r"\s*([A-Za-z])\s*", r"\1", re.sub(r"\s+", " ", path)).strip()


def _slim_base64(content: str) -> str:
    raw = base64.b64decode(content)
    slim = _with_palette(raw)
    return base64.b64encode(min(raw, slim, key=len)).decode()


def _with_palette(content: bytes) -> bytes:
    """Return a PNG with the colours it has, or with the nearest of a palette if it has more; itself if transparent."""
    with Image.open(io.BytesIO(content)) as image:
        if image.mode == "RGBA" and image.getchannel("A").histogram()[255] < image.width * image.height:
            return content
        opaque = image.convert("RGB")
    written = io.BytesIO()
    opaque.quantize(N_COLOURS, dither=Image.Dither.NONE).save(written, format="PNG", optimize=True)
    return written.getvalue()
