from __future__ import annotations

import copy
import html
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
import scipy.sparse as sp
import torch

from fewhot.metrics import Alarm, Number, Summary, alarms, summarise, top_words
from fewhot.plots.palette import DARK, LIGHT
from fewhot.report import build_report, write_report
from fewhot.report.looks import _DARK, _LIGHT
from fewhot.report.markup import measured, text
from tests.plots.test_plots import contrast
from tests.report.fits import KINDS, NASTY, TEXTS, pair, report

EMPTY = ("meta", "br", "hr", "img", "input", "link")


class Reader(HTMLParser):
    """Collects tags, attributes and text, and checks that tags nest."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    def all(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.mark.parametrize("kind", KINDS)
def test_every_number_is_on_the_page_with_its_meaning(kind: str) -> None:
    estimator, data = pair(kind)
    page = report(kind)
    for number in summarise(estimator, data.X, data.y).numbers:
        value, unit = measured(number.value, number.se, number.unit)
        assert f'data-head="Value">{text(value)}<small>{text(unit)}</small>' in page
        assert text(number.meaning[1:]) in page


@pytest.mark.parametrize("kind", KINDS)
def test_the_model_stands_beside_its_references(kind: str) -> None:
    estimator, data = pair(kind)
    summary = summarise(estimator, data.X, data.y)
    section = report(kind).partition('<section id="references"')[2].partition("</section>")[0]
    for name in ("bound", "reference_columns", "reference_factors", "fvu", "fvu_pca", "probe_map", "probe_columns"):
        number = summary.get(name)
        if number is not None:
            assert f'<span class="line">{text(measured(number.value, number.se, number.unit)[0])}</span>' in section
    assert ("factor analysis with" in section) == (kind in ("named", "unnamed"))
    assert "Row by row, the ELBO is" in section


def test_a_fit_without_references_has_no_such_section() -> None:
    estimator, data = pair("dense")
    alone = copy.copy(estimator)
    alone.references_ = None
    page = build_report(alone, data, summary=summarise(alone, data.X), alarms=[])
    assert 'id="references"' not in page
    assert 'href="#references"' not in page


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_loaded_from_anywhere(kind: str) -> None:
    reader = Reader(report(kind))
    addresses = [tag[name] for _, tag in reader.tags for name in ("src", "href", "srcset", "data") if name in tag]
    assert addresses
    assert all(address.startswith(("#", "data:image/png;base64,")) for address in addresses)
    assert "http://" not in report(kind)
    assert "https://" not in report(kind)
    assert not re.search(r"url\((?!#)|@import|@font-face", report(kind))


@pytest.mark.parametrize("kind", KINDS)
def test_tags_nest_and_ids_are_unique(kind: str) -> None:
    reader = Reader(report(kind))
    assert reader.open == []
    ids = [tag["id"] for _, tag in reader.tags if "id" in tag]
    assert len(ids) == len(set(ids))
    pointed = {tag["href"][1:] for _, tag in reader.tags if tag.get("href", "").startswith("#")}
    assert pointed <= set(ids)


@pytest.mark.parametrize("kind", ["named", "unnamed", *TEXTS])
def test_text_from_outside_is_harmless(kind: str) -> None:
    reader = Reader(report(kind))
    assert len(reader.all("script")) == 1
    assert NASTY not in report(kind)
    assert any(NASTY in words for words in reader.words)


def test_feature_names_are_drawn_as_they_are_written() -> None:
    assert any(html.unescape(words).startswith("<script>alert") for words in Reader(report("named")).words)


@pytest.mark.parametrize("kind", KINDS)
def test_figures_can_be_read_without_seeing_them(kind: str) -> None:
    reader = Reader(report(kind))
    drawings = reader.all("svg")
    assert len(drawings) >= (3 if kind in TEXTS else 6)
    assert all(drawing["role"] == "img" and len(drawing["aria-label"]) > 20 for drawing in drawings)
    assert len(reader.all("figcaption")) == len(drawings)


def test_tables_have_headers() -> None:
    reader = Reader(report("named"))
    assert all(head["scope"] in ("row", "col") for head in reader.all("th"))
    assert len(reader.all("caption")) == len(reader.all("table"))


def test_alarms_come_first_in_plain_words() -> None:
    estimator, data = pair("images")
    alarm = Alarm(name="dead_units", severity="warning", sentence="Units <x> are dead.")
    page = build_report(estimator, data, summary=Summary(numbers=[]), alarms=[alarm])
    assert "Warning: dead units</strong><span>Units &lt;x&gt; are dead.</span>" in page
    assert page.index("Units &lt;x&gt; are dead.") < page.index('id="codes"') < page.index('id="numbers"')


def test_no_alarms_is_said() -> None:
    estimator, data = pair("images")
    page = build_report(estimator, data, summary=Summary(numbers=[]), alarms=[])
    assert "No warnings: none of the known ways" in page
    assert "None of the numbers could be judged." in page


def test_a_number_that_is_not_defined_is_said_to_be_so() -> None:
    estimator, data = pair("images")
    summary = Summary(numbers=[Number(name="overlap", value=float("nan"), unit="share", meaning="common units")])
    page = build_report(estimator, data, summary=summary, alarms=[])
    assert "not defined" in page


def test_the_page_says_what_was_fitted() -> None:
    page = report("images")
    for words in ("VSC on rows", "rows, split test: 120 rows of 16 columns", "CC0", "SHA-256 d1ge57", "torch "):
        assert words in page
    assert re.search(r"<tr class=chosen><th scope=\"row\">alpha</th><td>0.5</td>", page)
    assert re.search(r"<tr><th scope=\"row\">learning_rate</th><td>None</td>", page)


def test_units_of_named_columns_are_listed_in_words() -> None:
    assert "Raises most" in report("named")
    assert "Raises most" not in report("images")


def test_units_of_counts_are_said_in_words() -> None:
    estimator, _data = pair("sparse")
    page = report("sparse")
    part = page.partition('<section id="words"')[2].partition("</section>")[0]
    assert "column" in part
    units = [int(unit) for unit in re.findall(r'<th scope="row">unit (\d+)</th>', part)]
    said = top_words(estimator, 8).in_words()
    for unit in units:
        for words in said[unit].values():
            assert ", ".join(words) in part
    assert '<section id="words"' not in report("named")


def test_models_without_gates_have_no_calibration() -> None:
    assert 'id="calibration"' not in report("dense")
    assert 'id="calibration"' in report("images")
    assert "variance over rows" in report("dense")


def test_figures_follow_the_theme() -> None:
    drawings = "".join(re.findall(r"<svg.*?</svg>", report("images"), flags=re.DOTALL))
    assert "var(--ink)" in drawings
    for colour in LIGHT.to_dict().values():
        assert colour not in drawings


def test_dark_is_a_setting_a_choice_and_never_on_paper() -> None:
    style = report("images").partition("</style>")[0]
    assert "@media screen and (prefers-color-scheme: dark){:root:not([data-theme=light])" in style
    assert "@media screen{:root[data-theme=dark]" in style
    assert style.count(DARK.paper) == 2


def test_the_script_is_the_one_the_policy_allows() -> None:
    import base64
    import hashlib

    page = report("images")
    script = page.partition("<script>")[2].partition("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in page
    assert "default-src 'none'" in page


@pytest.mark.parametrize(("theme", "more"), [(LIGHT, _LIGHT), (DARK, _DARK)], ids=["light", "dark"])
@pytest.mark.parametrize("name", ["good", "fair", "poor"])
def test_verdicts_can_be_read_on_their_ground(theme: object, more: dict[str, str], name: str) -> None:
    assert contrast(more[name], more[f"{name}-ground"]) >= 4.5


def test_the_same_fit_gives_the_same_page() -> None:
    estimator, data = pair("images")
    summary = summarise(estimator, data.X, data.y)
    again = build_report(estimator, data, summary=summary, alarms=alarms(summary), facts={"Command": NASTY})
    assert _without_pixels(again) == _without_pixels(report("images"))


def _without_pixels(html: str) -> str:
    """Leave out pixels, and names made of places: sums may differ in their last bit."""
    return re.sub(r'base64,[^"]+|-p[0-9a-f]{10}', "", html)


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_is_small(kind: str) -> None:
    assert len(report(kind).encode()) < 1_000_000


def test_sparse_rows_are_never_made_dense_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    estimator, data = pair("sparse")
    seen = []
    toarray = sp.csr_array.toarray
    monkeypatch.setattr(sp.csr_array, "toarray", lambda self: seen.append(self.shape) or toarray(self))
    build_report(estimator, data, summary=Summary(numbers=[]), alarms=[])
    assert max(n for n, p in seen if p == data.X.shape[1]) <= 8


def test_one_row_is_enough() -> None:
    estimator, data = pair("images")
    page = build_report(estimator, data.take([3]), summary=Summary(numbers=[]), alarms=[])
    assert "1 rows of 16 columns" in page


def test_codes_that_are_all_zero_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    estimator, data = pair("images")
    monkeypatch.setattr(type(estimator), "transform", lambda self, X: sp.csr_array((X.shape[0], 8)))
    page = build_report(estimator, data, summary=Summary(numbers=[]), alarms=[])
    assert "No unit is on in these rows." in page
    assert 'id="traversals"' not in page


def test_a_report_is_written_whole(tmp_path: Path) -> None:
    write_report(tmp_path / "new" / "report.html", "<p>é</p>")
    assert (tmp_path / "new" / "report.html").read_text(encoding="utf-8") == "<p>é</p>"
    assert [file.name for file in (tmp_path / "new").iterdir()] == ["report.html"]


def test_a_dense_code_that_happens_to_be_zero_is_not_taken_for_a_sparse_one() -> None:
    estimator, data = pair("dense")
    silent = copy.deepcopy(estimator)
    with torch.no_grad():
        silent.module_.latent.heads.weight.zero_()
        silent.module_.latent.heads.bias.zero_()
    assert (silent.transform(data.X) == 0).all()
    summary = summarise(silent, data.X)
    page = build_report(silent, data, summary=summary, alarms=alarms(summary))
    assert "These codes have no gates" in page
