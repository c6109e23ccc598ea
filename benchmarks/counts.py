"""How fast NFA learns from a set of MovieLens 20M's size: rows a second by ψ(x), and seconds an epoch by ψ*.

``python benchmarks/counts.py --out results/counts`` makes 116,677 users with 10 million of 20,108 items between them,
popular ones far more often than others, and times steps of 500 users, 200 units and hidden layers of 600, on the GPU
where there is one. A time is that of a longer fit less that of a shorter one, after one that is not counted, so that
starting up does not count.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

import fewhot as fh
from fewhot.bench.facts import commit_of, machine

N_USERS, N_ITEMS, N_ENTRIES = 116_677, 20_108, 10_000_000
SPREAD = 1.1
"""Deviation of the log of how many items a user has."""
COMMON: dict[str, Any] = {
    "n_components": 200,
    "n_layers": 2,
    "hidden_layer_sizes": (600,),
    "batch_size": 500,
    "features": "tfidf",
    "validation_fraction": 0.0,
    "n_iter_no_change": None,
    "random_state": 0,
}


def users_and_items(n_users: int, n_items: int, n_entries: int, seed: int = 0) -> sp.csr_array:
    """Return which items users have: log-normal numbers of items, Zipf items, nothing twice."""
    rng = np.random.default_rng(seed)
    activity = rng.lognormal(0.0, SPREAD, n_users)
    popularity = 1.0 / (np.arange(n_items) + 10.0)
    found = np.empty(0, dtype=np.int64)
    while len(found) < n_entries:
        n = int(1.3 * (n_entries - len(found))) + n_users
        users = rng.choice(n_users, n, p=activity / activity.sum())
        items = rng.choice(n_items, n, p=popularity / popularity.sum())
        found = np.unique(np.concatenate([found, users * n_items + items]))
    kept = rng.choice(found, n_entries, replace=False)
    return sp.csr_array((np.ones(n_entries, np.float32), (kept // n_items, kept % n_items)), shape=(n_users, n_items))


def seconds_an_epoch(X: sp.csr_array, n_epochs: int, **options: Any) -> float:
    """Return the time of ``n_epochs`` further epochs, for each of them; the first fit warms up and is not timed."""
    times = []
    for epochs in (1, 1, 1 + n_epochs):
        begin = time.perf_counter()
        fh.NFA(**COMMON, **options, max_epochs=epochs).fit(X)
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        times.append(time.perf_counter() - begin)
    return (times[2] - times[1]) / n_epochs


def main() -> None:
    """Time both trainings, print them and keep them as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=1.0, help="share of the users and entries (default: all)")
    parser.add_argument("--inner-steps", type=int, default=50)
    parser.add_argument("--compile", choices=("auto", "graph"), default="graph")
    parser.add_argument("--commit")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    X = users_and_items(int(given.scale * N_USERS), N_ITEMS, int(given.scale * N_ENTRIES))
    lengths = np.diff(X.indptr)
    print(f"{X.shape[0]:,} users, {X.nnz:,} entries, {lengths.min()} to {lengths.max():,} items each", flush=True)
    amortised = seconds_an_epoch(X, 40, inference="amortised", compile=given.compile)
    print(f"ψ(x): {amortised:.3f} s an epoch, {X.shape[0] / amortised:,.0f} rows/s", flush=True)
    refined = seconds_an_epoch(X, 1, inference="refined", inner_steps=given.inner_steps, compile=given.compile)
    print(f"ψ*, {given.inner_steps} inner steps: {refined:.2f} s an epoch", flush=True)
    if given.out is None:
        return
    given.out.mkdir(parents=True, exist_ok=True)
    report = {
        "users": X.shape[0],
        "items": X.shape[1],
        "entries": int(X.nnz),
        "settings": {**COMMON, "hidden_layer_sizes": list(COMMON["hidden_layer_sizes"])},
        "inner_steps": given.inner_steps,
        "compile": given.compile,
        "amortised_rows_per_second": X.shape[0] / amortised,
        "refined_seconds_an_epoch": refined,
        "commit": commit_of(given.commit),
        **machine(),
    }
    (given.out / "results.json").write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
