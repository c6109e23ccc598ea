"""Training speed against the plainest loops, as ratios within one run.

On a CPU: a 784-400-200 VAE, batch 100, `fit` with progress and logging on, against the shortest hand-written loop.
On a GPU: a 784-400-200 VSC, batch 100, compiled and captured, against a hand-written loop over a DataLoader; and how
far captured and eager weights are apart after 200 steps.

    python benchmarks/loop.py [--device cpu|cuda] [--commit HASH]
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

import fewhot as fh

N_ROWS, N_COLUMNS, HIDDEN, UNITS, BATCH = 20_000, 784, 400, 200, 100


def rows() -> np.ndarray:
    """Binary rows of the size of an image data set, with a little structure."""
    rng = np.random.default_rng(0)
    patterns = rng.random((20, N_COLUMNS)) < 0.2
    return (patterns[rng.integers(20, size=N_ROWS)] ^ (rng.random((N_ROWS, N_COLUMNS)) < 0.02)).astype(np.float32)


class Stopwatch(fh.Callback):
    """Steps a second between the first and the last evaluation: set-up and compilation are left out."""

    def __init__(self) -> None:
        self.marks: list[tuple[int, float]] = []

    def on_evaluation(self, record: dict) -> None:
        self.marks.append((record["step"], time.perf_counter()))

    @property
    def rate(self) -> float:
        (first, begin), (last, end) = self.marks[0], self.marks[-1]
        return (last - first) / (end - begin)


class HandWrittenVAE:
    """The shortest honest loop: everything in memory, no logging."""

    def __init__(self, X: np.ndarray) -> None:
        self.data = torch.from_numpy(X)
        self.encoder = nn.Sequential(nn.Linear(N_COLUMNS, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 2 * UNITS))
        self.decoder = nn.Sequential(nn.Linear(UNITS, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, N_COLUMNS))
        self.optimiser = torch.optim.Adam([*self.encoder.parameters(), *self.decoder.parameters()], lr=1e-3)

    def rate(self, n_steps: int) -> float:
        """Take steps and return how many a second."""
        begin = time.perf_counter()
        for _ in range(n_steps):
            x = self.data[torch.randint(len(self.data), (BATCH,))]
            loc, logvar = self.encoder(x).chunk(2, dim=1)
            logits = self.decoder(loc + torch.randn_like(loc) * torch.exp(0.5 * logvar))
            kl = 0.5 * (loc.square() + logvar.exp() - logvar - 1).sum()
            loss = (F.binary_cross_entropy_with_logits(logits, x, reduction="sum") + kl) / BATCH
            self.optimiser.zero_grad()
            loss.backward()
            self.optimiser.step()
        return n_steps / (time.perf_counter() - begin)


class Duel(fh.Callback):
    """After each evaluation of a fit, lets the hand-written loop take as many steps: slices side by side in time."""

    def __init__(self, rival: HandWrittenVAE) -> None:
        self.rival = rival
        self.ours: list[float] = []
        self.plain: list[float] = []
        self._last: tuple[int, float] | None = None

    def on_evaluation(self, record: dict) -> None:
        if self._last is not None:
            n_steps = record["step"] - self._last[0]
            self.ours.append(n_steps / (time.perf_counter() - self._last[1]))  # one evaluation a slice, and all logging
            self.plain.append(self.rival.rate(n_steps))
        self._last = record["step"], time.perf_counter()


def dataloader_vsc(X: np.ndarray, n_steps: int) -> float:
    """A plain GPU loop over a DataLoader, as most code has it."""
    device = torch.device("cuda")
    loader = DataLoader(TensorDataset(torch.from_numpy(X)), BATCH, shuffle=True, drop_last=True, pin_memory=True)
    encoder = nn.Sequential(nn.Linear(N_COLUMNS, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 3 * UNITS)).to(device)
    decoder = nn.Sequential(nn.Linear(UNITS, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, N_COLUMNS)).to(device)
    optimiser = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-3)
    prior = float(np.log(0.05 / 0.95))

    def step(x: torch.Tensor) -> None:
        v, loc, logvar = encoder(x).chunk(3, dim=1)
        u = torch.rand_like(v).clamp(1e-6, 1 - 1e-6)
        soft = torch.sigmoid((v + torch.log(u) - torch.log1p(-u)) / 0.5)
        gate = (soft > 0.5).float() + soft - soft.detach()
        logits = decoder(gate * (loc + torch.randn_like(loc) * torch.exp(0.5 * logvar)))
        p = torch.sigmoid(v)
        slab = 0.5 * p * (loc.square() + logvar.exp() - logvar - 1)
        kl = slab + p * (v - prior) + F.logsigmoid(-v) - float(np.log(0.95))
        loss = (F.binary_cross_entropy_with_logits(logits, x, reduction="sum") + kl.sum()) / BATCH
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()

    def passes(n: int) -> None:
        taken = 0
        while taken < n:
            for (x,) in loader:
                step(x.to(device, non_blocking=True))
                taken += 1
                if taken == n:
                    break

    passes(100)
    torch.cuda.synchronize()
    begin = time.perf_counter()
    passes(n_steps)
    torch.cuda.synchronize()
    return n_steps / (time.perf_counter() - begin)


def fewhot_rate(X: np.ndarray, make: Callable[..., fh.VAE | fh.VSC], **settings: object) -> float:
    """Fit with progress, logging and a run folder on, as a user would."""
    watch = Stopwatch()
    with tempfile.TemporaryDirectory() as folder:
        make(callbacks=[watch, fh.RunFolder(folder)], verbose=1, random_state=0, **settings).fit(X)
    return watch.rate


def cpu_suite() -> dict[str, object]:
    """The VAE against the hand-written loop, in alternating slices of one epoch; the median of their ratios."""
    X = rows()
    rival = HandWrittenVAE(X)
    rival.rate(100)
    duel = Duel(rival)
    with tempfile.TemporaryDirectory() as folder:
        fh.VAE(
            n_components=UNITS,
            hidden_layer_sizes=(HIDDEN,),
            batch_size=BATCH,
            max_steps=5000,
            n_iter_no_change=None,
            callbacks=[duel, fh.RunFolder(folder)],
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


def weights_after(X: np.ndarray, make: Callable[..., fh.VAE | fh.VSC], compile: object) -> dict[str, torch.Tensor]:
    """Weights after 200 float32 steps."""
    estimator = make(
        n_components=UNITS,
        hidden_layer_sizes=(HIDDEN,),
        batch_size=BATCH,
        max_steps=200,
        n_iter_no_change=None,
        precision="float32",
        compile=compile,
        random_state=0,
    )
    return estimator.fit(X).module_.state_dict()


def distance(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> float:
    """Largest relative difference of any tensor."""
    return max(float((a[k] - b[k]).norm() / b[k].norm().clamp(min=1e-12)) for k in a if a[k].isfinite().all())


def gpu_suite() -> dict[str, object]:
    """The VSC against the DataLoader loop, and captured against eager weights."""
    X = rows()
    common = {"n_components": UNITS, "hidden_layer_sizes": (HIDDEN,), "batch_size": BATCH, "n_iter_no_change": None}
    plain = [dataloader_vsc(X, 1500)]
    timings = {}
    for name, compile, n_steps, sparsity in (
        ("fixed prior, eager", False, 500, {"alpha": 0.05}),
        ("fixed prior, captured", "graph", 6_000, {"alpha": 0.05}),
        ("fixed prior, compiled and captured", True, 40_000, {"alpha": 0.05}),
        ("dial, compiled and captured", True, 40_000, {"l0": 5}),
    ):
        begin = time.perf_counter()
        rate = fewhot_rate(X, fh.VSC, device="cuda", max_steps=n_steps, compile=compile, **sparsity, **common)
        timings[name] = {"steps_per_s": rate, "whole_fit_s": time.perf_counter() - begin, "n_steps": n_steps}
    plain.append(dataloader_vsc(X, 1500))
    eager = weights_after(X, fh.VSC, False)
    apart = {name: distance(weights_after(X, fh.VSC, c), eager) for name, c in (("graph", "graph"), ("compiled", True))}
    return {
        "what": "steps/s, VSC 784-400-200, batch 100: compiled and captured / plain DataLoader loop",
        "plain": plain,
        "fewhot": timings,
        "ratio": timings["fixed prior, compiled and captured"]["steps_per_s"] / max(plain),
        "ratios": {name: timing["steps_per_s"] / max(plain) for name, timing in timings.items()},
        "bar": 15,
        "relative_distance_to_eager_after_200_steps": apart,
    }


def main() -> None:
    """Run the suite of the device and write its JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--out", type=Path, default=Path("results/bench"))
    arguments = parser.parse_args()
    hardware = torch.cuda.get_device_name() if arguments.device == "cuda" else platform.machine()
    result = {
        "command": f"python benchmarks/loop.py --device {arguments.device}",
        "commit": arguments.commit,
        "hardware": f"{hardware}, {torch.get_num_threads()} threads",
        "torch": torch.__version__,
        **(gpu_suite() if arguments.device == "cuda" else cpu_suite()),
    }
    arguments.out.mkdir(parents=True, exist_ok=True)
    text = json.dumps(result, indent=2)
    (arguments.out / f"loop-{arguments.device}.json").write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
