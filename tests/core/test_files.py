"""Files appear whole or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from fewhot.core.files import replacing_file, replacing_folder, write_json


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "file.txt"
    for text in ("old", "new"):
        with replacing_file(path) as temporary:
            temporary.write_text(text)
        assert path.read_text() == text
    assert [p.name for p in path.parent.iterdir()] == ["file.txt"]


def test_a_failure_keeps_the_old_file_and_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    path.write_text("old")

    def fail() -> None:
        with replacing_file(path) as temporary:
            temporary.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_appears_when_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "run"
    with replacing_folder(path) as temporary:
        (temporary / "a").write_text("1")
        assert not path.exists()
    assert (path / "a").read_text() == "1"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_fails_never_appears(tmp_path: Path) -> None:
    def fail() -> None:
        with replacing_folder(tmp_path / "run") as temporary:
            (temporary / "a").write_text("1")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_json_is_readable_and_comes_back(tmp_path: Path) -> None:
    write_json(tmp_path / "v.json", {"a": [1, 2.5, None]})
    assert json.loads((tmp_path / "v.json").read_text()) == {"a": [1, 2.5, None]}


def test_a_value_without_json_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "v.json"
    write_json(path, 1)
    with pytest.raises(TypeError):
        write_json(path, object())
    assert json.loads(path.read_text()) == 1
    assert list(tmp_path.iterdir()) == [path]


def test_files_and_folders_follow_the_umask(tmp_path: Path) -> None:
    mask = os.umask(0o022)
    try:
        write_json(tmp_path / "a.json", 1)
        with replacing_folder(tmp_path / "folder"):
            pass
    finally:
        os.umask(mask)
    assert (tmp_path / "a.json").stat().st_mode & 0o777 == 0o644
    assert (tmp_path / "folder").stat().st_mode & 0o777 == 0o755
