"""Text files line by line, compressed or not, with the line's number in every complaint."""

from __future__ import annotations

import bz2
import codecs
import io
import lzma
import reprlib
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from fewhot.core.errors import DataError, InvalidParameterError, InvalidTypeError
from fewhot.data.fetch import open_content

_DAMAGES = (EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, OSError)
_OPENERS: dict[bytes, Any] = {b"BZh": bz2.open, b"\xfd7zXZ": lzma.open}


def paths_of(paths: Any) -> list[Path]:
    """Return one path or several, as text or Path, as a list of at least one.

    >>> paths_of("a.txt") == paths_of([Path("a.txt")])
    True
    """
    several = [paths] if isinstance(paths, str | Path) else paths
    try:
        found = [Path(path) for path in several]
    except TypeError as error:
        raise InvalidTypeError(f"paths is {reprlib.repr(paths)}; give the path of a file, or several.") from error
    if not found:
        raise InvalidParameterError("paths is empty; give the path of a file, or several.")
    return found


def lines_of(path: Path | str, encoding: str = "utf-8") -> Iterator[tuple[int, str]]:
    """Go through a text file (plain, gzip, bzip2 or xz) and give every line with its number, from 1.

    The line's end is taken off. Nothing but the line at hand is kept.
    """
    with _opened(Path(path)) as file:
        wide = _wide(file, encoding)
        lines = file if wide is None else io.TextIOWrapper(file, wide, newline="\n")
        yield from decoded(lines, path, wide or encoding)


def decoded(lines: Iterable[bytes | str], path: Path | str, encoding: str = "utf-8") -> Iterator[tuple[int, str]]:
    """Give lines as text, with their numbers; ``path`` is what a complaint calls their source."""
    number = 0
    try:
        for number, line in enumerate(lines, start=1):
            yield number, (line if isinstance(line, str) else line.decode(encoding)).rstrip("\r\n")
    except LookupError as error:
        raise InvalidParameterError(
            f"encoding is {encoding!r}, which Python does not know; name one that it does, such as 'utf-8'."
        ) from error
    except UnicodeDecodeError as error:
        raise DataError(
            f"Line {number} of {path} is not text in {encoding.upper()}; get the published file, or save it in "
            f"{encoding.upper()}."
        ) from error
    except _DAMAGES as error:
        raise DataError(f"{path} is cut off or damaged after line {number}; get it again.") from error


def bad_line(number: int, path: Path | str, reason: str) -> DataError:
    """Return the error for a line that is not as its format wants it."""
    return DataError(f"Line {number} of {path} {reason}; get the published file, for it may be cut off.")


def _wide(file: Any, encoding: str) -> str | None:
    """Return an encoding whose line ends are no single bytes: the one given, or UTF-16 by its mark; else None."""
    try:
        name = codecs.lookup(encoding).name
    except LookupError:
        return None
    if name.startswith(("utf-16", "utf-32")):
        return encoding
    try:
        start = file.read(2)
    except _DAMAGES:
        start = b""  # what follows will say so
    file.seek(0)
    return "utf-16" if name == "utf-8" and start in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else None


def _opened(path: Path) -> IO[bytes] | Any:
    try:
        with path.open("rb") as file:
            start = file.read(6)
        opener = next((opener for magic, opener in _OPENERS.items() if start.startswith(magic)), open_content)
        return opener(path)
    except OSError as error:
        raise DataError(
            f"{path} cannot be opened ({error.strerror or error}); name a file that is there and can be read."
        ) from error
