"""Many fits at a time: a line each as they come, and all so far as JSON."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from fewhot.bench.facts import commit_of, machine

SPLITS = {"test": ("train", "test"), "validation": ("fit", "validation")}
"""What is fitted and what is measured, by the rows that are looked at."""


def arguments_of(doc: str, out: str, *, rows: str, seeds: Sequence[int]) -> argparse.ArgumentParser:
    """Return a parser of what all these benchmarks take, with the defaults of this one."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--data-dir", type=Path, default=os.environ.get("FEWHOT_DATA"))
    parser.add_argument("--workers", type=int, default=1, help="fits at a time (default: %(default)s)")
    parser.add_argument("--rows", choices=SPLITS, default=rows)
    parser.add_argument("--seeds", type=int, nargs="+", default=list(seeds))
    parser.add_argument("--commit")
    parser.add_argument("--out", type=Path, default=Path(out))
    return parser


def fit_all(
    tasks: Sequence[Any], measure: Callable[[Any], dict[str, Any]], given: argparse.Namespace, settings: dict[str, Any]
) -> None:
    """Measure every task in processes of their own, print it, and keep it with the settings of all."""
    out: Path = given.out
    report = {"rows": given.rows, "settings": settings, "commit": commit_of(given.commit), **machine()}
    out.mkdir(parents=True, exist_ok=True)
    report["fits"] = []
    with ProcessPoolExecutor(given.workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        for found in pool.map(measure, tasks):
            report["fits"].append(found)
            print(" ".join(f"{name}={_short(value)}" for name, value in found.items()), flush=True)
            (out / "results.json").write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
