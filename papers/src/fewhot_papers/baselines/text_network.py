"""The network of a classifier of texts, and its training."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from fewhot.core.errors import DivergedError
from fewhot.core.parts import Part
from fewhot.core.records import DataSpec, Rows, Tokens
from fewhot.core.registry import STRUCTURES
from fewhot.core.seeding import derive_seed, seeded
from fewhot.data import Dataset, DenseDataset, TextDataset
from fewhot.metrics.marginal_classifier import Answers, new_classifier
from fewhot.models.encoder import Encoder
from fewhot.nn import Pretrained, WordGRU
from fewhot.training.step import own_rates


@STRUCTURES.register("text-network")
class TextNetwork(Part):
    """Texts to logits, (B, n_classes): an encoder, two dense layers of 32 with leaky rectifiers, and one of logits.

    Parameters
    ----------
    encoder
        Texts to vectors.
    n_classes
        How many classes there are.
    seed
        Seed of the dense layers.
    """

    def __init__(self, encoder: Encoder, n_classes: int, seed: int = 0) -> None:
        super().__init__()
        self.encoder = encoder
        self.n_classes = n_classes
        self.seed = seed
        self.head = new_classifier(encoder.n_out, n_classes, seed)

    @property
    def frozen(self) -> bool:
        """Whether no weight of the encoder learns."""
        return not any(weights.requires_grad for weights in self.encoder.parameters())

    @property
    def draws_globally(self) -> bool:
        """Whether training may draw from torch's global generators, as dropout in a user's module does."""
        return not self.frozen and not isinstance(self.encoder.body, WordGRU | Pretrained)

    def forward(self, x: Rows) -> Tensor:
        """Return the logits of texts, or of vectors that the encoder made before."""
        return self.head(self.encoder(x) if isinstance(x, Tokens) else x.dense())


class Labelled(NamedTuple):
    """Texts, or vectors of them, and the place of each one's class."""

    rows: Dataset
    places: Tensor  # (n,) int64, on the device of the rows

    def subset(self, chosen: np.ndarray) -> Labelled:
        """Return some of the rows."""
        return Labelled(self.rows.subset(chosen), self.places[torch.from_numpy(chosen).to(self.places.device)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a network is trained: Adam's rate, texts a batch, epochs at most, and epochs to wait for a better one."""

    learning_rate: float
    batch_size: int
    max_epochs: int
    patience: int | None
    seed: int


def vectors_of(encoder: Encoder, texts: Dataset, batch_size: int) -> DenseDataset:
    """Return what an encoder makes of texts as rows of numbers, for encoders that do not change."""
    vectors = _through(encoder, texts, encoder.n_out, batch_size)
    return DenseDataset(vectors, DataSpec(n_columns=encoder.n_out, n_rows=texts.n_rows), texts.device)


def probabilities(network: TextNetwork, texts: Dataset, batch_size: int) -> Tensor:
    """Return the probability of each class, (n, n_classes)."""
    return _through(network, texts, network.n_classes, batch_size).softmax(-1)


def train(
    network: TextNetwork, learned: Labelled, held_out: Labelled | None, settings: Settings
) -> list[dict[str, Any]]:
    """Train a network in place, and return a record an epoch.

    With held-out rows it ends with the weights of the epoch in which most of these were right, and of equals the one
    with the largest likelihood; without, with those of the last.
    """
    moving = network.head if network.frozen else network
    optimiser = torch.optim.Adam(_groups(network, settings.learning_rate))
    order = learned.rows.order(settings.batch_size, derive_seed(settings.seed, "order"))
    records: list[dict[str, Any]] = []
    best, kept, waited = Answers(-math.inf, math.inf), None, 0
    with seeded(settings.seed, "dropout") if network.draws_globally else nullcontext():
        for epoch in range(settings.max_epochs):
            steps = range(epoch * order.steps_per_epoch, (epoch + 1) * order.steps_per_epoch)
            records.append({"epoch": epoch + 1, "loss": _pass(network, learned, optimiser, map(order, steps))})
            if held_out is None:
                continue
            now = answers(network, held_out, settings.batch_size)
            records[-1] |= {"val_accuracy": now.accuracy, "val_nll": now.nll}
            waited += 1
            if now.better_than(best):
                best, kept, waited = now, copy.deepcopy(moving.state_dict()), 0
            if waited == settings.patience:
                break
    if kept is not None:
        moving.load_state_dict(kept)
    network.zero_grad(set_to_none=True)
    network.eval()
    return records


def answers(network: TextNetwork, labelled: Labelled, batch_size: int) -> Answers:
    """Return how many of the rows are right, and minus the mean log probability of their classes."""
    logits = _through(network, labelled.rows, network.n_classes, batch_size)
    right = (logits.argmax(-1) == labelled.places).double().mean()
    return Answers(float(right), float(F.cross_entropy(logits.double(), labelled.places)))


def _pass(network: TextNetwork, learned: Labelled, optimiser: torch.optim.Optimizer, steps: Any) -> float:
    """Go once over the rows, and return the mean loss of the steps."""
    network.train()
    losses: list[Tensor] = []
    for rows, index in steps:
        batch = learned.rows.batch(index, learned.rows.width(rows))
        loss = F.cross_entropy(network(batch.x), learned.places[index])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.detach())
    mean = float(torch.stack(losses).mean())
    if not math.isfinite(mean):
        raise DivergedError("The loss of TextClassifier is no longer finite; lower learning_rate.")
    return mean


def _groups(network: TextNetwork, learning_rate: float) -> list[dict[str, Any]]:
    """Return the weights that learn by their rates: a pretrained encoder may have its own."""
    own = own_rates(network, learning_rate)
    groups: dict[float, list[nn.Parameter]] = {}
    for weights in network.parameters():
        if weights.requires_grad:
            groups.setdefault(learning_rate * own.get(id(weights), 1.0), []).append(weights)
    return [{"params": weights, "lr": rate} for rate, weights in groups.items()]


@torch.no_grad()
def _through(module: nn.Module, rows: Dataset, n_out: int, batch_size: int) -> Tensor:
    """Return what a module in use makes of each row, (n, n_out)."""
    module.eval()
    made = torch.empty(rows.n_rows, n_out, device=rows.device)
    for chosen in _alike(rows, batch_size):
        index = torch.from_numpy(chosen).to(rows.device)
        made[index] = module(rows.batch(index, rows.width(chosen)).x)
    return made


def _alike(rows: Dataset, batch_size: int) -> Iterator[np.ndarray]:
    """Go through all rows once, texts of similar length together."""
    order = np.argsort(rows.lengths, kind="stable") if isinstance(rows, TextDataset) else np.arange(rows.n_rows)
    for start in range(0, rows.n_rows, batch_size):
        yield order[start : start + batch_size]
