"""How long a step of SDLGM takes beside one of a Gumbel-softmax VAE on the same networks: eager, captured, compiled.

``python benchmarks/discrete_steps.py --out results/discrete-steps`` times steps of 100 rows of 784 columns with the
published networks: the median time of an epoch of 100 steps, in the second half of a fit. The models take turns, and
the ratio is the median over the turns. Other programs can slow single epochs down, so that beside it stands the ratio
of the fastest epochs of all turns.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch

import fewhot as fh
from fewhot.bench.facts import commit_of, machine

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
    "SDLGM, shared slots": (fh.SDLGM, {"n_slots": 40, "slots": "shared", "alpha": 0.5}),
    "SDLGM, independent slots": (fh.SDLGM, {"n_slots": 40, "slots": "independent", "alpha": 0.5}),
    "SDLGM, shared slots, with a dial": (fh.SDLGM, {"n_slots": 40, "slots": "shared"}),
    "SDLGM, independent slots, with a dial": (fh.SDLGM, {"n_slots": 40, "slots": "independent"}),
    "Gumbel-softmax": (fh.GumbelVAE, {"n_classes": 10, "estimator": "concrete"}),
}
BESIDE = "Gumbel-softmax"
MODES: dict[str, Any] = {"eager": False, "captured": "graph", "compiled and captured": True}
TURNS, EPOCHS = 3, 16


def seconds_a_step(model: str, X: np.ndarray, n_epochs: int, compile: Any) -> list[float]:
    """Return the time of a step in each epoch of the second half of a fit."""
    kind, options = MODELS[model]
    seen: list[tuple[int, float]] = []
    look = lambda record: seen.append((record["step"], time.perf_counter()))  # noqa: E731  (has waited for the device)
    kind(**COMMON, **options, max_epochs=n_epochs, compile=compile, callbacks=[look]).fit(X)
    late = seen[len(seen) // 2 :]
    return [(end - begin) / (last - first) for (first, begin), (last, end) in pairwise(late)]


def main() -> None:
    """Time all models in the modes asked for, print ratios and keep them as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=EPOCHS, help=f"of a fit (default: {EPOCHS})")
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument(
        "--modes", nargs="+", choices=MODES, default=list(MODES) if torch.cuda.is_available() else ["eager"]
    )
    parser.add_argument("--commit")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    X = (np.random.default_rng(0).random((10_000, 784)) < 0.2).astype(np.float32)
    report: dict[str, Any] = {"epochs": given.epochs, "turns": given.turns, "modes": {}}
    for mode in given.modes:
        n_turns = 1 if MODES[mode] is True else given.turns  # compiling takes longer than the epochs that are timed
        turns = [
            {model: seconds_a_step(model, X, given.epochs, MODES[mode]) for model in MODELS} for _ in range(n_turns)
        ]
        report["modes"][mode] = {}
        for model in MODELS:
            medians = [(statistics.median(turn[model]), statistics.median(turn[BESIDE])) for turn in turns]
            fastest, beside = (min(epoch for turn in turns for epoch in turn[name]) for name in (model, BESIDE))
            found = {
                "milliseconds_a_step": 1000 * statistics.median(ours for ours, _ in medians),
                "ratio": statistics.median(ours / theirs for ours, theirs in medians),
                "ratio_of_fastest": fastest / beside,
            }
            report["modes"][mode][model] = found
            print(
                f"{mode}, {model}: {found['milliseconds_a_step']:.3f} ms a step, {found['ratio']:.2f} times {BESIDE} "
                f"({found['ratio_of_fastest']:.2f} in the fastest epochs)",
                flush=True,
            )
    if given.out is not None:
        given.out.mkdir(parents=True, exist_ok=True)
        report |= {"commit": commit_of(given.commit), **machine()}
        (given.out / "results.json").write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
