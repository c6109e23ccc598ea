from __future__ import annotations

import json
from pathlib import Path

import pytest

from fewhot_papers.reproduction import Cell, assemble, list_table, run
from fewhot_papers.reproduction.progress import silent
from papers.tests.reproduction.conftest import Bench


@pytest.fixture
def result(bench: Bench, places):
    bench.add("a", range(3), changes=("Fewer.",), open_choices=("Batch size: not given; 100.",))
    run(["a"], **places, progress=silent, commit="abc1234")
    return json.loads((places["out"] / "a" / "result.json").read_text())


def test_a_result_holds_mean_and_error_over_seeds(result):
    line = next(line for line in result["numbers"] if line["settings"]["x"] == 2)
    assert line["numbers"]["y"]["mean"] == 21.0
    assert line["numbers"]["y"]["se"] == pytest.approx(1 / 3**0.5)
    assert result["seeds"] == [0, 1, 2]


def test_a_result_says_how_it_was_made(result):
    assert result["command"] == "fewhot reproduce a"
    assert result["commit"] == "abc1234"
    assert result["hardware"]
    assert set(result["versions"]) >= {"fewhot", "torch", "python"}
    assert result["cells"] == {"total": 9, "done": 9, "failed": []}


def test_the_command_names_the_folder_of_data_that_was_given(bench: Bench, places, tmp_path, monkeypatch):
    bench.add("a", range(1))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my data").mkdir()
    run(["a"], **places, data_dir=Path("my data"), progress=silent)
    result = json.loads((places["out"] / "a" / "result.json").read_text())
    assert result["command"] == "fewhot reproduce a --data-dir 'my data'"


def test_a_result_holds_the_rule_and_its_checks(result):
    assert result["verdict"] == "reproduced with a stated change"
    assert result["readings"][0]["checks"][0]["statement"] == "y is above -1"
    assert result["changes"] == ["Fewer."]
    assert result["open_choices"] == ["Batch size: not given; 100."]


def test_figures_are_written_as_png_and_svg(result, places):
    assert result["figures"] == ["line.png", "line.svg"]
    folder = places["out"] / "a"
    assert (folder / "line.png").read_bytes()[:4] == b"\x89PNG"
    assert "<svg" in (folder / "line.svg").read_text()


def test_the_table_has_every_entry(bench: Bench, places):
    bench.add("a", range(1))
    bench.add("b", range(1))
    bench.add("faces", range(1), missing="No faces.")
    run(["a"], **places, progress=silent)
    lines = (places["out"] / "README.md").read_text().splitlines()
    assert [line.split("|")[3].strip() for line in lines if line.startswith("| `")] == [
        "**reproduced**",
        "**not run**",
        "**not runnable**",
    ]
    assert "[line](a/line.svg)" in "\n".join(lines)


def test_list_table_reads_the_results(bench: Bench, places):
    bench.add("a", range(1))
    bench.add("b", range(1))
    run(["a"], **places, progress=silent)
    assert [(line["id"], line["verdict"]) for line in list_table(places["out"])] == [("a", "reproduced"), ("b", "")]


def test_a_quick_result_lies_apart_and_decides_nothing(bench: Bench, places):
    bench.add("a", range(2))
    run(["a"], quick=True, **places, progress=silent)
    result = json.loads((places["out"] / "a" / "quick" / "result.json").read_text())
    assert (result["verdict"], result["command"]) == ("undecided", "fewhot reproduce a --quick")
    assert not (places["out"] / "a" / "result.json").exists()
    assert not (places["out"] / "README.md").exists()
    (line,) = list_table(places["out"])
    assert (line["verdict"], line["why"]) == ("", result["why"])


def test_a_decided_result_is_not_replaced_by_an_undecided_one(bench: Bench, places, tmp_path, caplog):
    bench.add("a", range(2))
    run(["a"], **places, progress=silent)
    before = (places["out"] / "a" / "result.json").read_bytes()
    verdicts = assemble(["a"], out=places["out"], cache=tmp_path / "empty")
    assert verdicts["a"].verdict == "undecided"
    assert (places["out"] / "a" / "result.json").read_bytes() == before
    assert "keeps its earlier result" in caplog.text


def test_a_result_is_not_replaced_by_one_of_fewer_cells(bench: Bench, places, tmp_path):
    bench.add("a", range(3))
    bench.failing = {1}
    run(["a"], **places, progress=silent)
    before = json.loads((places["out"] / "a" / "result.json").read_text())
    assert (before["verdict"], before["cells"]["done"]) == ("undecided", 6)
    assemble(["a"], out=places["out"], cache=tmp_path / "empty")
    assert json.loads((places["out"] / "a" / "result.json").read_text()) == before


def test_unreadable_data_replace_no_result(bench: Bench, places, monkeypatch):
    def unreadable(name, data_dir):
        raise OSError("no such file")

    bench.add("a", range(1), cells=lambda quick: [Cell(kind="fake", settings={"x": 1, "seed": 0}, data="photos")])
    monkeypatch.setattr("fewhot_papers.reproduction.running.digest_of", lambda name, data_dir: "0" * 64)
    run(["a"], **places, progress=silent)
    before = (places["out"] / "a" / "result.json").read_text()
    assert json.loads(before)["verdict"] == "reproduced"
    monkeypatch.setattr("fewhot_papers.reproduction.running.digest_of", unreadable)
    assert run(["a"], **places, progress=silent).kept == 0
    assert (places["out"] / "a" / "result.json").read_text() == before


def test_failed_cells_are_told_in_the_result(bench: Bench, places):
    bench.add("a", range(2))
    bench.failing = {1}
    run(["a"], **places, progress=silent)
    result = json.loads((places["out"] / "a" / "result.json").read_text())
    assert result["verdict"] == "undecided"
    assert result["cells"] == {"total": 6, "done": 3, "failed": ["ValueError: cell 1 is broken"] * 3}


def test_an_entry_that_cannot_run_says_what_is_missing(bench: Bench, places):
    bench.add("faces", range(1), missing="No faces.")
    run(["faces"], **places, progress=silent)
    result = json.loads((places["out"] / "faces" / "result.json").read_text())
    assert (result["verdict"], result["why"]) == ("not runnable", "No faces.")
    assert bench.computed == {}
