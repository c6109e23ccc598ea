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
    with replacing_files(path) as (temporary,):
        yield temporary


@contextmanager
def replacing_files(*paths: Path) -> Generator[list[Path], None, None]:
    """Yield temporary paths beside ``paths``; once all are written they take their places in order, or none does."""
    temporaries: list[Path] = []
    try:
        for path in paths:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
            os.close(handle)
            temporaries.append(Path(name))
        yield temporaries
        for temporary in temporaries:
            _finish(temporary)
        for temporary, path in zip(temporaries, paths, strict=True):
            os.replace(temporary, path)
        for folder in {path.parent for path in paths}:
            _sync(folder)
    finally:
        for temporary in temporaries:
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
        temporary.write_text(readable_json(value), encoding="utf-8")


def readable_json(value: Any) -> str:
    """Return ``value`` as the text of a file that people read, too."""
    return json.dumps(value, indent=2) + "\n"


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
