"""Sphinx configuration: MyST pages, API pages from docstrings, one page a model made from the registry."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from fewhot.core.version import __version__  # noqa: E402

project = "fewhot"
author = "the fewhot authors"
copyright = author
release = version = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx-mathjax-offline",
    "sphinx.ext.viewcode",
]
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
default_role = "code"

autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_preserve_defaults = True
autodoc_default_options = {"members": True}
napoleon_google_docstring = False
napoleon_use_rtype = False

html_theme = "furo"
html_title = "fewhot"
html_show_sourcelink = False
html_show_sphinx = False
suppress_warnings = ["myst.strikethrough"]


def setup(app: object) -> None:
    """Write the pages that are made from the registries."""
    from generated_pages import write_pages

    write_pages(HERE / "reference")
