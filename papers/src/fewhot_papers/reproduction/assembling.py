"""From computed cells to results: numbers with their errors, pictures, a verdict, and one table over all entries."""

from __future__ import annotations

import json
import logging
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from fewhot.bench.facts import commit_of
from fewhot.core.files import replacing_file
from fewhot_papers.reproduction.cache import CellCache
from fewhot_papers.reproduction.catalogue import chosen, entries
from fewhot_papers.reproduction.entry import Entry
from fewhot_papers.reproduction.measurements import Measurements
from fewhot_papers.reproduction.running import CACHE, RESULTS, Identities, first_cells, follow_ups
from fewhot_papers.reproduction.verdicts import NOT_RUNNABLE, UNDECIDED, Progressed, Verdict, decide

log = logging.getLogger("fewhot")

RESULT = "result.json"


def assemble(
    entry_ids: Iterable[str],
    *,
    quick: bool = False,
    out: Path = RESULTS,
    cache: Path = CACHE,
    data_dir: Path | None = None,
    commit: str | None = None,
) -> dict[str, Verdict]:
    """Write ``result.json`` and figures of entries from the cells on disk; at full size, the table of entries too.

    A result that decides nothing never replaces one that does, or one of more cells. Needs matplotlib, and the data
    for its digests.
    """
    verdicts, cells = {}, CellCache(cache)
    for entry in chosen(entry_ids):
        folder = Path(out) / entry.id / "quick" if quick else Path(out) / entry.id
        verdicts[entry.id] = _assemble_one(
            entry, folder, cells, None if data_dir is None else Path(data_dir), quick=quick, commit=commit
        )
    if not quick:
        write_table(Path(out))
    return verdicts


def list_table(out: Path = RESULTS) -> list[dict[str, str]]:
    """Return id, title, source, verdict and why of every entry; an empty verdict where there is no full-size result."""
    return [_table_line(entry, Path(out) / entry.id) for entry in entries().values()]


def _table_line(entry: Entry, folder: Path) -> dict[str, str]:
    verdict, why = ("", "") if entry.missing is None else (NOT_RUNNABLE, entry.missing)
    result = read_result(folder)
    if result is not None:
        verdict, why = result["verdict"], result["why"]
    elif (quick := read_result(folder / "quick")) is not None:
        why = quick["why"]
    return {"id": entry.id, "title": entry.title, "source": entry.source, "verdict": verdict, "why": why}


def read_result(folder: Path) -> dict[str, Any] | None:
    """Return the result in a folder; None if there is none that can be read."""
    try:
        result = json.loads((folder / RESULT).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return result if isinstance(result, dict) and "verdict" in result and "why" in result else None


def _assemble_one(
    entry: Entry, folder: Path, cache: CellCache, data_dir: Path | None, *, quick: bool, commit: str | None
) -> Verdict:
    measured, records, progressed = _collect(entry, cache, data_dir, quick=quick)
    verdict = decide(entry, measured, progressed, quick=quick)
    before = read_result(folder)
    if before is not None and entry.missing is None and _holds_less(verdict, progressed, before):
        log.warning("%s keeps its earlier result (%s): %s", entry.id, before["verdict"], verdict.why)
        return verdict
    figures = _write_figures(entry, measured, folder) if measured.rows else []
    made = {record["commit"] for record in records} or {commit_of(commit)}
    result = {
        "id": entry.id,
        "title": entry.title,
        "source": entry.source,
        **verdict.to_dict(),
        "quick": quick,
        "published": entry.published,
        "rule": entry.rule,
        "protocol": entry.protocol,
        "open_choices": list(entry.open_choices),
        "changes": list(entry.changes),
        "data": list(entry.data),
        "command": _command(entry, data_dir, quick=quick),
        "commit": ", ".join(sorted(made)),
        "hardware": ", ".join(sorted({record["hardware"] for record in records})),
        "versions": _versions(records),
        "seeds": measured.seeds(),
        "cells": {"total": progressed.total, "done": progressed.done, "failed": list(progressed.errors)},
        "seconds": sum(record["seconds"] for record in records),
        "figures": figures,
        "numbers": measured.table(),
    }
    with replacing_file(folder / RESULT) as temporary:
        temporary.write_text(as_text(result), encoding="utf-8")
    return verdict


def as_text(result: Mapping[str, Any]) -> str:
    """Return a result as JSON with a line for each check and for the numbers of each setting.

    >>> print(as_text({"id": "a", "numbers": [{"x": 1}, {"x": 2}]}), end="")
    {
      "id": "a",
      "numbers": [
        {"x": 1},
        {"x": 2}
      ]
    }
    """
    return "{\n" + ",\n".join(f"  {json.dumps(name)}: {_lines(value)}" for name, value in result.items()) + "\n}\n"


def _lines(value: Any) -> str:
    listed = isinstance(value, list) and any(isinstance(item, dict) for item in value)
    items = [json.dumps(item, ensure_ascii=False) for item in (value if listed else [value])]
    return "[\n    " + ",\n    ".join(items) + "\n  ]" if listed else items[0]


def pack(entry_ids: Iterable[str], *, cache: Path = CACHE, data_dir: Path | None = None) -> dict[str, int]:
    """Put the computed cells of each entry into one file, and return how many it holds.

    Cells that entries share lie in the file of the first one.
    """
    cells, identities = CellCache(cache), Identities(None if data_dir is None else Path(data_dir))
    return {
        entry.id: cells.pack(entry.id, _known(entry, cells, identities, quick=False)) for entry in chosen(entry_ids)
    }


def _known(entry: Entry, cache: CellCache, identities: Identities, *, quick: bool) -> list[dict[str, Any]]:
    """Return the identities of an entry's cells, those that computed ones ask for too."""
    later, _ = follow_ups([entry], cache, identities, quick=quick)
    return [identities(cell) for cell in (*first_cells(entry, quick=quick), *later)]


def _command(entry: Entry, data_dir: Path | None, *, quick: bool) -> str:
    """Return the line that makes the result again; data found without being told where need no word."""
    told = [] if data_dir is None else ["--data-dir", str(data_dir)]
    return shlex.join(["fewhot", "reproduce", entry.id, *(["--quick"] if quick else []), *told])


def _holds_less(verdict: Verdict, progressed: Progressed, before: dict[str, Any]) -> bool:
    """Say whether a new result decides nothing and rests on fewer cells than the one before it, or that one decided."""
    open_verdicts = (UNDECIDED, NOT_RUNNABLE)
    if verdict.verdict not in open_verdicts:
        return False
    return before["verdict"] not in open_verdicts or progressed.done < before.get("cells", {}).get("done", 0)


def _collect(
    entry: Entry, cache: CellCache, data_dir: Path | None, *, quick: bool
) -> tuple[Measurements, list[dict[str, Any]], Progressed]:
    known = _known(entry, cache, Identities(data_dir), quick=quick)
    found = [(cache.row(facts), cache.record(facts)) for facts in known]
    rows = [row for row, _ in found if row is not None]
    records = [record for _, record in found if record is not None]
    errors = [cache.error(facts) for facts, (row, _) in zip(known, found, strict=True) if row is None]
    failed = tuple(error for error in errors if error is not None)
    return Measurements(rows), records, Progressed(len(known), len(rows), failed)


def _versions(records: list[dict[str, Any]]) -> dict[str, str]:
    names = dict.fromkeys(name for record in records for name in record["versions"])
    return {name: ", ".join(sorted({record["versions"][name] for record in records})) for name in names}


def _write_figures(entry: Entry, measured: Measurements, folder: Path) -> list[str]:
    from fewhot_papers.reproduction.figures import save

    return [path.name for name, figure in entry.draw(measured).items() for path in save(figure, folder / name)]


def write_table(out: Path) -> None:
    """Write ``README.md`` in the results folder: one line an entry."""
    lines = [
        "# Published results, run again",
        "",
        "Written by `fewhot reproduce`; do not edit. Every verdict is decided by the rule in the entry's",
        "`result.json`, which also holds the protocol, the numbers with their standard errors over seeds, the",
        "hardware, the versions, the command and the commit.",
        "",
        "| entry | what | verdict | why | figures |",
        "|---|---|---|---|---|",
    ]
    for line in list_table(out):
        verdict = line["verdict"] or "not run"
        why = line["why"].replace("|", "\\|")
        lines.append(f"| `{line['id']}` | {line['title']} | **{verdict}** | {why} | {_links(out, line['id'])} |")
    with replacing_file(out / "README.md") as temporary:
        temporary.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _links(out: Path, entry_id: str) -> str:
    result = read_result(out / entry_id)
    names = [] if result is None else [name for name in result.get("figures", []) if name.endswith(".svg")]
    return " ".join(f"[{name.removesuffix('.svg')}]({entry_id}/{name})" for name in names)
