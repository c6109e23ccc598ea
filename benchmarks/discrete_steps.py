"""How long a step of SDLGM takes beside one of a Gumbel-softmax VAE on the same networks, eager and captured.

``python benchmarks/discrete_steps.py --out results/discrete-steps`` times steps of 100 rows of 784 columns with the
published networks. A time is that of a longer fit less that of a shorter one, after one that is not counted; the two
models take turns, and the ratio is the median over the turns.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch

import fewhot as fh
from fewhot.reproduction.facts import commit_of, machine

COMMON: dict[str, Any] = {
    "n_components": 200,
    "hidden_layer_sizes": (512, 384, 256),
    "likelihood": "bernoulli",
    "batch_size": 100,
    "validation_fraction": 0.0,
    "n_iter_no_change": None,
    "random_state": 0,
}
MODELS: dict[str, tuple[Any, dict[str, Any]]] = {
    "SDLGM as published": (fh.SDLGM, {"recipe": "xu"}),
    "SDLGM, shared slots": (fh.SDLGM, {"n_slots": 40, "slots": "shared"}),
    "SDLGM, independent slots": (fh.SDLGM, {"n_slots": 40, "slots": "independent"}),
    "Gumbel-softmax": (fh.GumbelVAE, {"n_classes": 10, "estimator": "concrete"}),
}
BESIDE = "Gumbel-softmax"
MODES: dict[str, Any] = {"eager": False, "captured": "graph"}
TURNS = 3


def seconds_a_step(model: str, X: np.ndarray, n_steps: int, compile: Any) -> float:
    """Return the time of ``n_steps`` further steps, for each of them."""
    kind, options = MODELS[model]
    times = []
    for steps in (n_steps // 4, n_steps // 4 + n_steps):
        begin = time.perf_counter()
        kind(**COMMON, **options, max_steps=steps, compile=compile).fit(X)
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        times.append(time.perf_counter() - begin)
    return (times[1] - times[0]) / n_steps


def main() -> None:
    """Time all models in both modes, print ratios and keep them as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=300, help="steps that are timed (default: 300)")
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--commit")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    X = (np.random.default_rng(0).random((10_000, 784)) < 0.2).astype(np.float32)
    modes = MODES if torch.cuda.is_available() else {"eager": False}
    report: dict[str, Any] = {"steps": given.steps, "turns": given.turns, "modes": {}}
    for mode, compile in modes.items():
        for model in MODELS:
            seconds_a_step(model, X, max(4, given.steps // 10), compile)
        turns = [
            {model: seconds_a_step(model, X, given.steps, compile) for model in MODELS} for _ in range(given.turns)
        ]
        report["modes"][mode] = {}
        for model in MODELS:
            ratio = statistics.median(turn[model] / turn[BESIDE] for turn in turns)
            milliseconds = 1000 * statistics.median(turn[model] for turn in turns)
            report["modes"][mode][model] = {"milliseconds_a_step": milliseconds, "ratio": ratio}
            print(f"{mode}, {model}: {milliseconds:.3f} ms a step, {ratio:.2f} times {BESIDE}", flush=True)
    if given.out is not None:
        given.out.mkdir(parents=True, exist_ok=True)
        report |= {"commit": commit_of(given.commit), **machine()}
        (given.out / "results.json").write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
