"""Compute and assemble reproductions without the command line's libraries.

    python -m fewhot_papers.reproduction --list
    python -m fewhot_papers.reproduction --all --data-dir DIR --cache DIR [--shard 0/4] [--limit-seconds N]
    python -m fewhot_papers.reproduction --all --assemble --data-dir DIR --cache DIR --out DIR
    python -m fewhot_papers.reproduction --all --pack --data-dir DIR --cache DIR

In the place of ``--all``, name entries or papers: ``iclr2019-fig2``, or ``iclr2019`` for all of one paper. Cells that
depend on what others measured are computed by the same command, run again once every shard has ended; it says so.
Shards of one grid may run side by side, also on one GPU; set OMP_NUM_THREADS so that together they fit the cores.
Cells need no matplotlib; ``--assemble`` draws and judges what the cache holds, and computes nothing. ``--pack`` puts
the cells of each entry that the cache holds into one file, where later runs find them.
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence
from pathlib import Path

from fewhot.core.errors import FewhotError
from fewhot_papers.reproduction import assemble, entries, list_table, pack, run
from fewhot_papers.reproduction.running import CACHE, RESULTS


def parser() -> argparse.ArgumentParser:
    """Return the parser of the arguments."""
    doc = (__doc__ or "").splitlines()
    parse = argparse.ArgumentParser("python -m fewhot_papers.reproduction", description=doc[0])
    parse.add_argument("ids", nargs="*", metavar="ID", help="entries, as --list names them, or papers")
    parse.add_argument("--all", action="store_true", help="every entry")
    parse.add_argument("--list", action="store_true", help="name the entries and their verdicts")
    parse.add_argument("--quick", action="store_true", help="few rows, few steps, one seed: decides nothing")
    parse.add_argument("--assemble", action="store_true", help="write results from the cache, compute nothing")
    parse.add_argument("--pack", action="store_true", help="put each entry's computed cells into one file")
    parse.add_argument("--data-dir", type=Path, help="where the data files are (default: $FEWHOT_DATA, or a download)")
    parse.add_argument("--out", type=Path, default=RESULTS, help="where results go (default: %(default)s)")
    parse.add_argument("--cache", type=Path, default=CACHE, help="where computed cells lie (default: %(default)s)")
    parse.add_argument("--shard", metavar="I/N", help="compute only part I of N, from 0")
    parse.add_argument("--limit-seconds", type=float, metavar="S", help="start no cell that would end later")
    parse.add_argument("--commit", help="the commit to record (default: git's, in a source tree)")
    return parse


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the arguments say; 0 if all went well, 1 if cells failed or were left, 2 for wrong arguments."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    parse = parser()
    given = parse.parse_args(arguments)
    if given.list:
        for line in list_table(given.out):
            sys.stdout.write(f"{line['id']:<24} {line['verdict'] or 'not run':<34} {line['title']}\n")
        return 0
    ids = list(entries()) if given.all else given.ids
    if not ids:
        parse.error("no entry was named; give ids, --all or --list")
    try:
        return _go(ids, given)
    except FewhotError as error:
        parse.error(str(error))


def _go(ids: list[str], given: argparse.Namespace) -> int:
    places = {"cache": given.cache, "data_dir": given.data_dir, "commit": given.commit}
    if given.pack:
        for name, n_cells in pack(ids, cache=given.cache, data_dir=given.data_dir).items():
            sys.stdout.write(f"{name}: {n_cells} cells\n")
        return 0
    if given.assemble:
        for name, verdict in assemble(ids, quick=given.quick, out=given.out, **places).items():
            sys.stdout.write(f"{name}: {verdict.verdict}. {verdict.why}\n")
        return 0
    summary = run(
        ids,
        quick=given.quick,
        out=given.out,
        shard=given.shard,
        limit_seconds=given.limit_seconds,
        write_results=False,
        **places,
    )
    again = f"; {', '.join(summary.waiting)} will need more: run it again when all shards have ended"
    sys.stdout.write(
        f"{summary.computed} cells computed, {summary.kept} found on disk, {len(summary.failed)} failed, "
        f"{summary.left} left{again if summary.waiting else ''}; the same command with --assemble writes the results\n"
    )
    return 0 if summary.complete else 1


if __name__ == "__main__":
    sys.exit(main())
