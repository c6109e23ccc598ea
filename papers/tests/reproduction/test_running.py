from __future__ import annotations

import pytest

from fewhot.core.errors import InvalidParameterError, UnknownNameError
from fewhot_papers.reproduction import Cell, run
from fewhot_papers.reproduction.cells import CELLS, CellFunction
from fewhot_papers.reproduction.measurements import Measurements
from fewhot_papers.reproduction.progress import Event, show, silent
from fewhot_papers.reproduction.running import as_shard, ordered, sharded
from papers.tests.reproduction.conftest import Bench, fake_cell


def compute(bench: Bench, places, *ids: str, **options):
    options = {"progress": silent, "write_results": False, **options}
    return run(ids or ["a"], **places, **options)


def test_every_cell_is_computed_once(bench: Bench, places):
    bench.add("a", range(4))
    summary = compute(bench, places)
    assert (summary.computed, summary.kept, summary.complete) == (12, 0, True)
    assert bench.computed == dict.fromkeys(range(4), 3)


def test_a_second_run_computes_nothing(bench: Bench, places):
    bench.add("a", range(4))
    compute(bench, places)
    summary = compute(bench, places)
    assert (summary.computed, summary.kept) == (0, 12)


def test_a_run_goes_on_after_an_interruption(bench: Bench, places):
    bench.add("a", range(4))
    bench.interrupting = {2}
    with pytest.raises(KeyboardInterrupt):
        compute(bench, places)
    before = sum(bench.computed.values())
    bench.interrupting = set()
    summary = compute(bench, places)
    assert summary.kept == before
    assert bench.computed == dict.fromkeys(range(4), 3)


def test_a_failing_cell_stops_no_other(bench: Bench, places):
    bench.add("a", range(4))
    bench.failing = {1}
    summary = compute(bench, places, quick=True)
    assert summary.computed == 3
    assert summary.failed == (("x=1, seed=0", "ValueError: cell 1 is broken"),)
    assert not summary.complete


def test_a_failed_cell_is_tried_again(bench: Bench, places):
    bench.add("a", range(4))
    bench.failing = {1}
    compute(bench, places, quick=True)
    bench.failing = set()
    summary = compute(bench, places, quick=True)
    assert (summary.computed, summary.kept, summary.failed) == (1, 3, ())


def test_entries_share_their_cells(bench: Bench, places):
    bench.add("a", range(3))
    bench.add("b", range(1, 5))
    assert compute(bench, places, "a", "b").computed == 15
    assert set(bench.computed.values()) == {3}


def test_a_new_version_computes_anew(bench: Bench, places, monkeypatch: pytest.MonkeyPatch):
    bench.add("a", range(2))
    compute(bench, places)
    monkeypatch.setitem(CELLS, "fake", CellFunction(bench.work, 2))
    assert compute(bench, places).computed == 6


@pytest.mark.parametrize("n", [1, 2, 3, 5, 20])
def test_shards_hold_every_cell_once(bench: Bench, n: int):
    cells = ordered([bench.add("a", range(4)), bench.add("b", range(2, 7))], quick=False)
    parts = [sharded(cells, (i, n)) for i in range(n)]
    together = [cell.label for part in parts for cell in part]
    assert sorted(together) == sorted(cell.label for cell in cells)
    assert len(set(together)) == 21


def test_shards_over_one_cache_complete_each_other(bench: Bench, places):
    bench.add("a", range(4))
    assert compute(bench, places, shard="0/2").computed == 6
    assert compute(bench, places, shard=(1, 2)).computed == 6
    assert compute(bench, places).kept == 12


def test_seeds_come_one_after_another(bench: Bench):
    cells = ordered([bench.add("a", range(3))], quick=False)
    assert [cell.settings["seed"] for cell in cells] == [0, 0, 0, 1, 1, 1, 2, 2, 2]


@pytest.mark.parametrize("wrong", ["4/4", "-1/2", "1", "a/b", (2, 1)])
def test_a_wrong_shard_is_refused(wrong):
    with pytest.raises(InvalidParameterError, match=r"shard is .* such as '0/4'"):
        as_shard(wrong)


def test_an_unknown_entry_is_named(bench: Bench, places):
    bench.add("alpha", range(1))
    with pytest.raises(UnknownNameError, match="Did you mean 'alpha'"):
        compute(bench, places, "alpa")


def test_a_time_limit_leaves_cells_for_another_run(bench: Bench, places):
    bench.add("a", range(4))
    summary = compute(bench, places, limit_seconds=0.0)
    assert summary.left > 0
    assert summary.computed + summary.left == 12
    assert compute(bench, places).complete


def test_progress_counts_to_the_end(bench: Bench, places):
    bench.add("a", range(2))
    compute(bench, places, quick=True)
    seen: list[Event] = []
    compute(bench, places, progress=seen.append)
    ended = [event for event in seen if event.outcome != "start"]
    assert [(event.outcome, event.done, event.total) for event in ended] == [
        ("kept", 2, 6),
        *(("done", done, 6) for done in (3, 4, 5, 6)),
    ]


def test_progress_is_shown_by_default(capsys: pytest.CaptureFixture[str]):
    show(Event(outcome="failed", done=1, total=2, label="x=1", seconds=1.0, error="ValueError: broken"))
    assert capsys.readouterr().err == "[1/2] x=1: failed in 1.0 s: ValueError: broken\n"


def test_results_are_written_after_the_cells(bench: Bench, places):
    bench.add("a", range(2))
    summary = compute(bench, places, write_results=True)
    assert summary.verdicts == {"a": "reproduced"}
    assert (places["out"] / "a" / "result.json").exists()


def test_a_shard_writes_no_results(bench: Bench, places):
    bench.add("a", range(2))
    compute(bench, places, write_results=True, shard="0/2")
    assert not places["out"].exists()


def test_data_that_cannot_be_read_fail_their_cells_and_no_others(bench: Bench, places, monkeypatch):
    asked = []

    def unreadable(name, data_dir):
        asked.append(name)
        raise OSError("no such file")

    monkeypatch.setattr("fewhot_papers.reproduction.running.digest_of", unreadable)
    with_data = [Cell(kind="fake", settings={"x": x, "seed": 0}, data="photos") for x in (7, 8)]
    bench.add("a", range(1), cells=lambda quick: [*with_data, fake_cell(1)])
    summary = compute(bench, places, write_results=True)
    assert [error for _, error in summary.failed] == ["OSError: no such file"] * 2
    assert bench.computed == {1: 1}
    assert asked == ["photos"] * 2  # once to compute, once to assemble


def test_data_that_cannot_be_read_are_told_once(bench: Bench, places, monkeypatch):
    def unreadable(name, data_dir):
        raise OSError("no such file")

    monkeypatch.setattr("fewhot_papers.reproduction.running.digest_of", unreadable)
    with_data = [Cell(kind="fake", settings={"x": x, "seed": 0}, data="photos") for x in (7, 8)]
    bench.add("a", range(1), cells=lambda quick: [*with_data, fake_cell(1)])
    events: list[Event] = []
    run(["a"], **places, progress=events.append, write_results=False)
    assert [(event.outcome, event.label) for event in events if event.outcome == "failed"] == [
        ("failed", "2 cells on photos")
    ]
    assert (events[-1].outcome, events[-1].done, events[-1].total) == ("done", 3, 3)


def test_a_data_dir_that_is_no_folder_is_refused(bench: Bench, places, tmp_path):
    bench.add("a", range(1))
    with pytest.raises(InvalidParameterError, match="nowhere', which is no folder"):
        run(["a"], **places, data_dir=tmp_path / "nowhere", progress=silent)
    assert not bench.computed


def test_nothing_but_unreadable_data_is_not_runnable(bench: Bench, places, monkeypatch):
    def unreadable(name, data_dir):
        raise OSError("no such file")

    monkeypatch.setattr("fewhot_papers.reproduction.running.digest_of", unreadable)
    bench.add("a", range(1), cells=lambda quick: [Cell(kind="fake", settings={"x": 1}, data="photos")])
    assert compute(bench, places, write_results=True).verdicts == {"a": "not runnable"}


def with_more_seeds(bench: Bench) -> None:
    """An entry whose further cells are another seed of the x with the largest y."""

    def of_the_best(quick: bool, measured: Measurements) -> list[Cell]:
        best = max(measured.levels("x"), key=lambda x: measured.value("y", x=x).mean)
        return [fake_cell(best, 7)]

    bench.add("a", range(2), cells=lambda quick: [fake_cell(x) for x in range(2)], follow_up=of_the_best)


def test_cells_may_ask_for_more(bench: Bench, places):
    with_more_seeds(bench)
    summary = run(["a"], progress=silent, **places)
    assert (summary.computed, summary.complete) == (3, True)
    assert bench.computed == {0: 1, 1: 2}
    assert summary.verdicts == {"a": "reproduced"}


def test_what_cells_ask_for_waits_for_all_shards(bench: Bench, places):
    with_more_seeds(bench)
    first = run(["a"], progress=silent, shard="0/2", **places)
    assert (first.computed, first.waiting, first.complete) == (1, ("a",), False)
    second = run(["a"], progress=silent, shard="1/2", **places)
    assert second.waiting == ()
    assert run(["a"], progress=silent, shard="0/2", **places).complete
    assert bench.computed == {0: 1, 1: 2}


def test_a_paper_stands_for_all_its_entries(bench: Bench, places):
    for name in ("a2019-one", "a2019-two", "b2020-one"):
        bench.add(name, range(1))
    assert set(run(["a2019", "a2019-one"], progress=silent, **places).verdicts) == {"a2019-one", "a2019-two"}
