"""Loaders of run folders of other kinds than an estimator's: entered by address, imported on first use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pkgutil import resolve_name
from typing import Any

_ADDRESSES: dict[str, str] = {}


def register_loader(kind: str, address: str) -> None:
    """Enter the loader of folders whose configuration has the key ``kind``.

    Parameters
    ----------
    kind
        The key, such as "baseline".
    address
        ``"package.module:function"``, a function of (folder, configuration, parts, device) that returns what was saved.
    """
    _ADDRESSES[kind] = address


def loader_of(config: Mapping[str, Any]) -> Callable[..., Any] | None:
    """Return the loader of a configuration; None for an estimator's.

    >>> loader_of({"estimator": "VSC"}) is None
    True
    """
    return next((resolve_name(address) for kind, address in _ADDRESSES.items() if kind in config), None)
