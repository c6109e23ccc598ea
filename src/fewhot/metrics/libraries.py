"""Libraries that carry no types, loaded on first use."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def library(name: str) -> Any:
    """Return a module by name; importing this package stays quick and the type checker stays calm."""
    return import_module(name)
