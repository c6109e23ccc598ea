"""Training tokens a second on sentences: this library's loop against a plain one, in one run.

    python benchmarks/text_loop.py --data-dir DIR [--corpus hsvae_yahoo] [--steps 60] [--out results/text-loop]

Both train the same VAE (embeddings of 256 shared by encoder and decoder, GRUs of 512, 32 units, 20,000 words, batches
of 256, Adam). The plain loop shuffles, pads every batch to its longest row and calls PyTorch as tutorials do. Counted
are the real tokens of the steps that are timed, padding not; repetitions alternate, and medians are compared.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import fewhot as fh
from fewhot.bench.facts import commit_of, machine
from fewhot.core.devices import resolve_precision
from fewhot.core.records import DataSpec
from fewhot.data import TextDataset, Vocabulary, load_dataset, text_dataset
from fewhot.models import vae
from fewhot.training import Settings
from fewhot.training.capture import Runner
from fewhot.training.step import TrainStep

N_EMBEDDING, N_HIDDEN, N_LATENT, BATCH = 256, 512, 32, 256
WARM_UPS = 3


class PlainVAE(nn.Module):
    """The same networks, written out."""

    def __init__(self, n_words: int) -> None:
        super().__init__()
        self.words = nn.Embedding(n_words, N_EMBEDDING, padding_idx=0)
        self.encoder = nn.GRU(N_EMBEDDING, N_HIDDEN, batch_first=True)
        self.heads = nn.Linear(N_HIDDEN, 2 * N_LATENT)
        self.decoder = nn.GRU(N_EMBEDDING + N_LATENT, N_HIDDEN, batch_first=True)
        self.output = nn.Linear(N_HIDDEN, n_words)

    def forward(self, ids: Tensor) -> Tensor:
        states, _ = self.encoder(self.words(ids))
        last = (ids != 0).sum(1) - 1
        loc, logvar = self.heads(states[torch.arange(len(ids), device=ids.device), last]).chunk(2, -1)
        z = loc + torch.randn_like(loc) * (0.5 * logvar).exp()
        before = self.words(F.pad(ids[:, :-1], (1, 0), value=1))
        said, _ = self.decoder(torch.cat([before, z[:, None].expand(-1, ids.shape[1], -1)], -1))
        loss = F.cross_entropy(self.output(said).flatten(0, 1), ids.flatten(), ignore_index=0, reduction="sum")
        kl = 0.5 * (loc.square() + logvar.exp() - logvar - 1).sum()
        return (loss + kl) / len(ids)


def plain_seconds(data: TextDataset, n_steps: int, device: torch.device) -> tuple[float, int, int]:
    """Return seconds, real tokens and padded tokens of so many steps of the plain loop."""
    texts = [data.ids[data.offsets[i] : data.offsets[i + 1]].long() for i in range(data.n_rows)]
    model = PlainVAE(data.spec.n_columns).to(device)
    optimiser = torch.optim.Adam(model.parameters(), lr=8e-4)
    collate = lambda rows: nn.utils.rnn.pad_sequence(rows, batch_first=True)  # noqa: E731
    loader = torch.utils.data.DataLoader(texts, BATCH, shuffle=True, drop_last=True, collate_fn=collate)
    real = padded = done = 0
    begin = 0.0
    while True:
        for batch in loader:
            if done == WARM_UPS:
                _wait(device)
                begin = time.perf_counter()
            if done == WARM_UPS + n_steps:
                _wait(device)
                return time.perf_counter() - begin, real, padded
            ids = batch.to(device)
            optimiser.zero_grad()
            model(ids).backward()
            optimiser.step()
            if done >= WARM_UPS:
                real, padded = real + int((batch != 0).sum()), padded + batch.numel()
            done += 1


def our_seconds(data: TextDataset, n_steps: int, device: torch.device) -> tuple[float, int, int]:
    """Return the same of this library's loop, every shape warmed up first."""
    spec = DataSpec(**data.spec.to_dict())
    model = vae(spec, n_latent=N_LATENT, hidden_layer_sizes=(N_HIDDEN,), encoder="gru").to(device)
    settings = Settings(
        max_steps=10**6, batch_size=BATCH, learning_rate=8e-4, seed=0, precision=resolve_precision("auto", device)
    )
    step = TrainStep(model, settings, torch.Generator(device).manual_seed(0))
    rows = data.to(device)
    runner, order = Runner(step, rows, "graph"), rows.order(BATCH, 0)
    seen: dict[int, int] = {}
    for place in range(rows.n_rows // BATCH):
        host, index = order(place)
        width = rows.width(host)
        while seen.get(width, 0) < WARM_UPS + 2:
            runner(index, width)
            seen[width] = seen.get(width, 0) + 1
            if device.type == "cpu":
                break
    chosen = [order(place) for place in range(n_steps)]
    _wait(device)
    begin = time.perf_counter()
    for host, index in chosen:
        runner(index, rows.width(host))
    _wait(device)
    seconds = time.perf_counter() - begin
    real = sum(int(data.lengths[host].sum()) for host, _ in chosen)
    return seconds, real, sum(len(host) * rows.width(host) for host, _ in chosen)


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


def main() -> None:
    """Time both loops in turn, print the ratio and what padding would explain."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", type=Path, default=os.environ.get("FEWHOT_DATA"))
    parser.add_argument("--corpus", default="hsvae_yahoo")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--commit")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    device = torch.device(given.device)
    loaded: Any = load_dataset(given.corpus, "validation", given.data_dir)
    data = text_dataset(loaded.texts, Vocabulary(loaded.feature_names, "spaces"))
    found: dict[str, list[tuple[float, int, int]]] = {"plain": [], "ours": []}
    for _ in range(given.repetitions):
        found["plain"].append(plain_seconds(data, given.steps, device))
        found["ours"].append(our_seconds(data, given.steps, device))
    rate = {name: statistics.median(real / seconds for seconds, real, _ in runs) for name, runs in found.items()}
    padding = {name: float(np.mean([padded / real for _, real, padded in runs])) for name, runs in found.items()}
    report = {
        "corpus": given.corpus,
        "tokens_per_second": rate,
        "padded_per_real": padding,
        "ratio": rate["ours"] / rate["plain"],
        "bar_on_cpu": 0.9 * padding["plain"],
        "fewhot": fh.__version__,
        "commit": commit_of(given.commit),
        **machine(),
    }
    print(
        f"{given.corpus}: {rate['ours']:,.0f} tokens/s, plain loop {rate['plain']:,.0f}: {report['ratio']:.2f} times; "
        f"padded/real {padding['ours']:.2f} and {padding['plain']:.2f}, 0.9 of the latter is {report['bar_on_cpu']:.2f}"
    )
    if given.out is not None:
        given.out.mkdir(parents=True, exist_ok=True)
        (given.out / "results.json").write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
