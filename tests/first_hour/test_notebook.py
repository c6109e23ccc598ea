"""What a notebook shows of estimators, codes and summaries: worth reading, and safe to show."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import fewhot as fh
from fewhot.codes import Codes
from fewhot.core.html import escape
from fewhot.metrics import Number, Summary, summarise

NASTY = '<script>alert("x")</script>'
WINE = load_wine()


class Nested(HTMLParser):
    """Checks that tags nest."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def vsc() -> fh.VSC:
    return fh.VSC(8, l0=2, hidden_layer_sizes=(16,), max_steps=200, random_state=0).fit(WINE.data)


@pytest.fixture(scope="module")
def pages(vsc: fh.VSC) -> dict[str, str]:
    summary = summarise(vsc, WINE.data, WINE.target)
    return {"codes": vsc.codes(WINE.data)._repr_html_(), "summary": summary._repr_html_(), "fit": vsc._numbers_html()}


@pytest.mark.parametrize("kind", ["codes", "summary", "fit"])
def test_pages_nest_and_run_nothing(pages: dict[str, str], kind: str) -> None:
    assert Nested(pages[kind]).open == []
    assert not re.search(r"<script|\son\w+=|https?:|<link|<style", pages[kind])


@pytest.mark.parametrize("kind", ["codes", "summary", "fit"])
def test_colors_are_those_of_the_page_around(pages: dict[str, str], kind: str) -> None:
    assert not re.search(r"background(?!:none)|(?<![-\w])color:(?!#12855a|#9a6a00|#cf3f2e)", pages[kind])


def test_codes_say_how_sparse_they_are(vsc: fh.VSC, pages: dict[str, str]) -> None:
    Z = vsc.transform(WINE.data)
    mean = (Z != 0).sum() / Z.shape[0]
    assert f"{mean:.3g} (from" in pages["codes"]
    assert pages["codes"].count("<rect") == (Z[:12] != 0).sum()
    assert repr(vsc.codes(WINE.data)) == f"Codes(178 rows, 8 units, {mean:.3g} active per row)"


def test_codes_of_many_units_show_the_busiest() -> None:
    values = sp.csr_array((np.ones(40), (np.zeros(40, int), np.arange(500, 540))), shape=(2, 1000))
    codes = Codes(values=values, variance=values, p_active=values, bound=np.array([np.nan, np.nan]))
    page = codes._repr_html_()
    assert "the 64 busiest of 1,000 units" in page
    assert page.count("<rect") == 40
    assert "ELBO" not in page


def test_a_fit_of_counts_shows_the_words_of_its_units() -> None:
    about = np.random.default_rng(0).integers(2, size=400)
    counts = np.random.default_rng(1).poisson(np.where(np.arange(6) // 3 == about[:, None], 3.0, 0.1))
    frame = pd.DataFrame(counts, columns=["orbit", "moon", NASTY, "goal", "ice", "team"])
    model = fh.NFA(2, n_layers=1, hidden_layer_sizes=(16,), max_steps=300, random_state=0).fit(frame)
    page = model._numbers_html()
    Nested(page)
    assert "when high: " in page
    assert "orbit" in page
    assert NASTY not in page
    assert escape(NASTY) in page


def test_dense_codes_have_a_page() -> None:
    codes = fh.VAE(2, hidden_layer_sizes=(4,), max_steps=10, random_state=0).fit(WINE.data).codes(WINE.data)
    assert codes._repr_html_().count("<rect") == 24
    assert repr(codes) == "Codes(178 rows, 2 units without gates)"


def test_a_summary_shows_warnings_and_what_to_compare_with(vsc: fh.VSC, pages: dict[str, str]) -> None:
    summary = summarise(vsc, WINE.data, WINE.target)
    assert "reference factors" in pages["summary"]
    assert f"{summary.value('bound'):,.4g}" in pages["summary"].partition("<details")[0]
    assert f"All {len(summary.numbers)} numbers" in pages["summary"]
    assert f"bound {summary.value('bound'):,.4g}" in " ".join(repr(summary).split())


def test_names_are_escaped() -> None:
    summary = Summary(numbers=[Number(name=NASTY, value=1.0, meaning=NASTY)], facts={"estimator": NASTY})
    assert NASTY not in summary._repr_html_()
    assert "&lt;script&gt;" in summary._repr_html_()


def test_a_fitted_estimator_adds_its_numbers_to_the_diagram(vsc: fh.VSC) -> None:
    html = vsc._repr_mimebundle_()["text/html"]
    assert "sk-top-container" in html
    assert "178 rows of 13 columns" in html
    assert vsc._numbers_html() in vsc._repr_html_()
    assert "The fit" not in fh.VSC(8)._repr_mimebundle_()["text/html"]
    assert "VSC" in make_pipeline(StandardScaler(), vsc)._repr_html_()
    with config_context(display="text"):
        assert list(vsc._repr_mimebundle_()) == ["text/plain"]


def test_a_fit_without_a_used_unit_is_told(vsc: fh.VSC) -> None:
    mute = fh.VSC(8, alpha=1e-6, hidden_layer_sizes=(4,), max_steps=100, n_iter_no_change=None, random_state=0)
    mute.fit(WINE.data)
    mute.history_[-1]["evaluation"].update(used=0, dead=8, active=0.0)
    assert "No unit is used" in mute._numbers_html()
