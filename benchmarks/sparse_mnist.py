"""Sparse codes of MNIST: the default recipe, the published one and a dense VAE, three seeds each.

Stochastic binarisation in training, one fixed binarisation of the test images (seed 0), Bernoulli likelihood, 200
units, one hidden layer of 400, at most 20,000 steps.
The test images choose nothing: the defaults were compared on rows cut from the training images (docs/decisions/0002).

    python benchmarks/sparse_mnist.py --data-dir DIR [--seeds 0 1 2] [--commit HASH]
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

import fewhot as fh
from fewhot.data import load_dataset
from fewhot.metrics import activity

COMMON: dict[str, Any] = {
    "n_components": 200,
    "hidden_layer_sizes": (400,),
    "likelihood": "bernoulli",
    "observation": "stochastic-binarise",
    "max_steps": 20_000,
    "compile": "graph",
}


def measure(estimator: fh.VAE | fh.VSC, train: np.ndarray, test: np.ndarray) -> dict[str, float]:
    """Fit and look at the test rows."""
    begin = time.perf_counter()
    estimator.fit(train)
    seconds = time.perf_counter() - begin
    units = {} if isinstance(estimator, fh.VAE) else activity(estimator.transform(test)).to_dict()
    return {
        "exact_nelbo": -estimator.score(test),
        "training_objective_nelbo": -estimator.history_[-1]["terms"]["bound"],
        **units,
        "n_steps": estimator.n_iter_,
        "fit_s": seconds,
    }


def summarise(runs: list[dict[str, float]]) -> dict[str, dict[str, float]]:
    """Mean and standard error of every number."""
    table = {name: np.array([run[name] for run in runs]) for name in runs[0]}
    return {
        name: {"mean": float(v.mean()), "se": float(v.std(ddof=1) / len(v) ** 0.5) if len(v) > 1 else 0.0}
        for name, v in table.items()
    }


def main() -> None:
    """Run every model over the seeds, print a table, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", type=Path, default=os.environ.get("FEWHOT_DATA"))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--out", type=Path, default=Path("results/vsc-mnist"))
    arguments = parser.parse_args()
    train, grey = (load_dataset("mnist", part, arguments.data_dir).X for part in ("train", "test"))
    test = (np.random.default_rng(0).random(grey.shape) < grey).astype(np.float32)
    models = {
        "VSC(l0=5)": lambda seed: fh.VSC(l0=5, random_state=seed, **COMMON),
        "VSC(recipe='iclr2019', alpha=0.01)": lambda seed: fh.VSC(
            recipe="iclr2019", alpha=0.01, random_state=seed, **COMMON
        ),
        "VAE()": lambda seed: fh.VAE(random_state=seed, **COMMON),
    }
    report: dict[str, Any] = {
        "command": "python benchmarks/sparse_mnist.py",
        "commit": arguments.commit,
        "hardware": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu",
        "torch": torch.__version__,
        "settings": {**COMMON, "hidden_layer_sizes": list(COMMON["hidden_layer_sizes"])},
        "results": {},
    }
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name, make in models.items():
        runs = [measure(make(seed), train, test) for seed in arguments.seeds]
        summary = summarise(runs)
        report["results"][name] = {"seeds": arguments.seeds, "runs": runs, "summary": summary}
        (arguments.out / "results.json").write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
        print(name, {k: f"{v['mean']:.2f} ± {v['se']:.2f}" for k, v in summary.items()}, flush=True)


if __name__ == "__main__":
    main()
