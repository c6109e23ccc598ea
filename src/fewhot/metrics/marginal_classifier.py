"""A small classifier on codes that are uncertain: it averages what it says over draws of the code."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from fewhot.core.seeding import PrivateDraws, derive_seed, stream
from fewhot.metrics.code_draws import CodeDraws

WIDTHS = (32, 32)
SLOPE = 0.01
_ROWS_AT_ONCE = 1024


class LabelledCodes(NamedTuple):
    """Codes, the rows of them to look at, and the place of every row's class, whether it is looked at or not."""

    codes: CodeDraws
    rows: np.ndarray  # (m,)
    places: np.ndarray  # (n,)


class Answers(NamedTuple):
    """How a classifier does on rows."""

    accuracy: float
    nll: float

    def better_than(self, other: Answers) -> bool:
        """Say whether more rows are right, or as many with a larger likelihood."""
        return (self.accuracy, -self.nll) > (other.accuracy, -other.nll)


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """How a classifier is trained: Adam's rate, rows a batch, epochs at most, and epochs to wait for a better one."""

    learning_rate: float = 1e-3
    batch_size: int = 256
    max_epochs: int = 100
    patience: int = 10


def marginal_log_prob(logits: Tensor) -> Tensor:
    r"""Return the log of the mean probability of each class over draws, (B, C), from logits of draws, (K, B, C).

    .. math:: \log p(y \mid x) = \operatorname{logsumexp}_k \log p(y \mid z_k) - \log K

    It is at least the mean of the logs, and equal where all draws say the same.

    Examples
    --------
    >>> logits = torch.tensor([[[0.0, 0.0]], [[100.0, 0.0]]])
    >>> marginal_log_prob(logits).exp().tolist()
    [[0.75, 0.25]]
    """
    return logits.log_softmax(-1).logsumexp(0) - math.log(len(logits))


def new_classifier(n_units: int, n_classes: int, seed: int) -> nn.Sequential:
    """Return two dense layers of 32 with leaky rectifiers, and one of logits."""
    widths = (n_units, *WIDTHS)
    layers: list[nn.Module] = []
    with torch.device("cpu"), PrivateDraws(seed, "classifier"):
        for n_in, n_out in zip(widths, WIDTHS, strict=False):
            layers += [nn.Linear(n_in, n_out), nn.LeakyReLU(SLOPE)]
        return nn.Sequential(*layers, nn.Linear(widths[-1], n_classes))


def trained_classifier(
    train: LabelledCodes, held_out: LabelledCodes, n_classes: int, training: Training, seed: int
) -> nn.Module:
    """Return the classifier of the epoch that did best on held-out rows; their draws are the same in every epoch."""
    device = train.codes.device
    classifier = new_classifier(train.codes.n_units, n_classes, seed).to(device)
    optimiser = torch.optim.Adam(classifier.parameters(), training.learning_rate)
    noise, order = stream(seed, "draws", device=device), np.random.default_rng(derive_seed(seed, "order"))
    best, kept, waited = answers(classifier, held_out, seed), copy.deepcopy(classifier.state_dict()), 0
    for _ in range(training.max_epochs):
        shuffled = order.permutation(train.rows)
        for start in range(0, len(shuffled), training.batch_size):
            rows = shuffled[start : start + training.batch_size]
            optimiser.zero_grad()
            loss = _row_losses(classifier, train, rows, noise)[0].mean()
            loss.backward()  # pyright: ignore[reportUnknownMemberType]
            optimiser.step()  # pyright: ignore[reportUnknownMemberType]
        now = answers(classifier, held_out, seed)
        waited += 1
        if now.better_than(best):
            best, kept, waited = now, copy.deepcopy(classifier.state_dict()), 0
        if waited >= training.patience:
            break
    classifier.load_state_dict(kept)
    return classifier


@torch.no_grad()
def answers(classifier: nn.Module, labelled: LabelledCodes, seed: int) -> Answers:
    """Return accuracy and mean negative log-likelihood of the rows; a seed gives every classifier the same draws."""
    noise = stream(seed, "answers", device=labelled.codes.device)
    losses: list[Tensor] = []
    right: list[Tensor] = []
    for start in range(0, len(labelled.rows), _ROWS_AT_ONCE):
        loss, hit = _row_losses(classifier, labelled, labelled.rows[start : start + _ROWS_AT_ONCE], noise)
        losses.append(loss.double())
        right.append(hit.double())
    return Answers(float(torch.cat(right).mean()), float(torch.cat(losses).mean()))


def _row_losses(
    classifier: nn.Module, labelled: LabelledCodes, rows: np.ndarray, noise: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Return minus the log probability of each row's class, and whether the most probable class is that one."""
    log_prob = marginal_log_prob(classifier(labelled.codes.draw(rows, noise)))  # (B, C)
    places = torch.as_tensor(labelled.places[rows]).to(log_prob.device)
    return nn.functional.nll_loss(log_prob, places, reduction="none"), log_prob.argmax(-1) == places
