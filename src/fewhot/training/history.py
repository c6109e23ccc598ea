"""history.jsonl: one line an evaluation, appended as it happens and cut back when a run resumes."""

from __future__ import annotations

import json
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
        temporary.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")


def read(path: Path) -> list[Record]:
    """Return the lines; a last line cut off by a crash is left out."""
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines()
    records = []
    for number, line in enumerate(lines, start=1):
        try:
            records.append(json.loads(line))
        except json.JSONDecodeError as error:
            if number == len(lines):
                break
            raise RunFolderError(f"Line {number} of {path} is not JSON; restore the file or delete it.") from error
    return records
