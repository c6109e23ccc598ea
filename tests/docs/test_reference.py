"""The reference is complete: the pages build without a warning, and name every public function, number and alarm."""

from __future__ import annotations

import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

DOCS = Path(__file__).parents[2] / "docs"


def text(page: str) -> str:
    """Return a page's source."""
    return (DOCS / page).read_text(encoding="utf-8")


def test_the_pages_build_without_a_warning(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "-E", "-b", "html", "-d", str(tmp_path / "trees")]
    done = subprocess.run([*command, str(DOCS), str(tmp_path / "html")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    shown = (tmp_path / "html" / "reference" / "command-line.html").read_text(encoding="utf-8")
    assert "--checkpoint-seconds" in shown


@pytest.mark.parametrize(
    ("module", "where"),
    [
        *((f"fewhot.{name}", name) for name in ("baselines", "data", "metrics", "plots", "search")),
        *((f"fewhot_papers.{name}", "papers") for name in ("baselines", "data", "reproduction")),
    ],
)
def test_every_public_name_is_on_its_page(module: str, where: str) -> None:
    page = text(f"reference/{where}.md")
    names = set(importlib.import_module(module).__all__) - {"EXTENSIONS", "SPLITS"}
    assert [name for name in sorted(names) if f"{module}.{name}" not in page] == []


def test_every_alarm_is_explained() -> None:
    from fewhot.metrics.label_references import WORDS

    module = importlib.import_module("fewhot.metrics.alarms")
    names = set(re.findall(r'name="(\w+)"', inspect.getsource(module)))
    names |= {f"below_{end}" for ends in WORDS.values() for end in ends}
    page = text("explanation/reading-a-report.md")
    assert names
    assert [name for name in sorted(names) if f"| `{name}` |" not in page] == []


def test_every_number_is_explained() -> None:
    import fewhot as fh
    from fewhot.metrics import summarise

    X = np.random.default_rng(0).random((60, 6))
    refined = fh.VSC(6, l0=2, max_steps=20, refine_steps=1, random_state=0).fit(X)
    plain = refined.set_params(refine_steps=0)
    found = {number.name for number in summarise(plain, X, np.arange(60) % 2).numbers}
    found |= {number.name for number in summarise(plain, X, np.arange(60) % 2, probe="marginal").numbers}
    found |= {number.name for number in summarise(refined.set_params(refine_steps=1), X).numbers}
    found |= {
        number.name for number in summarise(fh.VAE(2, max_steps=20, random_state=0).fit(X - 0.5), X - 0.5).numbers
    }
    counts = np.rint(9 * X)
    nfa = fh.NFA(2, n_layers=1, max_steps=200, kl_weight=0.1, random_state=0)  # some units vary
    found |= {number.name for number in summarise(nfa.fit(counts), counts).numbers}
    likes = (X > 0.7).astype(float)
    found |= {number.name for number in summarise(fh.NFA(2, max_steps=20, random_state=0).fit(likes), likes).numbers}
    for model in (fh.SDLGMClassifier(max_steps=5, random_state=0), fh.SDLGMCounter(max_steps=5, random_state=0)):
        found |= {number.name for number in summarise(model.fit(X, likes), X, likes).numbers}
    table = text("reference/run-folder.md").partition("## metrics.json")[2]
    first_cells = re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)
    assert found == set(re.findall(r"`(\w+)`", " ".join(first_cells)))


def test_the_sections_of_a_report_are_explained_in_their_order() -> None:
    import fewhot as fh
    from fewhot.data import load_dataset
    from fewhot.metrics import alarms, summarise
    from fewhot.report import build_report

    rows = load_dataset("planted", split="test")
    vsc = fh.VSC(6, l0=2, max_steps=50, random_state=0).fit(rows.X)
    summary = summarise(vsc, rows.X)
    report = build_report(vsc, rows, summary=summary, alarms=alarms(summary))
    explained = re.findall(r"^## (.*)$", text("explanation/reading-a-report.md"), re.MULTILINE)
    assert explained[1:] == re.findall(r"<h2[^>]*>(.*?)</h2>", report)


def test_the_pages_name_no_machine() -> None:
    pages = [page for page in DOCS.rglob("*.md") if "decisions" not in page.parts]
    assert [
        page.name for page in pages if re.search(r"/(home|root|work|Users)/", page.read_text(encoding="utf-8"))
    ] == []
