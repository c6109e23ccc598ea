"""Every code block of the documentation runs: Python blocks of a page share a namespace, commands share its folder."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from fewhot.data import catalogue

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(
    page for page in DOCS.rglob("*.md") if not {"decisions", "generated", "_build"} & set(page.relative_to(DOCS).parts)
)
_BLOCK = re.compile(r"^```(\S*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SHOWN_ONLY = {"text", "yaml", "json"}


def blocks(page: Path) -> list[tuple[str, str]]:
    """Return the language and the text of each block."""
    return _BLOCK.findall(page.read_text(encoding="utf-8"))


def run_command(line: str) -> None:
    """Run one line of a shell block, which may only call fewhot."""
    from fewhot.cli.app import app

    words = shlex.split(line, comments=True)
    assert words[0] == "fewhot", f"a shell block calls {words[0]}; mark what is only shown as text"
    with pytest.raises(SystemExit) as end:
        app(words[1:], prog_name="fewhot")
    assert end.value.code == 0, line


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_the_code_of_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        catalogue, "_ENTRIES", dict(catalogue._ENTRIES)
    )  # a page may add datasets; other tests see none
    names: dict[str, object] = {"__name__": "page"}
    for language, text in blocks(page):
        if language == "python":
            exec(compile(text, str(page), "exec"), names)
        elif language == "sh":
            for line in text.replace("\\\n", " ").splitlines():
                if line.strip():
                    run_command(line)
        else:
            assert language in _SHOWN_ONLY or language.startswith("{"), f"a block of {page.name} is called {language!r}"


def test_there_are_pages_with_code() -> None:
    assert sum(bool(blocks(page)) for page in PAGES) > 10
