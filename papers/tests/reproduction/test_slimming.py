"""Pictures in fewer bytes look as they did."""

from __future__ import annotations

import io
import re
from pathlib import Path
from xml.etree import ElementTree

import matplotlib
import numpy as np
from PIL import Image

from fewhot_papers.reproduction.figures import curves, image_grid, panels
from fewhot_papers.reproduction.measurements import Value
from fewhot_papers.reproduction.slimming import N_COLOURS, slim_png, slim_svg


def picture(kind: str) -> bytes:
    figure, axes = panels(1, 2)
    curves(axes[0, 0], {"a": {x: Value(x**0.5, 0.1, 3) for x in range(9)}}, title="t", x="x", y="y")
    image_grid(axes[0, 1], np.random.default_rng(0).random((4, 64)), 2)
    written = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "fewhot"}):
        figure.savefig(written, format=kind)
    return written.getvalue()


def test_a_png_has_a_palette_and_nearly_the_same_colours(tmp_path: Path):
    path = tmp_path / "a.png"
    path.write_bytes(picture("png"))
    size = path.stat().st_size
    before = Image.open(io.BytesIO(path.read_bytes())).convert("RGB")
    slim_png(path)
    assert path.stat().st_size < 0.7 * size
    after = Image.open(path)
    assert len(after.getcolors() or ()) <= N_COLOURS
    assert np.abs(np.asarray(before, dtype=float) - np.asarray(after.convert("RGB"))).mean() < 0.5


def test_a_transparent_png_stays_as_it_was(tmp_path: Path):
    path = tmp_path / "a.png"
    Image.new("RGBA", (20, 20), (255, 0, 0, 128)).save(path)
    before = path.read_bytes()
    slim_png(path)
    assert path.read_bytes() == before


def test_an_svg_draws_the_same_things_within_a_hundredth_of_a_point():
    text = picture("svg").decode()
    slim = slim_svg(text)
    assert len(slim) < 0.8 * len(text)
    assert slim_svg(slim) == slim
    tags = ("path", "use", "image", "clipPath")
    for tag in tags:
        found = [list(ElementTree.fromstring(one).iter(f"{{http://www.w3.org/2000/svg}}{tag}")) for one in (text, slim)]
        assert len(found[0]) == len(found[1]) > 0
        for old, new in zip(*found, strict=True):
            for name in ("d", "x", "y"):
                numbers = [np.array(re.findall(r"-?\d+\.?\d*", one.get(name, "")), dtype=float) for one in (old, new)]
                np.testing.assert_allclose(*numbers, atol=0.00501)


def test_everything_an_svg_refers_to_is_in_it():
    slim = slim_svg(picture("svg").decode())
    referred = set(re.findall(r'(?:href="#|url\(#)([^")]*)', slim))
    assert referred
    assert referred <= set(re.findall(r' id="([^"]*)"', slim))
    assert set(re.findall(r'class="(\w+)"', slim)) <= set(re.findall(r"\.(\w+)\{", slim))
