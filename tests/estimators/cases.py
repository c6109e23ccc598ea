"""Small estimators, small rows, and what every refusal looks like."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fewhot.estimators  # noqa: F401  (fills the registry)
from fewhot import VAE, VSC, FewhotError
from fewhot.core.registry import ESTIMATORS

BOTH = pytest.mark.parametrize("cls", [VAE, VSC])

SMALL: dict[str, Any] = {
    "n_components": 6,
    "hidden_layer_sizes": (8,),
    "max_steps": 30,
    "batch_size": 20,
    "n_iter_no_change": None,
    "random_state": 0,
    "device": "cpu",
}
N_ROWS, N_COLUMNS = 50, 7
OWN: dict[str, dict[str, Any]] = {"GumbelVAE": {"n_classes": 3}}
"""What else small estimators need: choices that fill six units."""
UNLABELLED = {name: cls for name, cls in ESTIMATORS.items() if not cls.labelled}


def small(cls: type, **changes: Any) -> Any:
    """Return an estimator that fits in a moment; a VSC asks for three active units."""
    dial = {} if cls is VAE or {"alpha", "density", "l0"} & set(changes) else {"l0": 3}
    return cls(**(SMALL | dial | changes))


def grey_rows(n_rows: int = N_ROWS, n_columns: int = N_COLUMNS, seed: int = 0) -> np.ndarray:
    """Return rows in [0, 1], nearly half of them exact zeros, float32."""
    rng = np.random.default_rng(seed)
    rows = rng.random((n_rows, n_columns)) * (rng.random((n_rows, n_columns)) < 0.6)
    return rows.astype(np.float32)


def count_rows(n_rows: int = N_ROWS, n_columns: int = N_COLUMNS, seed: int = 0) -> np.ndarray:
    """Return counts, float32."""
    return np.random.default_rng(seed).poisson(1.5, (n_rows, n_columns)).astype(np.float32)


def one_of_four(n_rows: int = 200) -> np.ndarray:
    """Return rows that are one of four patterns, each two columns wide."""
    return np.repeat(np.eye(4, dtype=np.float32), 2, axis=1)[np.random.default_rng(0).integers(0, 4, n_rows)]


def dense(codes: Any) -> np.ndarray:
    """Return codes as an array, whatever they came as."""
    return codes.toarray() if hasattr(codes, "toarray") else np.asarray(codes)


def weights(estimator: Any) -> dict[str, np.ndarray]:
    """Return copies of a fitted module's tensors."""
    return {name: value.detach().cpu().numpy().copy() for name, value in estimator.module_.state_dict().items()}


def same_weights(a: Any, b: Any) -> bool:
    """Say whether two fitted estimators hold bit for bit the same tensors."""
    left, right = weights(a), weights(b)
    return left.keys() == right.keys() and all(np.array_equal(left[name], right[name]) for name in left)


def assert_one_sentence(error: BaseException) -> None:
    """Check the form of a refusal: this library's own, one line, short, with more than a bare fact in it."""
    message = str(error)
    assert isinstance(error, FewhotError)
    assert "\n" not in message
    assert 20 < len(message) < 300
    assert any(mark in message for mark in (";", ":", "must", "Known", "choose")), message


def contents(folder: Path) -> dict[str, bytes]:
    """Return every file under a folder, by its path."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
