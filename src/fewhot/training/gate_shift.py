"""The last turn of the dial: one number added to every gate's logit, so that the count is what was asked for."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import torch

from fewhot.core.devices import matrix_precision
from fewhot.core.seeding import stream
from fewhot.data import Dataset
from fewhot.models.latent_model import LatentModel

LARGEST_SHIFT = 1.0
"""In nats; a model that needs more has not settled, and is left short rather than bent."""
_JUST_ON = 1e-4  # how far above the threshold the last unit ends that should be on
_MOST_ROWS = 8192
_BATCH = 2048


class GateShift(NamedTuple):
    """What was added to every gate's logit, and what came of it.

    Attributes
    ----------
    shift
        The number added.
    active
        The mean number of active units.
    largest_share
        The share of rows that the busiest unit serves.
    """

    shift: float
    active: float
    largest_share: float


@torch.no_grad()
def shift_gates(model: LatentModel, rows: Sequence[Dataset], l0: float, seed: int) -> GateShift:
    """Shift all gates alike so that rows have ``l0`` active units on average: as many of each part as of the others.

    Rows that were trained on may have a tenth more units on than others; both are to be near the target.

    A unit is active where its margin is positive (a gate's logit, where units decide one by one), so the shift is minus
    the margin with as many above it as there should be active units. Any posterior gives a bound: the one reported
    afterwards belongs to the shifted gates.
    """
    n_rows = min(_MOST_ROWS // len(rows), *(part.n_rows for part in rows))
    margins = torch.cat([_margins(model, _some(part, n_rows, seed), seed) for part in rows])
    shift = shift_to(margins, l0)
    _shift(model, shift)
    shares = (margins + shift > 0).float().mean(0)
    return GateShift(shift, float(shares.sum()), float(shares.max()))


def _some(data: Dataset, n_rows: int, seed: int) -> Dataset:
    if data.n_rows <= n_rows:
        return data
    return data.subset(np.sort(np.random.default_rng(seed).choice(data.n_rows, n_rows, replace=False)))


def shift_to(margins: torch.Tensor, l0: float) -> float:
    """Return the shift, (n, K) margins of gates given, that leaves ``l0`` units per row on, or the largest one."""
    wanted = min(max(round(l0 * len(margins)), 1), margins.numel())
    threshold = float(margins.flatten().topk(wanted).values[-1])
    return min(max(_JUST_ON - threshold, -LARGEST_SHIFT), LARGEST_SHIFT)


@contextmanager
def shifted(model: LatentModel, shift: float) -> Generator[None, None, None]:
    """Shift all gates for a while; afterwards the weights are the same to the last bit."""
    kept = [(part, {name: value.clone() for name, value in part.state_dict().items()}) for part in _gated_parts(model)]
    try:
        _shift(model, shift)
        yield
    finally:
        for part, state in kept:
            part.load_state_dict(state)


def _gated_parts(model: LatentModel) -> tuple[torch.nn.Module, torch.nn.Module]:
    return model.latent, model.prior


def _shift(model: LatentModel, shift: float) -> None:
    model.latent.shift_gates(shift)  # a family without gates refuses
    model.prior.take_back(shift)  # one made of posteriors would move with them


def _margins(model: LatentModel, data: Dataset, seed: int) -> torch.Tensor:
    """Return by how much each unit is active; where the observation is random, each row has its own."""
    generator = stream(seed, "gate shift")
    told: list[torch.Tensor | None] = []
    with matrix_precision("float32", data.device):
        for batch in data.batches(_BATCH):
            flips = model.observation.noise(batch.x.n_rows, batch.x.n_columns, generator)
            noise = {} if flips is None else {"observation": flips.to(data.device)}
            summary = model.latent.summary(model.psi(model.observe(batch, noise)))
            told.append(summary.logits if summary.margins is None else summary.margins)
    return torch.cat([margins for margins in told if margins is not None])
