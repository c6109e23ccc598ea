"""Reports on models of texts."""

from __future__ import annotations

import html
import re
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import fewhot as fh
from fewhot.data import text_dataset
from fewhot.data.loaded import as_strings
from fewhot.metrics import Summary, top_words, unit_texts
from fewhot.report import build_report
from tests.report.fits import SMALL, TEXTS, loaded, pair, report


def section_of(page: str, key: str) -> str:
    found = re.search(rf'<section id="{key}".*?</section>', page, flags=re.DOTALL)
    assert found, key
    return found[0]


def cells(part: str) -> list[list[str]]:
    rows = re.findall(r"<tr>(.*?)</tr>", part.partition("<tbody>")[2], flags=re.DOTALL)
    return [[html.unescape(cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)] for row in rows]


def words_in(cell: str) -> set[str]:
    """Return the words of a cell, without what they are the words of."""
    sides = re.findall(r'<span class="line">(.*?)</span>', cell)
    return {word for side in sides for word in side.rpartition(": ")[2].split(", ")} - {"(hardly ever on)"}


def page_of(estimator: Any, texts: list[str], **more: Any) -> str:
    return build_report(estimator, loaded(as_strings(texts), **more), summary=Summary(numbers=[]), alarms=[])


@pytest.mark.parametrize("kind", TEXTS)
def test_every_section_that_makes_sense_is_there(kind: str) -> None:
    page = report(kind)
    there = set(re.findall(r'<section id="(\w+)"', page))
    wanted = {
        "warnings",
        "references",
        "codes",
        "units",
        "reconstructions",
        "usage",
        "numbers",
        "training",
        "fitted",
        "guide",
    }
    also = {"texts": {"calibration", "traversals"}, "dense texts": {"traversals"}, "bags": {"calibration"}}
    assert there == wanted | also.get(kind, set())


@pytest.mark.parametrize("kind", ["texts", "bags"])
def test_units_have_their_share_words_and_texts(kind: str) -> None:
    estimator, data = pair(kind)
    lines = cells(section_of(report(kind), "units"))
    codes = estimator.transform(data.X).toarray()
    share = {unit: (codes[:, unit] != 0).mean() for unit in range(8)}
    units = [int(line[0].removeprefix("unit ")) for line in lines]
    assert units == sorted((unit for unit in range(8) if share[unit]), key=lambda unit: -share[unit])
    assert any(words_in(line[2]) for line in lines)
    for unit, line in zip(units, lines, strict=True):
        assert line[1] == f"{100 * share[unit]:.3g} %"
        assert words_in(line[2]) <= set(estimator.vocabulary_.known)
        largest = unit_texts(estimator, data.X, 2, units=[unit]).texts[0]
        assert line[3] == "".join(f'<span class="line">{" ".join(text.split())}</span>' for text in largest)


@pytest.mark.parametrize("kind", TEXTS)
def test_special_columns_are_not_shown(kind: str) -> None:
    page = report(kind)
    for key in ("units", "reconstructions"):
        lines = cells(section_of(page, key))
        words = [word for line in lines for word in (words_in(line[2]) if key == "units" else line[2].split(", "))]
        assert words
        assert "" not in words
    assert all("_UNK" not in line[2] for line in cells(section_of(page, "units")))


@pytest.mark.filterwarnings("ignore:.*not ASCII")
def test_texts_stand_beside_what_is_said_of_their_codes() -> None:
    estimator, data = pair("texts")
    lines = cells(section_of(report("texts"), "reconstructions"))
    assert len(lines) == 6
    assert {line[0] for line in lines} == set(data.label_names)
    rows = {" ".join(text.split()): row for row, text in enumerate(data.X)}
    for _, text, said in lines:
        whole = estimator.decode(estimator.transform(data.X[[rows[text]]]))[0]
        assert len(said) > 3
        assert whole.startswith(said.removesuffix("…"))


@pytest.mark.parametrize("kind", ["bags", "dense bags", "counts"])
def test_models_of_counts_name_the_likeliest_words(kind: str) -> None:
    estimator, _ = pair(kind)
    lines = cells(section_of(report(kind), "reconstructions"))
    assert all(set(line[2].split(", ")) <= set(estimator.vocabulary_.known) for line in lines)
    assert "Likeliest words" in report(kind)


def test_one_text_is_said_with_one_unit_changed() -> None:
    estimator, data = pair("texts")
    part = section_of(report("texts"), "traversals")
    codes = estimator.transform(data.X).toarray()
    row = int(re.search(r"Row (\d+):", part)[1])
    lines = cells(part)
    assert 1 <= len(lines) <= 6
    for name, here, off, on in lines:
        unit = int(name.removeprefix("unit "))
        assert (here == "off") == (codes[row, unit] == 0)
        code = codes[[row]].copy()
        for value, said in ((0.0, off), (codes[codes[:, unit] != 0, unit].mean(), on.partition(": ")[2])):
            code[0, unit] = value
            assert estimator.decode(code)[0].startswith(said.removesuffix("…"))


def test_units_without_gates_are_turned_between_their_quantiles() -> None:
    assert "At its 5 %" in section_of(report("dense texts"), "traversals")


def test_the_page_says_how_texts_were_read() -> None:
    estimator, _ = pair("texts")
    known = len(estimator.vocabulary_.known)
    assert f"texts, cut by “plain”, at most 30 words of each; {known} words are known" in report("texts")
    assert "VSC describes texts by 8 units. This page looks at 120 texts." in report("texts")
    assert "120 texts, those held out included" in report("texts")


def test_long_texts_are_shortened_and_cutting_is_not_warned_of_again() -> None:
    estimator, _ = pair("texts")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        page = page_of(estimator, ["word " * 10_000, "the sea is blue"] * 3)
    assert len(page) < 500_000
    assert "word word…" in page or "word wor…" in page


@pytest.mark.parametrize("texts", [["the sea"], [""], ["", "zzz qqq", "the sun is hot"]])
@pytest.mark.parametrize("kind", TEXTS)
def test_few_and_odd_texts_are_reported(kind: str, texts: list[str]) -> None:
    page = page_of(pair(kind)[0], texts)
    assert "<td" in section_of(page, "reconstructions")


def test_codes_without_an_active_unit_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    estimator, data = pair("texts")
    monkeypatch.setattr(type(estimator), "transform", lambda self, X: sp.csr_array((X.n_rows, 8)))
    page = build_report(estimator, data, summary=Summary(numbers=[]), alarms=[])
    assert "No unit is on in these texts." in page
    assert 'id="traversals"' not in page


@pytest.mark.parametrize(
    ("asked", "reads"),
    [({}, True), ({"encoder": "gru"}, True), ({"encoder": "gru", "likelihood": "multinomial"}, False)],
)
def test_a_model_that_cannot_read_what_it_says_has_no_calibration(asked: dict[str, Any], reads: bool) -> None:
    texts = ["the sea is blue", "the sun is hot"] * 20
    model = fh.VSC(4, l0=2, **asked, **SMALL).fit(text_dataset(texts))
    assert model.module_.reads_what_it_makes == reads
    assert ('id="calibration"' in page_of(model, texts)) == reads


def test_rows_are_numbered_where_there_are_no_labels() -> None:
    texts = [str(text) for text in np.resize(["the sea", "hot sun"], 30)]
    page = page_of(pair("texts")[0], texts)
    assert cells(section_of(page, "reconstructions"))[0][0] == "row 0"


@pytest.mark.parametrize("kind", ["dense texts", "dense bags"])
def test_both_sides_of_a_unit_without_a_gate_are_said_in_words(kind: str) -> None:
    estimator, data = pair(kind)
    for line in cells(section_of(report(kind), "units")):
        said = top_words(estimator, units=[int(line[0].removeprefix("unit "))]).in_words()[0]
        sides = re.findall(r'<span class="line">(.*?)</span>', line[2])
        assert [side.partition(": ")[0] for side in sides] == (list(said) or ["(hardly varies)"])
        largest = unit_texts(estimator, data.X, 2, units=[int(line[0].removeprefix("unit "))])
        texts = re.findall(r'<span class="line">(.*?): ', line[3])
        assert texts == ["high" if value > 0 else "low" for value in largest.values[0]]
