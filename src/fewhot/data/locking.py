"""A lock file that processes share, and that a process which dies gives back."""

from __future__ import annotations

import os
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from fewhot.core.errors import DownloadError

PATIENCE = 60.0
"""How many seconds a process waits for another one that makes no progress."""


@contextmanager
def locked(path: Path, *, watch: Path, patience: float | None = None) -> Generator[None, None, None]:
    """Hold the lock file ``path``; wait for its holder as long as the file ``watch`` changes its size."""
    patience = PATIENCE if patience is None else patience
    seen, since = _size(watch), time.monotonic()
    while (handle := _take(path)) is None:
        if _size(watch) != seen:
            seen, since = _size(watch), time.monotonic()
        if time.monotonic() - since > patience:
            raise DownloadError(
                f"Another process holds {path} and has made no progress for {patience:g} seconds; end it and try again."
            )
        time.sleep(0.05)
    try:
        yield
    finally:
        with suppress(OSError):  # some systems do not remove an open file; an empty lock file harms nobody
            path.unlink()
        handle.close()


def _take(path: Path) -> IO[str] | None:
    """Return the open lock file, or None while another process holds it."""
    handle = path.open("a")
    # Its last holder may have removed the file between our opening and our locking it.
    if _lock(handle) and _same(handle, path):
        return handle
    handle.close()
    return None


def _same(handle: IO[str], path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle.fileno()), path.stat())
    except FileNotFoundError:
        return False


def _lock(handle: IO[str]) -> bool:
    try:
        import fcntl
    except ImportError:
        return _lock_on_windows(handle)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks: go on without
        return True
    return True


def _lock_on_windows(handle: IO[str]) -> bool:
    import msvcrt

    try:
        msvcrt.locking(handle.fileno(), msvcrt.LK_NBLCK, 1)  # pyright: ignore[reportAttributeAccessIssue]
    except OSError:
        return False
    return True


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return -1
