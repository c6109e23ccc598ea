"""Many fits at a time: a line each as they come, and all so far as JSON."""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

SPLITS = {"test": ("train", "test"), "validation": ("fit", "validation")}
"""What is fitted and what is measured, by the rows that are looked at."""


def fit_all(
    tasks: Sequence[Any], measure: Callable[[Any], dict[str, Any]], workers: int, report: dict[str, Any], out: Path
) -> None:
    """Measure every task in processes of their own, print it, and keep it with what the report says already."""
    out.mkdir(parents=True, exist_ok=True)
    report["fits"] = []
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        for found in pool.map(measure, tasks):
            report["fits"].append(found)
            print(" ".join(f"{name}={_short(value)}" for name, value in found.items()), flush=True)
            (out / "results.json").write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
