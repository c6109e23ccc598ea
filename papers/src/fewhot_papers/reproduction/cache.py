"""Computed cells on disk: one JSON file each, named by the hash of all it depends on, written atomically.

Once an entry is done, its cells can be packed into one file, a line each.
"""

from __future__ import annotations

import base64
import json
import logging
import zlib
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from fewhot.core.files import replacing_file, write_json
from fewhot_papers.reproduction.cells import Measured, key_of
from fewhot_papers.reproduction.measurements import Row

log = logging.getLogger("fewhot")

FORMAT = 1
PACKED = ".jsonl"


class CellCache:
    """A folder of computed cells; failures lie beside them as ``*.failed.json`` and are tried again.

    A cell lies in a file of its own, or in a line of a packed one.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)

    def path(self, known: Mapping[str, Any]) -> Path:
        """Return where a cell with this identity lies as long as it is not packed."""
        return self.folder / f"{key_of(known)}.json"

    def has(self, known: Mapping[str, Any]) -> bool:
        """Say whether a cell was computed."""
        return self.record(known) is not None

    def record(self, known: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return a computed cell as it was written; None if it was not computed or cannot be read."""
        return _read(self.path(known)) or self._packed.get(key_of(known))

    def row(self, known: Mapping[str, Any]) -> Row | None:
        """Return a computed cell as a row of measurements."""
        record = self.record(known)
        if record is None:
            return None
        arrays = {name: unpack(value) for name, value in record["arrays"].items()}
        numbers = {name: float("nan") if value is None else value for name, value in record["numbers"].items()}
        return Row(record["identity"]["settings"], numbers, arrays)

    def error(self, known: Mapping[str, Any]) -> str | None:
        """Return why a cell failed when it was last tried."""
        record = _read(self._failed(known))
        return None if record is None else record["error"]

    def keep(self, known: Mapping[str, Any], measured: Measured, facts: Mapping[str, Any]) -> None:
        """Write a computed cell, and forget an earlier failure."""
        record = {
            "format": FORMAT,
            "identity": dict(known),
            "numbers": {name: _json(value) for name, value in measured.numbers.items()},
            "arrays": {name: pack(value) for name, value in measured.arrays.items()},
            **facts,
        }
        write_json(self.path(known), record)
        self._failed(known).unlink(missing_ok=True)

    def keep_failure(self, known: Mapping[str, Any], error: str, facts: Mapping[str, Any]) -> None:
        """Write down why a cell failed."""
        write_json(
            self._failed(known),
            {"format": FORMAT, "identity": dict(known), "error": error, **facts},
        )

    def pack(self, name: str, cells: Iterable[Mapping[str, Any]]) -> int:
        """Move cells that lie in files of their own to the packed file ``name``; return how many it holds.

        Parameters
        ----------
        name
            The file's name without its ending: the entry's.
        cells
            The identities of the entry's cells.
        """
        path = self.folder / f"{name}{PACKED}"
        loose = [self.path(known) for known in cells if _read(self.path(known)) is not None]
        records = _read_packed(path) | {file.stem: _read(file) for file in loose}
        if loose:
            with replacing_file(path) as temporary:
                lines = [json.dumps(record, separators=(",", ":")) for record in records.values()]
                temporary.write_text("\n".join(lines) + "\n", encoding="utf-8")
            for file in loose:
                file.unlink()
            self.__dict__.pop("_packed", None)
        return len(records)

    @cached_property
    def _packed(self) -> dict[str, dict[str, Any]]:
        """The cells of all packed files, by the hash of their identity."""
        found: dict[str, dict[str, Any]] = {}
        for path in sorted(self.folder.glob(f"*{PACKED}")):
            found |= _read_packed(path)
        return found

    def _failed(self, known: Mapping[str, Any]) -> Path:
        return self.folder / f"{key_of(known)}.failed.json"


def pack(array: np.ndarray) -> dict[str, Any]:
    """Return a small array as JSON values, in half precision and deflated: it is for pictures."""
    half = np.ascontiguousarray(array, dtype="<f2")
    content = base64.b64encode(zlib.compress(half.tobytes(), 9)).decode()
    return {"shape": list(half.shape), "float16": content, "deflated": True}


def unpack(value: Mapping[str, Any]) -> np.ndarray:
    """Return a packed array as float32; one of before arrays were deflated, too.

    >>> unpack(pack(np.array([[1.0, 0.5]]))).tolist()
    [[1.0, 0.5]]
    >>> unpack({"shape": [1], "float16": "ADw="}).tolist()
    [1.0]
    """
    content = base64.b64decode(value["float16"])
    flat = np.frombuffer(zlib.decompress(content) if value.get("deflated") else content, dtype="<f2")
    return flat.reshape(value["shape"]).astype(np.float32)


def _read(path: Path) -> dict[str, Any] | None:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        log.warning("The cell file %s cannot be read (%s); it is computed again.", path, error)
        return None
    return record if isinstance(record, dict) and record.get("format") == FORMAT else None


def _read_packed(path: Path) -> dict[str, dict[str, Any]]:
    try:
        records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]
        return {key_of(record["identity"]): record for record in records if record["format"] == FORMAT}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, LookupError, TypeError) as error:
        log.warning("The file of cells %s cannot be read (%s); they are computed again.", path, error)
        return {}


def _json(number: float) -> float | None:
    return float(number) if np.isfinite(number) else None
