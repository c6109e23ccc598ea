"""history.jsonl: one line an evaluation, appended as it happens and cut back when a run resumes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from fewhot.core.errors import RunFolderError
from fewhot.core.files import replacing_file
from fewhot.training.callbacks import Record


def append(path: Path, record: Record) -> None:
    """Add one line and flush it."""
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
            file.flush()
    except OSError as error:
        raise RunFolderError(f"{path} could not be written ({error}); free some space and fit again.") from error


def write(path: Path, records: list[Record]) -> None:
    """Write all lines anew, atomically."""
    with replacing_file(path) as temporary:
        temporary.write_text(as_lines(records), encoding="utf-8")


def as_lines(records: Sequence[Record]) -> str:
    """Return the text of a history."""
    return "".join(json.dumps(record) + "\n" for record in records)


def read(path: Path) -> list[Record]:
    """Return the lines; a last line cut off by a crash is left out."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as error:
        reason = "it is not text" if isinstance(error, UnicodeDecodeError) else error.strerror
        raise RunFolderError(f"{path} cannot be read ({reason}); restore the file or delete it.") from error
    records = []
    for number, line in enumerate(lines, start=1):
        record = _record_of(line)
        if record is None and number == len(lines) and line.startswith("{"):
            break
        if record is None:
            raise RunFolderError(f"Line {number} of {path} is no history record; restore the file or delete it.")
        records.append(record)
    return records


def _record_of(line: str) -> Record | None:
    """Return the JSON object that a line holds, if it holds one."""
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) else None
