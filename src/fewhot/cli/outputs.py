"""Files that commands write where they are told: never over another file without being asked."""

from __future__ import annotations

from pathlib import Path

from fewhot.core.errors import InvalidParameterError


def free_file(path: Path, *, force: bool, source: str = "") -> Path:
    """Return ``path`` if a file may be written there; never over ``source``, the file that is read."""
    path = path.expanduser()
    if source and path.resolve() == Path(source).expanduser().resolve():
        raise InvalidParameterError(f"{path} is the file to read; give --out another one.")
    if path.is_dir():
        raise InvalidParameterError(f"{path} is a folder; give --out a file.")
    if path.exists() and not force:
        raise InvalidParameterError(f"{path} exists; choose another --out, or add --force to replace it.")
    return path
