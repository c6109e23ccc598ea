"""A fit of the digits in a run folder, as a program of its own, so that it can be killed: ``killed_fit.py FOLDER``."""

from __future__ import annotations

import sys
from typing import Any

from sklearn.datasets import load_digits

from fewhot import VSC, RunFolder

STEPS = 900


def fit(path: str | None) -> Any:
    """Fit 300 digits; with a folder, checkpoint often."""
    rows = load_digits().data[:300] / 16.0
    run = [] if path is None else [RunFolder(path, checkpoint_steps=20, checkpoint_seconds=0.05)]
    estimator = VSC(
        16, l0=3, max_steps=STEPS, batch_size=50, hidden_layer_sizes=(32,), random_state=0, device="cpu", callbacks=run
    )
    return estimator.fit(rows)


if __name__ == "__main__":
    fit(sys.argv[1])
