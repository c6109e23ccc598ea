"""Small models, rows and trainers."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from fewhot.core.records import Batch, Dense, Knobs, Noise, Params, Terms
from fewhot.core.seeding import stream
from fewhot.data import DenseDataset, RaggedDataset
from fewhot.inference import Inference, OptimiserSpec, Phase
from fewhot.models import vae, vsc
from fewhot.models.latent_model import LatentModel
from fewhot.training import Settings, Trainer
from fewhot.training.step import TrainStep

N_ROWS, N_COLUMNS = 40, 6

Weights = dict[str, Tensor]


def grey_rows(n_rows: int = N_ROWS, seed: int = 0) -> np.ndarray:
    """Return rows in [0, 1], nearly half of them exact zeros, float32."""
    rng = np.random.default_rng(seed)
    return (rng.random((n_rows, N_COLUMNS)) * (rng.random((n_rows, N_COLUMNS)) < 0.6)).astype(np.float32)


def dataset(sparse: bool = False, n_rows: int = N_ROWS, seed: int = 0) -> DenseDataset | RaggedDataset:
    """Return those rows as a data set."""
    import scipy.sparse as sp

    rows = grey_rows(n_rows, seed)
    return RaggedDataset.of(sp.csr_array(rows)) if sparse else DenseDataset.of(rows)


def model(kind: str = "vae", dropout: bool = False, n_steps: int = 60) -> LatentModel:
    """Return a small model with the same weights every time."""
    torch.manual_seed(0)
    data = dataset()
    encoder = nn.Sequential(nn.Linear(N_COLUMNS, 8), nn.ReLU(), nn.Dropout(0.3)) if dropout else "auto"
    shared: dict[str, Any] = {"n_latent": 5, "hidden_layer_sizes": (8,), "encoder": encoder}
    built = vae(data.spec, **shared) if kind == "vae" else vsc(data.spec, **shared, l0=2.0, n_steps=n_steps)
    built.fit_features(data.moments())
    return built


def trainer(of: LatentModel, max_steps: int = 30, **changes: Any) -> Trainer:
    """Return a trainer; keyword arguments go to the settings or to the trainer, whoever knows them."""
    known = {"run", "callbacks", "show_progress", "state", "start", "records"}
    own = {name: value for name, value in changes.items() if name in known}
    settings = {name: value for name, value in changes.items() if name not in known}
    return Trainer(of, Settings(**({"max_steps": max_steps, "batch_size": 10, "evaluate_every": 5} | settings)), **own)


def weights(of: nn.Module) -> Weights:
    """Return copies of all tensors of a module."""
    return {name: value.detach().clone() for name, value in of.state_dict().items()}


def same(a: Weights, b: Weights) -> bool:
    """Say whether two sets of tensors are the same, bit for bit."""
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


class PoisonedLoss(Inference):
    """An inference procedure: ordinary steps, but from step ``at`` on a term is not finite."""

    def __init__(self, at: int, value: float = float("nan"), term: str = "reconstruction") -> None:
        self.at = at
        self.value = value
        self.term = term

    def phases(self, of: LatentModel, stage: int = 0) -> list[Phase]:
        taken = -1

        def loss(batch: Batch, knobs: Knobs, noise: Noise, memo: Params) -> Terms:
            nonlocal taken
            taken += 1
            terms = of.terms(of.run(of.psi(batch), batch, knobs, noise), knobs)
            if taken < self.at:
                return terms
            poisoned = terms.per_example[self.term] * self.value
            signals = {name: signal * self.value for name, signal in terms.signals.items()}
            return terms._replace(
                loss=terms.loss + poisoned.mean(),
                bound=terms.bound + poisoned,
                per_example={**terms.per_example, self.term: poisoned},
                signals=signals,
            )

        return [Phase(name="joint", parameters=list(of.parameters()), loss=loss, noise=of.noise)]


class Straight(nn.Module):
    """A model of one vector: the loss is ``factor(step) * w.sum()``, so its gradient is known exactly."""

    n_stages = 1

    def __init__(self, factor: Callable[[int], float], n: int = 4) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.zeros(n))
        self.objective = _NoControls()
        self.inference = self
        self._factor = factor
        self._taken = 0

    def phases(self, _: nn.Module, stage: int = 0) -> list[Phase]:
        def loss(batch: Batch, knobs: Knobs, noise: Noise, memo: Params) -> Terms:
            value = self._factor(self._taken) * self.w.sum()
            self._taken += 1
            return Terms(-value.expand(batch.x.n_rows), value)

        return [Phase(name="straight", parameters=[self.w], loss=loss, noise=lambda n, generator: {})]

    def knobs(self, step: Tensor) -> Knobs:
        return Knobs()


class _NoControls(nn.Module):
    controlled = False

    def update(self, signals: Params, step: Tensor) -> None:
        """Nothing to move."""


class TwoPhases(Inference):
    """An inference procedure that moves the decoder first and the encoder after it, and notes what each saw."""

    def __init__(self, rates: Sequence[float] = (1.0, 1.0)) -> None:
        self.rates = rates
        self.seen: list[tuple[str, Weights]] = []

    def phases(self, of: LatentModel, stage: int = 0) -> list[Phase]:
        def phase(name: str, parameters: list[nn.Parameter], rate: float) -> Phase:
            def loss(batch: Batch, knobs: Knobs, noise: Noise, memo: Params) -> Terms:
                self.seen.append((name, weights(of)))
                assert ("decoder" in memo) == (name == "encoder")
                memo[name] = noise["slab"]
                return of.terms(of.run(of.psi(batch), batch, knobs, noise), knobs)

            spec = OptimiserSpec(relative_rate=rate)
            return Phase(name=name, parameters=parameters, loss=loss, noise=of.noise, optimiser=spec)

        encoder = [*of.encoder.parameters(), *of.latent.parameters()]
        return [
            phase("decoder", list(of.decoder.parameters()), self.rates[0]),
            phase("encoder", encoder, self.rates[1]),
        ]


def take(of: Any, n_steps: int, **settings: Any) -> TrainStep:
    """Take steps on the same ten rows, without a trainer."""
    step = TrainStep(of, Settings(max_steps=n_steps, **settings), stream(0, "noise"))
    batch = Batch(Dense(torch.from_numpy(grey_rows(10))))
    for _ in range(n_steps):
        step(batch)
    return step


def twin(of: LatentModel) -> LatentModel:
    """Return a deep copy."""
    return copy.deepcopy(of)
