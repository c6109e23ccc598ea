"""``fewhot reproduce`` and the datasets, as the program shows them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fewhot.core.plugins import plugins
from fewhot.data import dataset_names, describe
from tests.cli.commands import done, invoke, parsed, refused


def test_the_command_is_in_the_help_and_explains_itself_by_an_example() -> None:
    assert "reproduce" in done().stdout
    assert "fewhot reproduce" in done("reproduce", "--help").stdout.partition("Example")[2]


def test_a_name_typed_wrong_is_answered_with_the_right_one() -> None:
    assert "Did you mean 'reproduce'?" in refused("reprodce", "list")


@pytest.mark.parametrize("name", plugins("fewhot.datasets"))
def test_every_dataset_is_known_by_its_name(name: str) -> None:
    assert name in dataset_names()
    assert describe(name).name == name


def test_a_number_that_is_known_after_reading_is_left_open() -> None:
    told = {line["name"]: line for line in parsed(done("data", "list", "--json"))}
    assert told["wikipedia"]["shapes"]["train"] == [None, 20_000]
    assert "? and 100,000" in done("data").stdout


def test_the_entries_are_listed(tmp_path: Path) -> None:
    told = parsed(done("reproduce", "list", "--json", "--out", tmp_path))
    assert "iclr2019-fig2" in {line["id"] for line in told}
    assert "iclr2019-fig2" in done("reproduce", "--out", tmp_path).stdout


def test_an_unknown_entry_is_refused(tmp_path: Path) -> None:
    assert "Did you mean" in refused("reproduce", "iclr2019-fig222", "--out", tmp_path, "--cache", tmp_path)


def test_an_entry_is_handed_on_and_its_failures_give_the_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from fewhot_papers import reproduction

    asked: dict[str, Any] = {}

    def run(ids: list[str], **options: Any) -> reproduction.RunSummary:
        asked.update(options, ids=list(ids))
        return reproduction.RunSummary(
            computed=1, failed=(("seed=0", "it broke"),), verdicts={"iclr2019-fig2": "undecided"}
        )

    monkeypatch.setattr(reproduction, "run", run)
    result = invoke("reproduce", "iclr2019-fig2", "--quick", "--shard", "0/2", "--out", tmp_path, "--json")
    assert result.exit_code == 1
    assert (asked["ids"], asked["quick"], asked["shard"], asked["out"]) == (["iclr2019-fig2"], True, "0/2", tmp_path)
    assert parsed(result)["errors"] == [["seed=0", "it broke"]]
