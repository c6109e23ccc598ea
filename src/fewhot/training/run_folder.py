"""A run folder: where a fit keeps its history and its checkpoints, and from where it goes on after a stop."""

from __future__ import annotations

import json
import logging
import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from fewhot.core.checks import one_of, real_number, whole_number
from fewhot.core.errors import RunFolderError
from fewhot.core.files import folder_path, replacing_folder, write_json

try:
    import fcntl
except ImportError:  # no advisory locks on this system
    fcntl = None

log = logging.getLogger("fewhot")

KEPT = 2
_FORMAT = 1
_TENSORS, _META, _RUN = "state.safetensors", "state.json", "run.json"
_OUR_OWN = {".lock", "checkpoints"}
_GIVEN = "given"  # of a fingerprint: the rows before some are held out, which older runs do not tell

CONFIG, CONFIG_FORMAT = "config.json", "fewhot-run"
"""The file that says what a finished run is, and the format it names."""

State = tuple[dict[str, Tensor], dict[str, Any]]
"""The tensors and the JSON-able facts of a checkpoint."""


@dataclass(eq=False)
class RunFolder:
    """Give one to ``callbacks`` and a fit can be killed at any moment and go on where its last checkpoint was.

    Parameters
    ----------
    path
        The folder; it is created when it is missing.
    checkpoint_steps, checkpoint_seconds
        Write a checkpoint after so many steps, and after so many seconds; None switches either off.
    resume
        ``"auto"`` goes on with an unfinished run of the same settings and data; ``False`` refuses a folder in use.

    Examples
    --------
    >>> import fewhot as fh
    >>> estimator = fh.VSC(callbacks=[fh.RunFolder("runs/mine", checkpoint_steps=500)])
    """

    path: str | Path
    checkpoint_steps: int | None = None
    checkpoint_seconds: float | None = 60.0
    resume: str | bool = "auto"
    _lock: IO[str] | None = field(default=None, init=False, repr=False)
    _written_at: float = field(default=0.0, init=False, repr=False)

    @property
    def history(self) -> Path:
        """The file with one line an evaluation."""
        return Path(self.path) / "history.jsonl"

    def open(self, fingerprint: dict[str, Any]) -> State | None:
        """Take the folder for one run and return the state to resume from, if there is one."""
        self._check_arguments()
        root = folder_path(self.path)
        try:
            refuse_foreign(root)
            self._refuse_saved(root)
        except RunFolderError:
            raise
        except OSError as error:
            raise _unusable(root, error) from error
        self._make_and_lock(root)
        found = self._checkpoints()
        if not found:
            write_json(root / "checkpoints" / _RUN, {"format": _FORMAT, **fingerprint})
            self.history.unlink(missing_ok=True)
            return None
        if self.resume is False:
            self.close()
            raise RunFolderError(f"{root} already holds a run; choose another folder, delete it or use resume='auto'.")
        self._check_same_run(root, fingerprint)
        return self._newest_readable(found)

    @property
    def fingerprint(self) -> dict[str, Any] | None:
        """What the run in this folder was begun with; None while there is none that can be read."""
        try:
            known = json.loads((folder_path(self.path) / "checkpoints" / _RUN).read_text(encoding="utf-8"))
        except (OSError, json.JSONDecodeError, UnicodeDecodeError):
            return None
        return known if isinstance(known, dict) else None

    @property
    def seed(self) -> int | None:
        """The seed of the run in this folder; None while there is none."""
        seed = (self.fingerprint or {}).get("seed")
        return seed if isinstance(seed, int) else None

    def due(self, step: int) -> bool:
        """Say whether a checkpoint should be written after this step."""
        by_step = self.checkpoint_steps is not None and step % self.checkpoint_steps == 0
        by_time = self.checkpoint_seconds is not None and time.monotonic() - self._written_at > self.checkpoint_seconds
        return by_step or by_time

    def write(self, step: int, state: State) -> None:
        """Write a checkpoint atomically and drop the oldest."""
        tensors, meta = state
        target = Path(self.path) / "checkpoints" / f"step-{step:09d}"
        self._written_at = time.monotonic()
        if target.exists():
            return
        try:
            with replacing_folder(target) as folder:
                save_file(
                    {name: value.detach().cpu().contiguous().clone() for name, value in tensors.items()},
                    folder / _TENSORS,
                )
                (folder / _META).write_text(json.dumps({"format": _FORMAT, **meta}), encoding="utf-8")
        except (OSError, SafetensorError) as error:
            raise RunFolderError(
                f"The checkpoint of step {step} could not be written to {self.path} ({error}); {self.last_kept()}: "
                f"free some space and fit again to go on from there."
            ) from error
        for old in self._checkpoints()[:-KEPT]:
            shutil.rmtree(old, ignore_errors=True)

    def last_kept(self) -> str:
        """Say which checkpoint a run that fails now goes on from."""
        kept = self._checkpoints()
        return f"the checkpoint of step {_step_of(kept[-1])} is intact" if kept else "no checkpoint was written yet"

    def close(self) -> None:
        """Give the folder back."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_lock": None}

    def _check_arguments(self) -> None:
        one_of("resume", self.resume, ("auto", False))
        if self.checkpoint_steps is not None:
            whole_number("checkpoint_steps", self.checkpoint_steps)
        if self.checkpoint_seconds is not None:
            real_number("checkpoint_seconds", self.checkpoint_seconds, low=0, infinite=True)

    def _refuse_saved(self, root: Path) -> None:
        if (root / CONFIG).exists() and not (root / "checkpoints" / _RUN).exists():
            raise RunFolderError(f"{root} holds a saved estimator; choose another folder for a new run.")

    def _make_and_lock(self, root: Path) -> None:
        if self._lock is not None:
            raise RunFolderError(f"{root} is in use by another fit; choose another folder.")
        try:
            (root / "checkpoints").mkdir(parents=True, exist_ok=True)
            self._lock = (root / ".lock").open("w")
        except OSError as error:
            raise _unusable(root, error) from error
        if fcntl is not None:
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                self.close()
                raise RunFolderError(f"{root} is in use by another fit; choose another folder.") from error
        for unfinished in (*root.glob(".*.part"), *(root / "checkpoints").glob(".*.part")):
            shutil.rmtree(unfinished) if unfinished.is_dir() else unfinished.unlink()
        self._written_at = time.monotonic()

    def _check_same_run(self, root: Path, fingerprint: dict[str, Any]) -> None:
        try:
            known = json.loads((root / "checkpoints" / _RUN).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            self.close()
            raise RunFolderError(f"{root} has checkpoints without a readable {_RUN}; choose another folder.") from error
        changed = [name for name, value in fingerprint.items() if name != _GIVEN and known.get(name) != value]
        if known.get("format") != _FORMAT or changed:
            self.close()
            what = _difference(known, fingerprint, changed)
            raise RunFolderError(
                f"{root} holds another run ({what}); a folder holds one run: choose another or delete this one."
            )

    def _checkpoints(self) -> list[Path]:
        return sorted((Path(self.path) / "checkpoints").glob("step-*"))

    def _newest_readable(self, found: list[Path]) -> State:
        for folder in reversed(found):
            try:
                meta = json.loads((folder / _META).read_text(encoding="utf-8"))
                if not isinstance(meta, dict) or not {"done", "meters", "records"} <= set(meta):
                    raise ValueError(f"{_META} is incomplete")
                return load_file(folder / _TENSORS), meta
            except (OSError, ValueError, SafetensorError) as error:
                log.warning("The checkpoint %s is damaged (%s) and is left aside.", folder, error)
                folder.rename(folder.with_name(f"damaged-{folder.name}-{time.time_ns()}"))
        self.close()
        raise RunFolderError(f"No checkpoint in {self.path} can be read; delete the folder to begin again.")


def refuse_foreign(root: Path) -> None:
    """Refuse a folder with files in it that no run of this library wrote, so that nothing is lost."""
    if not root.is_dir() or not {item.name for item in root.iterdir()} - _OUR_OWN:
        return
    if (root / "checkpoints" / _RUN).exists():
        return
    try:
        config = json.loads((root / CONFIG).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        config = None
    if not isinstance(config, dict) or config.get("format") != CONFIG_FORMAT:
        raise RunFolderError(f"{root} exists and is not a run folder; choose another folder, so that nothing is lost.")


def _unusable(root: Path, error: OSError) -> RunFolderError:
    return RunFolderError(
        f"{root} cannot be used as a run folder ({error.strerror or error}); choose a folder you may write to."
    )


def _difference(known: dict[str, Any], now: dict[str, Any], changed: list[str]) -> str:
    if not changed:
        return "another version wrote it"
    before, after = known.get("parameters") or {}, now.get("parameters") or {}
    arguments = [name for name in after if before.get(name) != after[name]]
    others = [name for name in changed if name != "parameters"]
    if now.get(_GIVEN) is not None and known.get(_GIVEN) == now[_GIVEN] and len(arguments + others) > 1:
        others = [name for name in others if name != "data"]  # the same rows, split in another way
    return f"changed: {', '.join(arguments + others)}"


def _step_of(folder: Path) -> int:
    return int(folder.name.removeprefix("step-"))
