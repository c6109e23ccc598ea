"""Whether a notebook shows what is displayed, and a place in it that is updated."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any


class Shown:
    """HTML for a notebook, with plain text for what shows none."""

    def __init__(self, html: str, text: str) -> None:
        self.html = html
        self.text = text

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return self.text


def in_notebook() -> bool:
    """Say whether code runs in a kernel behind a notebook, and not in a terminal; nothing is imported to find out."""
    ipython: Any = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    return shell is not None and hasattr(shell, "kernel")


class Place:
    """A place below a notebook's cell whose content is replaced; needs no widgets."""

    def __init__(self) -> None:
        self._handle: Any = None

    def show(self, content: Shown) -> None:
        """Put ``content`` where the last one was."""
        if self._handle is None:
            display: Any = import_module("IPython.display").display
            self._handle = display(content, display_id=True)
        else:
            self._handle.update(content)
