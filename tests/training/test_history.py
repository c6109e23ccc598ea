"""history.jsonl: appended line by line, read back, tolerant of a last line cut off by a crash."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest

from fewhot.core.errors import RunFolderError
from fewhot.training import history

RECORDS: list[dict[str, Any]] = [{"step": 1, "terms": {"loss": 0.1}}, {"step": 2, "terms": {"loss": 1 / 3}}]


def test_what_is_appended_is_read_back(tmp_path: Path) -> None:
    for record in RECORDS:
        history.append(tmp_path / "history.jsonl", record)
    assert history.read(tmp_path / "history.jsonl") == RECORDS


def test_writing_anew_cuts_back(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    for record in [*RECORDS, {"step": 3}]:
        history.append(path, record)
    history.write(path, RECORDS)
    assert history.read(path) == RECORDS
    assert [item.name for item in tmp_path.iterdir()] == ["history.jsonl"]


def test_a_missing_file_is_an_empty_history(tmp_path: Path) -> None:
    assert history.read(tmp_path / "history.jsonl") == []


def test_a_last_line_cut_off_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    history.write(path, RECORDS)
    path.write_text(path.read_text()[:-9])
    assert history.read(path) == RECORDS[:1]


def test_damage_in_the_middle_is_named(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    path.write_text('{"step": 1}\n{"step":\n{"step": 3}\n')
    with pytest.raises(RunFolderError, match="Line 2"):
        history.read(path)


@pytest.mark.parametrize(
    "junk", ["junk", "junk\nmore\n", "5\n", "null\n", '["step"]\n', '{"step": 1}\n5\n', "\n"], ids=repr
)
def test_lines_that_are_no_records_are_named(tmp_path: Path, junk: str) -> None:
    (tmp_path / "history.jsonl").write_text(junk)
    with pytest.raises(RunFolderError, match=r"^Line \d of .*history\.jsonl is no history record; restore"):
        history.read(tmp_path / "history.jsonl")


def test_a_file_that_is_not_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "history.jsonl").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(RunFolderError, match=r"history\.jsonl cannot be read \(it is not text\); restore"):
        history.read(tmp_path / "history.jsonl")


def test_a_folder_in_its_place_is_named(tmp_path: Path) -> None:
    (tmp_path / "history.jsonl").mkdir()
    with pytest.raises(RunFolderError, match=r"history\.jsonl cannot be read \(.+\); restore"):
        history.read(tmp_path / "history.jsonl")


def test_a_full_disk_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "open", full)
    with pytest.raises(RunFolderError, match="No space left"):
        history.append(tmp_path / "history.jsonl", RECORDS[0])
