"""The sparse family on MNIST and Fashion-MNIST: bounds under exact gates, the dial, and what a linear probe reads.

Stochastic binarisation in training, one fixed binarisation of the rows measured (seed 0), Bernoulli likelihood, 200
units, one hidden layer of 1000, 40,000 steps of 200 rows. Measured on the test images; ``--rows validation`` fits on
the training images less those of the split "validation" and measures those instead: what defaults are chosen on.

    python benchmarks/sparse_family.py --data-dir DIR [--workers 12] [--rows validation] [--only vsc-8]
"""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from fits import SPLITS, arguments_of, fit_all

import fewhot as fh
from fewhot.data import load_dataset
from fewhot.metrics import activity, linear_probe

COMMON: dict[str, Any] = {
    "n_components": 200,
    "hidden_layer_sizes": (1000,),
    "likelihood": "bernoulli",
    "observation": "stochastic-binarise",
    "max_steps": 40_000,
    "batch_size": 200,
    "n_iter_no_change": None,
    "compile": "graph",
}
ASKED = (4, 8, 16, 32)
DATA = ("mnist", "fashion_mnist")
MODELS: dict[str, tuple[type, dict[str, Any]]] = {
    "vae": (fh.VAE, {}),
    **{f"vsc-{l0}": (fh.VSC, {"l0": l0}) for l0 in ASKED},
    **{f"hsvae-{l0}": (fh.HSVAE, {"l0": l0}) for l0 in ASKED},
}


def measure(task: tuple[str, str, int], *, rows: str, data_dir: Path) -> dict[str, Any]:
    """Fit one model and look at rows it has not seen."""
    data, name, seed = task
    fitted, held = (load_dataset(data, split, data_dir) for split in SPLITS[rows])
    binary = (np.random.default_rng(0).random(held.X.shape) < held.X).astype(np.float32)
    kind, arguments = MODELS[name]
    begin = time.perf_counter()
    model = kind(random_state=seed, **COMMON, **arguments).fit(fitted.X)
    seconds = time.perf_counter() - begin
    units = activity(model.transform(binary)).to_dict() if model.module_.latent.gated else {}
    probes = {
        f"probe_{code}": linear_probe(model, fitted.X, fitted.y, binary, held.y, 5000, code).accuracy
        for code in ("map", "mean", "sample")
    }
    return {
        "data": data,
        "model": name,
        "seed": seed,
        "nelbo": -float(model.score(binary)),
        **units,
        **probes,
        "fit_s": seconds,
    }


def main() -> None:
    """Measure every combination, print a line each, and keep what is measured so far as JSON."""
    parser = arguments_of(__doc__, "results/sparse-family", rows="test", seeds=[0, 1, 2])
    parser.add_argument("--only", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--data", nargs="+", choices=DATA, default=DATA)
    given = parser.parse_args()
    tasks = [(data, model, seed) for data in given.data for model in given.only for seed in given.seeds]
    measured = partial(measure, rows=given.rows, data_dir=given.data_dir)
    fit_all(tasks, measured, given, COMMON)


if __name__ == "__main__":
    main()
