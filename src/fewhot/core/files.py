"""Writing files so that a reader never sees half of one."""

from __future__ import annotations

import json
import os
import reprlib
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fewhot.core.errors import InvalidParameterError


def folder_path(path: Any) -> Path:
    """Return ``path`` as the path of a folder, or say in a sentence why it is none."""
    try:
        found = Path(path)
    except TypeError:
        found = Path("\0")
    if "\0" in str(found) or not str(path).strip():
        raise InvalidParameterError(
            f"path is {reprlib.repr(path)}; it must be the path of a folder, as text or a Path."
        )
    return found


@contextmanager
def replacing_file(path: Path) -> Generator[Path, None, None]:
    """Yield a temporary path beside ``path``; on success it takes the place of ``path``, on failure it is removed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        _finish(temporary)
        os.replace(temporary, path)
        _sync(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def replacing_folder(path: Path) -> Generator[Path, None, None]:
    """Yield a new temporary folder beside ``path``; on success it is renamed to ``path``, which must not exist."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent))
    temporary.chmod(0o777 & ~_umask())
    try:
        yield temporary
        for file in temporary.iterdir():
            _finish(file)
        os.rename(temporary, path)
        _sync(path.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def write_json(path: Path, value: Any) -> None:
    """Write ``value`` as readable JSON, atomically."""
    with replacing_file(path) as temporary:
        temporary.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")


def _finish(file: Path) -> None:
    """Give a written file the rights of an ordinary new one, which colleagues can read, and see it onto the disk."""
    file.chmod(0o666 & ~_umask())
    _sync(file)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
