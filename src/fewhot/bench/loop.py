"""Training speed against the plainest loops, as ratios within one run.

On a CPU: a 784-400-200 VAE, batch 100, `fit` with progress and logging on, against the shortest hand-written loop.
On a GPU: a 784-400-200 VSC, batch 100, compiled and captured, against a hand-written loop over a DataLoader; and how
far captured and eager weights are apart after 200 steps.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from typing import Any

import numpy as np
import torch

from fewhot.bench.rivals import BATCH, HIDDEN, N_COLUMNS, UNITS, DataLoaderVSC, HandWrittenVAE
from fewhot.estimators import VAE, VSC
from fewhot.training import Callback, RunFolder
from fewhot.training.callbacks import Record

N_ROWS = 20_000
CPU_STEPS = 5000


def run(device: str) -> dict[str, Any]:
    """Measure on "cpu" or "cuda"."""
    return gpu_suite() if device == "cuda" else cpu_suite()


def rows(n_rows: int = N_ROWS) -> np.ndarray:
    """Return binary rows of the size of an image data set, with a little structure."""
    rng = np.random.default_rng(0)
    patterns = rng.random((20, N_COLUMNS)) < 0.2
    return (patterns[rng.integers(20, size=n_rows)] ^ (rng.random((n_rows, N_COLUMNS)) < 0.02)).astype(np.float32)


class Stopwatch(Callback):
    """Steps a second between the first and the last evaluation: set-up and compilation are left out."""

    def __init__(self) -> None:
        self.marks: list[tuple[int, float]] = []

    def on_evaluation(self, record: Record) -> None:
        """Note the time."""
        self.marks.append((record["step"], time.perf_counter()))

    @property
    def rate(self) -> float:
        """Steps a second."""
        (first, begin), (last, end) = self.marks[0], self.marks[-1]
        return (last - first) / (end - begin)


class Duel(Callback):
    """After each evaluation of a fit, lets the hand-written loop take as many steps: slices side by side in time."""

    def __init__(self, rival: HandWrittenVAE) -> None:
        self.rival = rival
        self.ours: list[float] = []
        self.plain: list[float] = []
        self._last: tuple[int, float] | None = None

    def on_evaluation(self, record: Record) -> None:
        """Close a slice of ours and run one of theirs."""
        if self._last is not None:
            n_steps = record["step"] - self._last[0]
            self.ours.append(n_steps / (time.perf_counter() - self._last[1]))  # one evaluation a slice, and all logging
            self.plain.append(self.rival.rate(n_steps))
        self._last = record["step"], time.perf_counter()


def cpu_suite(n_rows: int = N_ROWS, n_steps: int = CPU_STEPS) -> dict[str, Any]:
    """Measure the VAE against the hand-written loop, in alternating slices of one epoch; the median of their ratios."""
    X = rows(n_rows)
    rival = HandWrittenVAE(X)
    rival.rate(100)
    duel = Duel(rival)
    with tempfile.TemporaryDirectory() as folder:
        VAE(
            n_components=UNITS,
            hidden_layer_sizes=(HIDDEN,),
            batch_size=BATCH,
            max_steps=n_steps,
            n_iter_no_change=None,
            device="cpu",
            callbacks=[duel, RunFolder(folder)],
            verbose=1,
            random_state=0,
        ).fit(X)
    ratios = [a / b for a, b in zip(duel.ours, duel.plain, strict=True)]
    return {
        "what": "steps/s, VAE 784-400-200, batch 100: fit with progress and logging / shortest hand-written loop",
        "slices": len(ratios),
        "fewhot": statistics.median(duel.ours),
        "plain": statistics.median(duel.plain),
        "ratio": statistics.median(ratios),
        "quartiles": statistics.quantiles(ratios),
        "bar": 0.9,
    }


def gpu_suite() -> dict[str, Any]:
    """Measure the VSC against the DataLoader loop, and captured against eager weights."""
    X = rows()
    plain = [DataLoaderVSC(X).rate(1500)]
    timings = {}
    for name, compile, n_steps, sparsity in (
        ("fixed prior, eager", False, 500, {"alpha": 0.05}),
        ("fixed prior, captured", "graph", 6_000, {"alpha": 0.05}),
        ("fixed prior, compiled and captured", True, 40_000, {"alpha": 0.05}),
        ("dial, compiled and captured", True, 40_000, {"l0": 5}),
    ):
        begin = time.perf_counter()
        rate = _vsc_rate(X, max_steps=n_steps, compile=compile, **sparsity)
        timings[name] = {"steps_per_s": rate, "whole_fit_s": time.perf_counter() - begin, "n_steps": n_steps}
    plain.append(DataLoaderVSC(X).rate(1500))
    eager = _weights_after(X, False)
    apart = {name: _distance(_weights_after(X, c), eager) for name, c in (("graph", "graph"), ("compiled", True))}
    return {
        "what": "steps/s, VSC 784-400-200, batch 100: compiled and captured / plain DataLoader loop",
        "plain": plain,
        "fewhot": timings,
        "ratio": timings["fixed prior, compiled and captured"]["steps_per_s"] / max(plain),
        "ratios": {name: timing["steps_per_s"] / max(plain) for name, timing in timings.items()},
        "bar": 15,
        "relative_distance_to_eager_after_200_steps": apart,
    }


def _vsc(**settings: Any) -> VSC:
    return VSC(
        n_components=UNITS,
        hidden_layer_sizes=(HIDDEN,),
        batch_size=BATCH,
        n_iter_no_change=None,
        device="cuda",
        random_state=0,
        **settings,
    )


def _vsc_rate(X: np.ndarray, **settings: Any) -> float:
    """Fit with progress, logging and a run folder on, as a user would."""
    watch = Stopwatch()
    with tempfile.TemporaryDirectory() as folder:
        _vsc(callbacks=[watch, RunFolder(folder)], verbose=1, **settings).fit(X)
    return watch.rate


def _weights_after(X: np.ndarray, compile: str | bool) -> dict[str, torch.Tensor]:
    """Return the weights after 200 float32 steps."""
    return _vsc(max_steps=200, precision="float32", compile=compile).fit(X).module_.state_dict()


def _distance(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> float:
    """Return the largest relative difference of any tensor."""
    return max(float((a[k] - b[k]).norm() / b[k].norm().clamp(min=1e-12)) for k in a if a[k].isfinite().all())
