"""A server on loopback, an empty cache, and no proxy and no data of the machine's own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fewhot.data import fetch as fetching

from .server import Server, serving


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(fetching, "PAUSE", 0.01)
    with serving() as running:
        yield running


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FEWHOT_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("FEWHOT_DATA", raising=False)
    return tmp_path / "cache"
