"""Figures show themselves in a notebook, whatever backend is set."""

from __future__ import annotations

import subprocess
import sys
from io import BytesIO

import numpy as np
from matplotlib.figure import Figure
from PIL import Image

from fewhot import plots


def test_a_figure_is_its_own_picture() -> None:
    figure = plots.usage(np.array([[1.0, 0.0], [2.0, 0.0]]))
    assert isinstance(figure, Figure)
    data, metadata = figure._repr_png_()
    picture = Image.open(BytesIO(data))
    assert metadata == {"width": 760, "height": 270}
    assert picture.size == (2 * 760, 2 * 270)


def test_a_dark_figure_keeps_its_ground() -> None:
    dark, light = (plots.usage(np.array([[1.0, 0.0]]), dark=dark)._repr_png_()[0] for dark in (True, False))
    corner = [Image.open(BytesIO(data)).convert("L").getpixel((0, 0)) for data in (dark, light)]
    assert corner[0] < 60 < 200 < corner[1]


def test_showing_one_needs_no_pyplot() -> None:
    code = (
        "import sys, numpy as np, fewhot.plots as plots\n"
        "plots.usage(np.array([[1.0, 0.0]]))._repr_png_()\n"
        "sys.exit('matplotlib.pyplot' in sys.modules or 'IPython' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
