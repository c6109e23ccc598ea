"""Bars: data whose code is known, on which the model must find it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fewhot import VSC

SIDE, N_PATTERNS, MEAN_ON = 8, 12, 3.0


def bars(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows that are unions of a few of twelve bars on an 8 x 8 grid, with flipped pixels, and which bars."""
    rng = np.random.default_rng(seed)
    patterns = np.zeros((N_PATTERNS, SIDE, SIDE), dtype=bool)
    for j in range(N_PATTERNS // 2):
        patterns[j, j + 1, :] = True
        patterns[j + N_PATTERNS // 2, :, j + 1] = True
    present = rng.random((n_rows, N_PATTERNS)) < MEAN_ON / N_PATTERNS
    rows = present.astype(int) @ patterns.reshape(N_PATTERNS, -1) > 0
    return (rows ^ (rng.random(rows.shape) < 0.01)).astype(np.float32), present


def matched(codes: Any, present: np.ndarray) -> np.ndarray:
    """Return for each pattern the best correlation of a unit's activity with its presence."""
    active = codes.toarray() != 0
    active = active[:, active.any(0) & ~active.all(0)]
    both = np.corrcoef(active.T.astype(float), present.T.astype(float))
    return np.abs(both[active.shape[1] :, : active.shape[1]]).max(1)


@pytest.fixture(scope="module")
def fitted() -> VSC:
    X, _ = bars(2000, seed=0)
    return VSC(
        16,
        l0=MEAN_ON,
        max_steps=2000,
        batch_size=50,
        hidden_layer_sizes=(128,),
        learning_rate=3e-3,
        n_iter_no_change=None,
        random_state=0,
        device="cpu",
    ).fit(X)


def test_the_dial_holds_the_number_of_active_units(fitted: VSC) -> None:
    X, _ = bars(1000, seed=1)
    mean_active = fitted.transform(X).count_nonzero() / len(X)
    assert mean_active == pytest.approx(MEAN_ON, rel=0.2)


def test_units_find_the_planted_patterns(fitted: VSC) -> None:
    X, present = bars(1000, seed=1)
    assert (matched(fitted.transform(X), present) > 0.7).sum() >= 9


def test_the_bound_beats_independent_pixels(fitted: VSC) -> None:
    X, _ = bars(1000, seed=1)
    p = X.mean(0)
    assert fitted.score(X) > len(X[0]) * np.mean(p * np.log(p) + (1 - p) * np.log1p(-p)) + 5
