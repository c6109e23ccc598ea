"""Computing cells: those on disk are kept, a failure stops no other, shards share the work."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fewhot.bench.facts import commit_of, machine
from fewhot.core.errors import InvalidParameterError
from fewhot_papers.reproduction.cache import CellCache
from fewhot_papers.reproduction.catalogue import chosen
from fewhot_papers.reproduction.cells import digest_of, function_of, identity, key_of
from fewhot_papers.reproduction.entry import Cell, Entry
from fewhot_papers.reproduction.measurements import Measurements
from fewhot_papers.reproduction.progress import Event, Progress, show

CACHE = Path("runs/reproduction")
RESULTS = Path("results")
Shard = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """What a run did: cells found on disk, computed, failed (with why) and left by a time limit; and the verdicts.

    ``waiting`` names entries with further cells that depend on some not yet computed, as by other shards.
    """

    kept: int = 0
    computed: int = 0
    failed: tuple[tuple[str, str], ...] = ()
    left: int = 0
    waiting: tuple[str, ...] = ()
    verdicts: dict[str, str] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether nothing failed, nothing was left and nothing waits."""
        return not (self.failed or self.left or self.waiting)


def run(
    entry_ids: Iterable[str],
    *,
    quick: bool = False,
    out: Path = RESULTS,
    cache: Path = CACHE,
    data_dir: Path | None = None,
    shard: str | Shard | None = None,
    limit_seconds: float | None = None,
    progress: Progress = show,
    write_results: bool = True,
    commit: str | None = None,
) -> RunSummary:
    """Compute the cells of entries, and write their results.

    Parameters
    ----------
    entry_ids
        Ids, as `entries` names them.
    quick
        Few rows, few steps, one seed: shows within minutes on a CPU that everything runs, and decides nothing.
    out
        Where results go: ``out/<id>/``, or ``out/<id>/quick/``.
    cache
        Where computed cells lie; a run that was interrupted goes on from there.
    data_dir
        Where the data files are; None leaves it to `fewhot.data.load_dataset`.
    shard
        ``"i/n"`` or ``(i, n)``: take only the i-th of n parts of the cells, i from 0. Results are then not written.
    limit_seconds
        Start no cell that would probably end later than this.
    progress
        Called with an `Event` for every cell.
    write_results
        Whether to assemble results (which needs matplotlib) after the cells.
    commit
        The commit to record; None asks git where the package lies in a source tree.
    """
    wanted = chosen(entry_ids)
    part = as_shard(shard)
    if data_dir is not None and not Path(data_dir).is_dir():
        raise InvalidParameterError(f"data_dir is {str(data_dir)!r}, which is no folder; name the one with the data.")
    summary = compute(
        wanted,
        quick=quick,
        cache=CellCache(cache),
        data_dir=None if data_dir is None else Path(data_dir),
        shard=part,
        limit_seconds=limit_seconds,
        progress=progress,
        commit=commit,
    )
    if part is not None or not write_results:
        return summary
    from fewhot_papers.reproduction.assembling import assemble

    verdicts = assemble(
        [entry.id for entry in wanted], quick=quick, out=out, cache=cache, data_dir=data_dir, commit=commit
    )
    return replace(summary, verdicts={name: verdict.verdict for name, verdict in verdicts.items()})


def compute(
    wanted: Sequence[Entry],
    *,
    quick: bool,
    cache: CellCache,
    data_dir: Path | None,
    shard: Shard | None = None,
    limit_seconds: float | None = None,
    progress: Progress = show,
    commit: str | None = None,
) -> RunSummary:
    """Compute what is not yet on disk of the entries' cells."""
    ends = None if limit_seconds is None else time.monotonic() + limit_seconds
    identities = Identities(data_dir)
    work = _Worker(cache, identities, progress, ends, commit)
    left = work.through(sharded(ordered(wanted, quick=quick), shard))
    later, waiting = follow_ups(wanted, cache, identities, quick=quick)
    if not left:
        left = work.through(sharded(in_order(later), shard))
    return RunSummary(kept=work.kept, computed=work.computed, failed=tuple(work.failed), left=left, waiting=waiting)


class _Worker:
    """Computes cells one by one, keeps an eye on the time they take and says how it goes."""

    def __init__(
        self, cache: CellCache, identities: Identities, progress: Progress, ends: float | None, commit: str | None
    ) -> None:
        self.cache = cache
        self.identities = identities
        self.progress = progress
        self.ends = ends
        self.facts = {"commit": commit_of(commit), **machine()}
        self.kept = self.computed = 0
        self.failed: list[tuple[str, str]] = []
        self._seconds = self._cost = 0.0

    def through(self, cells: Sequence[Cell]) -> int:
        """Compute what is not yet on disk; return how many cells the time limit left."""
        known = [self.identities(cell) for cell in cells]
        todo = [(cell, facts) for cell, facts in zip(cells, known, strict=True) if not self.cache.has(facts)]
        done, total = len(cells) - len(todo), len(cells)
        self.kept += done
        if done:
            self.progress(Event(outcome="kept", done=done, total=total, label=f"{done} cells"))
        for name, error in self.identities.errors.items():
            without = [(cell, facts) for cell, facts in todo if cell.data == name]
            if not without:
                continue
            todo = [(cell, facts) for cell, facts in todo if cell.data != name]
            done += len(without)
            self.give_up(without, error)
            label = f"{len(without)} cells on {name}"
            self.progress(Event(outcome="failed", done=done, total=total, label=label, error=error))
        for i, (cell, facts) in enumerate(todo):
            if self.ends is not None and time.monotonic() + self.guess(cell) > self.ends:
                left = len(todo) - i
                self.progress(Event(outcome="left", done=done + i, total=total, label=f"{left} cells"))
                return left
            self.progress(Event(outcome="start", done=done + i, total=total, label=cell.label))
            seconds, error = self(cell, facts)
            self.progress(
                Event(
                    outcome="done" if error is None else "failed",
                    done=done + i + 1,
                    total=total,
                    label=cell.label,
                    seconds=seconds,
                    seconds_left=sum(self.guess(rest) for rest, _ in todo[i + 1 :]),
                    error=error,
                )
            )
        return 0

    def __call__(self, cell: Cell, known: dict[str, Any]) -> tuple[float, str | None]:
        """Compute a cell; return the seconds it took and why it failed, if it did."""
        began = time.monotonic()
        error = self._try(cell, known)
        seconds = time.monotonic() - began
        if error is None:
            self.computed += 1
            self._seconds += seconds
            self._cost += cell.cost
        else:
            self.give_up([(cell, known)], error)
        return seconds, error

    def give_up(self, cells: Sequence[tuple[Cell, dict[str, Any]]], error: str) -> None:
        """Keep why cells were not computed."""
        for cell, known in cells:
            self.failed.append((cell.label, error))
            self.cache.keep_failure(known, error, self.facts)

    def _try(self, cell: Cell, known: dict[str, Any]) -> str | None:
        began = time.monotonic()
        try:
            measured = function_of(cell.kind).work(cell.settings, self.identities.data_dir)
        except Exception as problem:  # whatever one cell meets, the others go on
            return f"{type(problem).__name__}: {problem}"
        self.cache.keep(known, measured, {"seconds": time.monotonic() - began, **self.facts})
        return None

    def guess(self, cell: Cell) -> float:
        """Return the seconds a cell will take, by those computed so far; 0 before the first."""
        return cell.cost * self._seconds / self._cost if self._cost else 0.0


def first_cells(entry: Entry, *, quick: bool) -> Sequence[Cell]:
    """Return the cells that an entry begins with; none where something is missing."""
    return () if entry.missing else entry.cells(quick)


def follow_ups(
    wanted: Sequence[Entry], cache: CellCache, identities: Identities, *, quick: bool
) -> tuple[list[Cell], tuple[str, ...]]:
    """Return the cells that computed ones ask for, and the ids of entries that still wait for some of those."""
    later: list[Cell] = []
    waiting: list[str] = []
    for entry in wanted:
        if entry.follow_up is None:
            continue
        rows = [cache.row(identities(cell)) for cell in first_cells(entry, quick=quick)]
        measured = [row for row in rows if row is not None]
        if len(measured) == len(rows):
            later += entry.follow_up(quick, Measurements(measured))
        else:
            waiting.append(entry.id)
    return later, tuple(waiting)


def ordered(wanted: Sequence[Entry], *, quick: bool) -> list[Cell]:
    """Return the cells of entries, each once: whole seeds one after another, the long cells of a seed first.

    So an interrupted run holds complete seeds, and shards of equal length hold about equal work.
    """
    return in_order(cell for entry in wanted for cell in first_cells(entry, quick=quick))


def in_order(cells: Iterable[Cell]) -> list[Cell]:
    """Return cells in the order of `ordered`, each once."""
    unique = {key_of(identity(cell, None)): cell for cell in cells}
    return sorted(unique.values(), key=lambda cell: (cell.settings.get("seed", 0), -cell.cost, key_of(cell.settings)))


def sharded(cells: Sequence[Cell], shard: Shard | None) -> list[Cell]:
    """Return the cells of one shard: every n-th, beginning with the i-th."""
    if shard is None:
        return list(cells)
    index, count = shard
    return list(cells[index::count])


def as_shard(shard: str | Shard | None) -> Shard | None:
    """Read a shard.

    >>> as_shard("0/4")
    (0, 4)
    """
    if shard is None:
        return None
    try:
        index, count = map(int, shard.split("/") if isinstance(shard, str) else shard)
    except (TypeError, ValueError):
        index, count = -1, 0
    if not 0 <= index < count:
        raise InvalidParameterError(f"shard is {shard!r}; it must be 'i/n' with i from 0 to n - 1, such as '0/4'.")
    return index, count


class Identities:
    """The identities of cells, each dataset read once; data that cannot be read leave an error in its place."""

    def __init__(self, data_dir: Path | None) -> None:
        self.data_dir = data_dir
        self.errors: dict[str, str] = {}
        self._digests: dict[str, str | None] = {}

    def __call__(self, cell: Cell) -> dict[str, Any]:
        """Return a cell's identity, the digest of its data included."""
        if cell.data is not None and cell.data not in self._digests:
            self._digests[cell.data] = self._digest(cell.data)
        return identity(cell, None if cell.data is None else self._digests[cell.data])

    def _digest(self, name: str) -> str | None:
        try:
            return digest_of(name, self.data_dir)
        except Exception as problem:  # every cell on these data fails with it, and the others go on
            self.errors[name] = f"{type(problem).__name__}: {problem}"
            return None
