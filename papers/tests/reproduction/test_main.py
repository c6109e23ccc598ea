from __future__ import annotations

import sys

import pytest

from fewhot_papers.reproduction.__main__ import main
from papers.tests.reproduction.conftest import Bench, fake_cell


@pytest.fixture
def arguments(places) -> list[str]:
    return ["--out", str(places["out"]), "--cache", str(places["cache"])]


def test_cells_need_no_matplotlib(bench: Bench, arguments, monkeypatch: pytest.MonkeyPatch, capsys):
    bench.add("a", range(2))
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "fewhot_papers.reproduction.figures", raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["--all", *arguments]) == 0
    assert "6 cells computed" in capsys.readouterr().out


def test_shards_then_assembling_give_the_verdict(bench: Bench, arguments, capsys):
    bench.add("a", range(2))
    assert main(["a", "--shard", "0/2", *arguments]) == 0
    assert main(["a", "--shard", "1/2", *arguments]) == 0
    capsys.readouterr()
    assert main(["a", "--assemble", *arguments]) == 0
    assert capsys.readouterr().out == "a: reproduced. Every check of the rule holds.\n"
    assert bench.computed == {0: 3, 1: 3}


def test_assembling_computes_nothing(bench: Bench, arguments, capsys):
    bench.add("a", range(2))
    assert main(["--all", "--assemble", *arguments]) == 0
    assert bench.computed == {}
    assert "undecided" in capsys.readouterr().out


def test_a_failed_cell_shows_in_the_exit_status(bench: Bench, arguments):
    bench.add("a", range(2))
    bench.failing = {1}
    assert main(["a", "--quick", *arguments]) == 1


def test_a_shard_says_that_more_cells_will_follow(bench: Bench, arguments, capsys):
    bench.add("a", range(2), follow_up=lambda quick, measured: [fake_cell(1, 7)])
    assert main(["a", "--shard", "0/2", *arguments]) == 1
    assert "a will need more: run it again when all shards have ended" in capsys.readouterr().out
    assert main(["a", "--shard", "1/2", *arguments]) == 0


def test_a_time_limit_shows_in_the_exit_status(bench: Bench, arguments, capsys):
    bench.add("a", range(20))
    assert main(["a", "--limit-seconds", "0", *arguments]) == 1
    assert capsys.readouterr().out.startswith("0 cells computed, 0 found on disk, 0 failed, 60 left;")


def test_the_list_names_entries_and_verdicts(bench: Bench, arguments, capsys):
    bench.add("a", range(1))
    main(["--list", *arguments])
    assert capsys.readouterr().out.split() == ["a", "not", "run", "A", "fake"]


def test_an_unknown_entry_is_a_sentence_and_not_a_traceback(bench: Bench, arguments, capsys):
    bench.add("alpha", range(1))
    with pytest.raises(SystemExit) as stopped:
        main(["alpa", *arguments])
    assert stopped.value.code == 2
    assert "Did you mean 'alpha'" in capsys.readouterr().err


def test_no_entry_is_refused(arguments):
    with pytest.raises(SystemExit):
        main(arguments)


def test_cells_are_packed_by_their_entries_and_found_there(bench: Bench, arguments, places, capsys):
    bench.add("a", range(2))
    bench.add("b", range(1, 3))
    assert main(["--all", *arguments]) == 0
    capsys.readouterr()
    assert main(["--all", "--pack", *arguments]) == 0
    assert capsys.readouterr().out == "a: 6 cells\nb: 3 cells\n"
    assert sorted(path.name for path in places["cache"].iterdir()) == ["a.jsonl", "b.jsonl"]
    assert main(["--all", *arguments]) == 0
    assert "0 cells computed, 9 found on disk" in capsys.readouterr().out
