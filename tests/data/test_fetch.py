"""Fetching: cut connections, wrong content, silence, full disks and several processes."""

from __future__ import annotations

import errno
import gzip
import hashlib
import multiprocessing
import os
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from fewhot.core.errors import DataError, DownloadError
from fewhot.data import locking
from fewhot.data.fetch import content_sha256, fetch, has_sha256, open_content

from .server import Server

CONTENT = np.random.default_rng(0).bytes(300_000)
SHA = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "set" / "file.bin"


@pytest.fixture
def address(server: Server) -> str:
    server.files["/file.bin"] = CONTENT
    return f"{server.url}/file.bin"


def names(target: Path) -> list[str]:
    return sorted(path.name for path in target.parent.iterdir())


def test_a_file_arrives_whole_and_alone(address: str, target: Path) -> None:
    assert fetch([address], target, SHA) == target
    assert target.read_bytes() == CONTENT
    assert names(target) == ["file.bin"]


def test_a_file_that_is_here_is_not_fetched_again(server: Server, address: str, target: Path) -> None:
    fetch([address], target, SHA)
    fetch([address], target, SHA)
    assert len(server.requests) == 1


def test_a_compressed_file_is_checked_by_its_content(server: Server, target: Path) -> None:
    server.files["/file.bin"] = gzip.compress(CONTENT)
    fetch([f"{server.url}/file.bin"], target, SHA)
    with open_content(target) as file:
        assert file.read() == CONTENT


def test_a_compressed_file_may_be_checked_as_it_is(server: Server, target: Path) -> None:
    packed = gzip.compress(CONTENT)
    server.files["/file.bin"] = packed
    server.cut_after = [1000]
    fetch([f"{server.url}/file.bin"], target, hashlib.sha256(packed).hexdigest())
    assert target.read_bytes() == packed
    assert has_sha256(target, SHA)
    assert has_sha256(target, hashlib.sha256(packed).hexdigest())
    assert not has_sha256(target, "0" * 64)


def test_progress_is_told(address: str, target: Path) -> None:
    told: list[tuple[str, int, int | None]] = []
    fetch([address], target, SHA, progress=lambda *told_now: told.append(told_now))
    assert told[-1] == ("file.bin", len(CONTENT), len(CONTENT))
    done = [n for _, n, _ in told]
    assert done == sorted(done)
    assert len(done) > 2


def test_a_cut_connection_is_taken_up_where_it_was_cut(server: Server, address: str, target: Path) -> None:
    server.cut_after = [100_000, 50_000]
    fetch([address], target, SHA)
    assert [asked for _, asked in server.requests] == [None, "bytes=100000-", "bytes=150000-"]
    assert server.bytes_sent == len(CONTENT)


def test_a_later_call_goes_on_with_the_part(server: Server, address: str, target: Path) -> None:
    target.parent.mkdir(parents=True)
    target.with_name("file.bin.part").write_bytes(CONTENT[:200_000])
    told: list[int] = []
    fetch([address], target, SHA, progress=lambda name, done, total: told.append(done))
    assert server.bytes_sent == 100_000
    assert told[0] > 200_000
    assert names(target) == ["file.bin"]


def test_a_part_that_is_complete_needs_no_more_bytes(server: Server, address: str, target: Path) -> None:
    target.parent.mkdir(parents=True)
    target.with_name("file.bin.part").write_bytes(CONTENT)
    fetch([address], target, SHA)
    assert server.bytes_sent == 0
    assert target.read_bytes() == CONTENT


def test_a_part_of_another_file_is_given_up(server: Server, address: str, target: Path) -> None:
    target.parent.mkdir(parents=True)
    target.with_name("file.bin.part").write_bytes(b"other" * 1000)
    fetch([address], target, SHA)
    assert target.read_bytes() == CONTENT


def test_a_server_without_ranges_begins_anew(server: Server, address: str, target: Path) -> None:
    server.ranges = False
    server.cut_after = [100_000]
    fetch([address], target, SHA)
    assert target.read_bytes() == CONTENT


def test_a_server_that_does_not_say_the_length(server: Server, address: str, target: Path) -> None:
    server.says_length = False
    told: list[int | None] = []
    fetch([address], target, SHA, progress=lambda name, done, total: told.append(total))
    assert target.read_bytes() == CONTENT
    assert set(told) == {None}


def test_a_connection_that_is_always_cut_keeps_its_part(server: Server, address: str, target: Path) -> None:
    server.cut_after = [1000, 0, 0, 0, 0]
    with pytest.raises(DownloadError, match=r"was cut after 1000 of 300000 bytes; what has arrived is kept"):
        fetch([address], target, SHA)
    assert names(target) == ["file.bin.part"]
    server.cut_after = []
    fetch([address], target, SHA)
    assert target.read_bytes() == CONTENT


def test_a_server_in_trouble_is_asked_again(server: Server, address: str, target: Path) -> None:
    server.failures = [503, 500]
    fetch([address], target, SHA)
    assert len(server.requests) == 3


def test_wrong_content_is_removed_and_said(server: Server, address: str, target: Path) -> None:
    server.files["/file.bin"] = b"not it"
    found = hashlib.sha256(b"not it").hexdigest()
    with pytest.raises(DownloadError, match=f"content with SHA-256 {found[:12]}... where {SHA[:12]}... is expected"):
        fetch([address], target, SHA)
    assert names(target) == []


def test_a_damaged_archive_is_removed_and_said(server: Server, address: str, target: Path) -> None:
    server.files["/file.bin"] = gzip.compress(CONTENT)[:-1000]
    with pytest.raises(DownloadError, match="gave a damaged file"):
        fetch([address], target, SHA)
    assert names(target) == []


def test_wrong_content_at_one_address_is_made_good_by_the_next(server: Server, address: str, target: Path) -> None:
    server.files["/bad.bin"] = b"not it"
    fetch([f"{server.url}/bad.bin", address], target, SHA)
    assert target.read_bytes() == CONTENT


def test_a_file_that_the_server_does_not_have(server: Server, target: Path) -> None:
    with pytest.raises(
        DownloadError, match=r"file\.bin cannot be fetched: .*/none answers 404 \(Not Found\); .*data_dir="
    ):
        fetch([f"{server.url}/none"], target, SHA)
    assert len(server.requests) == 1
    assert names(target) == []


def test_the_next_address_is_tried(server: Server, address: str, target: Path) -> None:
    fetch([f"{server.url}/none", address], target, SHA)
    assert target.read_bytes() == CONTENT


def test_an_address_where_nobody_listens(server: Server, target: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        with pytest.raises(DownloadError, match=r"does not answer \(.*refused.*\)"):
            fetch([f"http://127.0.0.1:{port}/x"], target, SHA)


def test_an_address_that_keeps_silent(server: Server, target: Path) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        start = time.monotonic()
        with pytest.raises(DownloadError, match=r"does not answer \(timed out\)"):
            fetch([f"http://127.0.0.1:{silent.getsockname()[1]}/x"], target, SHA, timeout=0.2)
    assert time.monotonic() - start < 5


def test_an_error_is_one_sentence_of_the_family(server: Server, target: Path) -> None:
    with pytest.raises(DataError) as caught:
        fetch([f"{server.url}/none"], target, SHA)
    assert isinstance(caught.value, OSError)
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith(".")


class FullDisk:
    """A file on which nothing can be written any more."""

    def __enter__(self) -> FullDisk:
        return self

    def __exit__(self, *args: object) -> None: ...

    def write(self, block: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk(address: str, target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole_open = Path.open

    def opened(path: Path, mode: str = "r", *args: object, **kwargs: object) -> object:
        return FullDisk() if path.name.endswith(".part") else whole_open(path, mode, *args, **kwargs)

    monkeypatch.setattr(Path, "open", opened)
    with pytest.raises(DownloadError, match=r"The disk is full: .* has no room for file\.bin; .*FEWHOT_CACHE"):
        fetch([address], target, SHA)
    assert not target.exists()


def test_a_cache_that_cannot_be_written(address: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DownloadError, match=r"cannot be written .*; set FEWHOT_CACHE"):
        fetch([address], tmp_path / "file" / "x.bin", SHA)


def test_threads_that_want_the_same_file_fetch_it_once(server: Server, address: str, target: Path) -> None:
    server.delay = 0.1
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: fetch([address], target, SHA), range(4)))
    assert found == [target] * 4
    assert len(server.requests) == 1
    assert names(target) == ["file.bin"]


def _fetch_in_a_process(address: str, target: str) -> None:
    fetch([address], Path(target), SHA)


def test_processes_that_want_the_same_file_fetch_it_once(server: Server, address: str, target: Path) -> None:
    server.delay = 0.3
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_fetch_in_a_process, args=(address, str(target))) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0, 0]
    assert len(server.requests) == 1
    assert names(target) == ["file.bin"]


def test_waiting_ends_when_the_holder_makes_no_progress(
    address: str, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locking, "PATIENCE", 0.2)
    target.parent.mkdir(parents=True)
    with (
        locking.locked(target.with_name("file.bin.lock"), watch=target),
        pytest.raises(DownloadError, match=r"has made no progress for 0\.2 seconds"),
    ):
        fetch([address], target, SHA)


def test_waiting_goes_on_while_the_holder_makes_progress(tmp_path: Path) -> None:
    lock, watch = tmp_path / "a.lock", tmp_path / "a.part"
    held = threading.Event()

    def hold() -> None:
        with locking.locked(lock, watch=watch):
            held.set()
            for i in range(8):
                watch.write_bytes(b"x" * (i + 1))
                time.sleep(0.1)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    with locking.locked(lock, watch=watch, patience=0.4):
        assert watch.stat().st_size == 8
    thread.join()


def test_a_lock_left_behind_by_a_process_that_died_holds_nobody_up(address: str, target: Path) -> None:
    target.parent.mkdir(parents=True)
    target.with_name("file.bin.lock").touch()
    fetch([address], target, SHA)
    assert names(target) == ["file.bin"]


def test_a_changed_file_is_hashed_again(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"one")
    first = content_sha256(path)
    path.write_bytes(b"two")
    os.utime(path, (1, 1))
    assert (first, content_sha256(path)) == tuple(hashlib.sha256(c).hexdigest() for c in (b"one", b"two"))
