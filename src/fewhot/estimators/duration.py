"""How long a long fit on a CPU will take, said before it starts."""

from __future__ import annotations

import copy
import math
import time

import numpy as np
import torch

from fewhot.core.seeding import seeded, stream
from fewhot.core.warning import warn_caller
from fewhot.data import Dataset
from fewhot.models.latent_model import LatentModel
from fewhot.models.sequence_decoder import SequenceDecoder
from fewhot.training.settings import Settings
from fewhot.training.step import TrainStep

TOLD_FROM = 60.0
"""From how many seconds on a fit to texts in order is announced."""
TOLD_FROM_OTHERS = 300.0
_WORTH_ASKING = 1e12
"""Products in a whole fit from which other models are timed: a minute or two of one core."""
_TIMED = 2
_WORTH_TIMING = 50


def announce_slow_fit(module: LatentModel, rows: Dataset, settings: Settings, n_steps: int) -> None:
    """Say how long the steps of a long fit will take on a CPU, by a few steps of a copy of the model."""
    in_order = module.encoder.reads_texts or isinstance(module.decoder, SequenceDecoder)
    on_cpu = next(module.parameters()).device.type == "cpu"
    is_long = module.products_per_row * settings.batch_size * n_steps > _WORTH_ASKING
    if not (in_order or is_long) or not on_cpu or n_steps < _WORTH_TIMING:
        return
    seconds = _seconds_a_step(module, rows, settings)
    if not in_order and seconds * n_steps >= TOLD_FROM_OTHERS:
        warn_caller(
            f"A step takes {seconds:.2g} s here, and the {n_steps:,} steps of this fit up to "
            f"{_in_words(seconds * n_steps)}; give fewer (max_steps=) or a GPU.",
            UserWarning,
        )
    if in_order and seconds * n_steps >= TOLD_FROM:
        warn_caller(
            f"Going through texts word by word, a step takes {seconds:.2g} s here, and the {n_steps:,} steps of this "
            f"fit up to {_in_words(seconds * n_steps)}. Give fewer (max_steps=) or a GPU; encoder='auto', without a "
            f"recipe, takes bags of words instead, which are a matter of minutes.",
            UserWarning,
        )


def _seconds_a_step(module: LatentModel, rows: Dataset, settings: Settings) -> float:
    """Return how long one step takes, by the quickest of a few after the first, on evenly spaced texts."""
    with seeded(settings.seed, "timing"):
        twin = copy.deepcopy(module).train()
        step = TrainStep(twin, settings, stream(settings.seed, "timing"))
        some = np.linspace(0, rows.n_rows - 1, settings.batch_size).astype(np.int64)
        batch = rows.batch(torch.from_numpy(some), rows.width(some))
        took = []
        for _ in range(1 + _TIMED):
            began = time.perf_counter()
            step(batch)
            took.append(time.perf_counter() - began)
    return min(took[1:])


def _in_words(seconds: float) -> str:
    """Return a length of time as people say it.

    >>> _in_words(65), _in_words(3600), _in_words(50_000)
    ('2 minutes', '60 minutes', '14 hours')
    """
    minutes = math.ceil(seconds / 60)
    return f"{minutes} minutes" if minutes < 100 else f"{seconds / 3600:,.0f} hours"
