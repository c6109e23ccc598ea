"""The step size of the published VSC recipe: for each dataset and latent size, the best of three for the VAE.

The paper (ICLR 2019 submission, appendix) takes a step size between 0.001 and 0.01 for each latent size, the one best
for the VAE, and prints none. Here: 20,000 steps on the training images less their last 10,000, whose mean bound
chooses; one seed. `fewhot_papers.reproduction` uses what this found.

    python benchmarks/iclr2019_step_size.py --data-dir DIR [--workers 6]
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from fewhot.bench.facts import commit_of, machine
from fewhot.core.errors import DivergedError
from fewhot.data import load_dataset
from fewhot_papers.reproduction.iclr2019.fitting import estimator
from fewhot_papers.reproduction.iclr2019.grid import DATA, SIZES, fit

RATES = (0.001, 0.003, 0.01)
HELD_OUT = 10_000


def bound(task: tuple[str, int, float], *, data_dir: Path) -> dict[str, Any]:
    """Fit one VAE; return its mean bound on the held-out rows, None where training diverged."""
    data, n_units, rate = task
    X = load_dataset(data, split="train", data_dir=data_dir).X
    settings = {**fit(data, 1.0, n_units, 0).settings, "learning_rate": rate}
    begin = time.perf_counter()
    try:
        found = float(estimator(settings, X.shape[1]).fit(X[:-HELD_OUT]).score(X[-HELD_OUT:]))
    except DivergedError:
        found = None
    return {
        "data": data,
        "n_units": n_units,
        "learning_rate": rate,
        "bound": found,
        "seconds": time.perf_counter() - begin,
    }


def main() -> None:
    """Fit every combination, print a table, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", type=Path, default=os.environ.get("FEWHOT_DATA"))
    parser.add_argument("--workers", type=int, default=1, help="fits at a time (default: %(default)s)")
    parser.add_argument("--commit")
    parser.add_argument("--out", type=Path, default=Path("results/iclr2019-step-size"))
    given = parser.parse_args()
    tasks = [(data, size, rate) for data in DATA for size in SIZES for rate in RATES]
    with ProcessPoolExecutor(given.workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        fits = []
        for found in pool.map(partial(bound, data_dir=given.data_dir), tasks):
            fits.append(found)
            print(" ".join(f"{name}={value}" for name, value in found.items()), flush=True)
    chosen = {
        data: {
            str(size): max(_converged(fits, data, size), key=lambda run: run["bound"])["learning_rate"]
            for size in SIZES
        }
        for data in DATA
    }
    print(json.dumps(chosen, indent=2))
    given.out.mkdir(parents=True, exist_ok=True)
    facts = {"commit": commit_of(given.commit), **machine()}
    text = json.dumps({"chosen": chosen, "fits": fits, **facts}, indent=2)
    (given.out / "results.json").write_text(text + "\n")


def _converged(fits: list[dict[str, Any]], data: str, n_units: int) -> list[dict[str, Any]]:
    return [run for run in fits if (run["data"], run["n_units"]) == (data, n_units) and run["bound"] is not None]


if __name__ == "__main__":
    main()
