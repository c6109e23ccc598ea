"""How fast an index over sparse codes is, against comparing the same codes as a dense table, one thread each.

``python benchmarks/sparse_search.py --out results/sparse-search`` makes 100,000 rows of 200 and of 768 units, 8 and 32
of them active in each, used evenly or some far more often than others, and asks for the 10 best of 1 and of 100
queries by each similarity. Dense is torch's float32 product with all rows, then topk; where it is the faster one, the
ratio is below 1. Times take turns, and each is the median of its repetitions.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from fewhot.bench.facts import commit_of, machine
from fewhot.search import SparseIndex
from fewhot.search.index import SIMILARITIES

N_ROWS, N_BEST = 100_000, 10
SETTINGS = [(units, active, use) for use in ("even", "uneven") for units in (200, 768) for active in (8, 32)]
BATCHES = (1, 100)


def make_codes(n_rows: int, n_units: int, n_active: int, use: str, seed: int) -> sp.csr_array:
    """Return rows with so many active units each: all equally often, or the j-th in proportion to 1 / (j + 10)."""
    rng = np.random.default_rng(seed)
    weights = np.ones(n_units) if use == "even" else 1.0 / (np.arange(n_units) + 10.0)
    keys = rng.gumbel(size=(n_rows, n_units)) + np.log(weights)
    units = np.sort(np.argpartition(-keys, n_active, axis=1)[:, :n_active], axis=1)
    values = rng.normal(size=n_rows * n_active).astype(np.float32)
    return sp.csr_array((values, units.ravel(), np.arange(0, values.size + 1, n_active)), shape=(n_rows, n_units))


def dense_table(codes: sp.csr_array, similarity: str) -> torch.Tensor:
    """Return the codes such that products of two tables are what is asked for; shared units without their ties."""
    rows = torch.from_numpy(codes.toarray())
    if similarity == "cosine":
        return torch.nn.functional.normalize(rows)
    return (rows != 0).float() if similarity == "shared" else rows


def milliseconds(ways: dict[str, Callable[[], Any]], repetitions: int) -> dict[str, float]:
    """Return the median time of each way, taking turns after one round that is not counted."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(repetitions + 1):
        for name, way in ways.items():
            begin = time.perf_counter()
            way()
            times[name].append(1000 * (time.perf_counter() - begin))
    return {name: float(np.median(taken[1:])) for name, taken in times.items()}


def compare(n_rows: int, setting: tuple[int, int, str], repetitions: int) -> list[dict[str, Any]]:
    """Return the times of one kind of codes, a line for each similarity and number of queries."""
    codes, queries = make_codes(n_rows, *setting, seed=0), make_codes(max(BATCHES), *setting, seed=1)
    lines = []
    for similarity in SIMILARITIES:
        begin = time.perf_counter()
        index = SparseIndex(codes, similarity)
        built = 1000 * (time.perf_counter() - begin)
        table, asked = dense_table(codes, similarity), dense_table(queries, similarity)
        for batch in BATCHES:
            some, rows = queries[:batch], asked[:batch]
            ways = {"sparse": lambda: index.search(some, N_BEST), "dense": lambda: (rows @ table.T).topk(N_BEST)}  # noqa: B023
            np.testing.assert_allclose(ways["sparse"]()[1], ways["dense"]().values, rtol=1e-4, atol=1e-4)
            taken = milliseconds(ways, repetitions)
            names = ("units", "active", "use")
            line = dict(zip(names, setting, strict=True)) | {"similarity": similarity, "queries": batch, "built": built}
            lines.append(line | taken | {"ratio": taken["dense"] / taken["sparse"]})
            print(show(lines[-1]), flush=True)
    return lines


def show(line: dict[str, Any]) -> str:
    """Return a line of the table."""
    return (
        f"| {line['active']} of {line['units']}, {line['use']} | {line['similarity']} | {line['queries']} | "
        f"{line['sparse']:.2f} | {line['dense']:.2f} | {line['ratio']:.1f} |"
    )


def main() -> None:
    """Time every setting, print a table and keep it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=N_ROWS)
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("--commit")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    torch.set_num_threads(1)
    print(
        "| active units | similarity | queries | sparse, ms | dense, ms | dense / sparse |\n|---|---|---|---|---|---|"
    )
    lines = [line for setting in SETTINGS for line in compare(given.rows, setting, given.repetitions)]
    if given.out is not None:
        given.out.mkdir(parents=True, exist_ok=True)
        report = {"rows": given.rows, "n": N_BEST, "lines": lines, "commit": commit_of(given.commit), **machine()}
        (given.out / "results.json").write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
