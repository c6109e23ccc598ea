"""Fits that are interrupted, and what they come to."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from fewhot import VSC, RunFolder

STEPS = 90


class Killed(BaseException):
    """An end at once: nothing of the trainer catches it, so the disk is left as a kill would leave it."""


def rows(sparse: bool = False, seed: int = 0) -> Any:
    """Return forty-five rows in [0, 1]."""
    rng = np.random.default_rng(seed)
    dense = (rng.random((45, 6)) * (rng.random((45, 6)) < 0.6)).astype(np.float32)
    return sp.csr_array(dense) if sparse else dense


def pictures() -> np.ndarray:
    """Return forty-five rows of 8 by 8 pixels."""
    return np.random.default_rng(0).random((45, 64)).astype(np.float32)


def fitted(
    path: Path | None,
    *,
    cls: type = VSC,
    X: Any = None,
    X_val: Any = None,
    callbacks: list[Any] | None = None,
    checkpoint_steps: int | None = 10,
    checkpoint_seconds: float | None = None,
    resume: Any = "auto",
    **changes: Any,
) -> Any:
    """Fit a small model of 90 steps, evaluated every 5 of them, in a run folder if there is one."""
    arguments: dict[str, Any] = {
        "n_components": 5,
        "hidden_layer_sizes": (8,),
        "max_steps": STEPS,
        "batch_size": 10,
        "n_iter_no_change": None,
        "random_state": 0,
        "device": "cpu",
    }
    if cls is VSC:
        arguments["l0"] = 2
    run = [] if path is None else [RunFolder(path, checkpoint_steps, checkpoint_seconds, resume)]
    estimator = cls(**(arguments | changes), callbacks=[*run, *(callbacks or [])])
    return estimator.fit(rows() if X is None else X, X_val=X_val)


def killed_at(path: Path, step: int, **changes: Any) -> None:
    """Fit until the first evaluation after ``step`` steps, and end there at once."""

    def kill(record: dict[str, Any]) -> None:
        if record["step"] > step:
            raise Killed

    with pytest.raises(Killed):
        fitted(path, callbacks=[kill], **changes)


def resume(path: Path, **changes: Any) -> Any:
    """Fit again in the same folder."""
    return fitted(path, **changes)


@cache
def whole() -> tuple[Any, ...]:
    """Return what the fit comes to without a folder and without an interruption."""
    return outcome(fitted(None))


def outcome(estimator: Any) -> tuple[Any, ...]:
    """Return everything a fit comes to, comparable with ``==``, bit for bit."""
    tensors = {name: value.cpu().numpy().tobytes() for name, value in estimator.module_.state_dict().items()}
    return tensors, estimator.history_, estimator.n_iter_
