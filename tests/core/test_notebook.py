"""A notebook is recognized without importing anything, and its place is updated and not added to."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from fewhot.core.html import badge, escape, table
from fewhot.core.notebook import Place, Shown, in_notebook


class Handle:
    def __init__(self) -> None:
        self.shown: list[Any] = []

    def update(self, content: Any) -> None:
        self.shown.append(content)


def pretend(monkeypatch: pytest.MonkeyPatch, shell: Any) -> Handle:
    """Put a stand-in for IPython in its place."""
    handle = Handle()

    def display(content: Any, *, display_id: bool) -> Handle:
        assert display_id
        handle.shown.append(content)
        return handle

    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    return handle


def test_a_kernel_is_a_notebook_and_a_terminal_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert not in_notebook()
    pretend(monkeypatch, SimpleNamespace())
    assert not in_notebook()
    pretend(monkeypatch, None)
    assert not in_notebook()
    pretend(monkeypatch, SimpleNamespace(kernel=object()))
    assert in_notebook()


def test_what_is_shown_later_replaces_what_was_there(monkeypatch: pytest.MonkeyPatch) -> None:
    handle, place = pretend(monkeypatch, SimpleNamespace(kernel=object())), Place()
    for words in ("first", "second"):
        place.show(Shown(f"<b>{words}</b>", words))
    assert [repr(content) for content in handle.shown] == ["first", "second"]
    assert handle.shown[1]._repr_html_() == "<b>second</b>"


def test_texts_are_escaped_and_verdicts_have_words() -> None:
    assert escape('<script>alert("x")</script>\x00') == "&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt; "
    assert "✗ poor" in badge("poor")
    assert badge("") == ""
    assert "<thead>" not in table([["a", "b"]])
