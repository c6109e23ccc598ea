"""Fetching a file once: resumed when cut, checked before use, never half there, never by two processes at a time."""

from __future__ import annotations

import errno
import gzip
import hashlib
import os
import time
import zlib
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

from fewhot.core.errors import DownloadError
from fewhot.core.version import __version__
from fewhot.data.locking import locked

Progress = Callable[[str, int, int | None], None]
"""Called with the file's name, the bytes that are here and the bytes in all (None where the server does not say)."""

TIMEOUT = 30.0
"""Seconds without a byte after which an address counts as not answering."""

FRUITLESS_ATTEMPTS = 3
PAUSE = 0.5
_BLOCK = 1 << 16


def fetch(
    addresses: Sequence[str],
    target: Path,
    sha256: str,
    *,
    progress: Progress | None = None,
    timeout: float = TIMEOUT,
) -> Path:
    """Fetch ``target`` from the first address that has it, and return it.

    What has arrived is kept as ``<target>.part`` and completed by the next call (HTTP Range); only when its content has
    the right SHA-256 does it become ``target``, in one step. A lock file lets other processes wait for this one.

    Parameters
    ----------
    addresses
        Full http(s) addresses of the same file, in the order in which they are tried.
    target
        Where the file goes.
    sha256
        SHA-256 of the file, or of its content after decompression where it is gzip-compressed.
    progress
        Called as bytes arrive.
    timeout
        Seconds without a byte after which an address counts as not answering.
    """
    part = target.with_name(target.name + ".part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with locked(target.with_name(target.name + ".lock"), watch=part):
            if target.exists() and has_sha256(target, sha256):
                return target  # another process was quicker
            _fetch_from_any(addresses, part, sha256, progress, timeout)
            os.replace(part, target)
    except DownloadError:
        raise
    except OSError as error:
        raise _disk_error(target, error) from error
    return target


def content_sha256(path: Path) -> str:
    """Return the SHA-256 of a file's content, after gzip decompression if it is compressed; "" if it is damaged.

    A file that has not changed since the last time is not read again.
    """
    state = path.stat()
    return _remembered(path, state.st_ino, state.st_mtime_ns, state.st_size)


def has_sha256(path: Path, sha256: str) -> bool:
    """Say whether a file, or its content after gzip decompression, has this SHA-256."""
    if content_sha256(path) == sha256:
        return True
    state = path.stat()
    return _remembered(path, state.st_ino, state.st_mtime_ns, state.st_size, as_is=True) == sha256


def open_content(path: Path) -> IO[bytes] | gzip.GzipFile:
    """Open a file for reading, decompressed if it is gzip-compressed."""
    with path.open("rb") as file:
        compressed = file.read(2) == b"\x1f\x8b"
    return gzip.open(path) if compressed else path.open("rb")


@lru_cache(maxsize=64)
def _remembered(path: Path, number: int, changed: int, size: int, as_is: bool = False) -> str:
    return _hash(path, as_is=as_is)


def _hash(path: Path, *, as_is: bool = False) -> str:
    hashed = hashlib.sha256()
    try:
        with path.open("rb") if as_is else open_content(path) as file:
            while block := file.read(1 << 20):
                hashed.update(block)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        return ""
    return hashed.hexdigest()


class _Cut(Exception):
    """The connection ended before the file did."""


class _Refused(Exception):
    """The address has no file for us."""


def _fetch_from_any(
    addresses: Sequence[str], part: Path, sha256: str, progress: Progress | None, timeout: float
) -> None:
    reasons: list[str] = []
    for address in addresses:
        try:
            resumed = part.exists()
            _complete(address, part, progress, timeout)
            if (
                resumed and sha256 != _hash(part) and sha256 != _hash(part, as_is=True)
            ):  # the part belonged to another file
                part.unlink()
                _complete(address, part, progress, timeout)
        except (_Refused, _Cut) as error:
            reasons.append(f"{address} {error}")
            continue
        found = _hash(part)
        if sha256 == found or sha256 == _hash(part, as_is=True):
            return
        part.unlink()
        what = f"content with SHA-256 {found[:12]}..." if found else "a damaged file"
        reasons.append(f"{address} gave {what} where {sha256[:12]}... is expected, and it was removed")
    raise DownloadError(
        f"{part.name.removesuffix('.part')} cannot be fetched: {'; '.join(reasons)}; try again later, or get the file "
        f"by other means and name its folder by data_dir= or $FEWHOT_DATA."
    )


def _complete(address: str, part: Path, progress: Progress | None, timeout: float) -> None:
    """Bring ``part`` to the end, however often the connection is cut, as long as bytes arrive."""
    fruitless = 0
    while True:
        before = _size(part)
        try:
            return _transfer(address, part, progress, timeout)
        except _Cut:
            fruitless = fruitless + 1 if _size(part) <= before else 0
            if fruitless == FRUITLESS_ATTEMPTS:
                raise
            time.sleep(PAUSE * fruitless)


def _transfer(address: str, part: Path, progress: Progress | None, timeout: float) -> None:
    from http.client import HTTPException
    from urllib.error import HTTPError, URLError
    from urllib.request import Request, urlopen

    have = _size(part)
    headers = {"User-Agent": f"fewhot/{__version__}", "Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
    try:
        response = urlopen(Request(address, headers=headers), timeout=timeout)
    except HTTPError as error:
        error.close()
        if error.code == 416 and have:  # nothing after what is here: the checksum decides
            return
        if error.code == 429 or error.code >= 500:
            raise _Cut(f"answers {error.code} ({error.reason})") from error
        raise _Refused(f"answers {error.code} ({error.reason})") from error
    except (URLError, TimeoutError, HTTPException, ConnectionError) as error:
        raise _Refused(f"does not answer ({getattr(error, 'reason', None) or error})") from error
    with response:
        goes_on = response.status == 206 and response.headers.get("Content-Range", "").startswith(f"bytes {have}-")
        done = have if goes_on else 0
        length = response.headers.get("Content-Length")
        total = done + int(length) if length else None
        with part.open("ab" if goes_on else "wb") as file:
            while block := _read_block(response, done, total):
                file.write(block)
                done += len(block)
                if progress is not None:
                    progress(part.name.removesuffix(".part"), done, total)
    if total is not None and done < total:
        raise _Cut(f"was cut after {done} of {total} bytes; what has arrived is kept for the next try")


def _read_block(response: Any, done: int, total: int | None) -> bytes:
    from http.client import HTTPException

    try:
        return response.read(_BLOCK)
    except (OSError, HTTPException) as error:  # of the network: the disk is not touched here
        whole = "unknown" if total is None else total
        raise _Cut(f"was cut after {done} of {whole} bytes; what has arrived is kept for the next try") from error


def _disk_error(target: Path, error: OSError) -> DownloadError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DownloadError(
            f"The disk is full: {target.parent} has no room for {target.name}; free some space, or set FEWHOT_CACHE to "
            f"a folder with more."
        )
    return DownloadError(
        f"{target.parent} cannot be written ({error.strerror or error}); set FEWHOT_CACHE to a folder you may write to."
    )


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
