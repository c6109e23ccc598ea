"""Runs that several tests look at, fitted once."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from .commands import SMALL, done


@pytest.fixture(scope="session")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a finished run on the digits; look, do not change."""
    folder = tmp_path_factory.mktemp("runs") / "digits"
    done("fit", "digits", *SMALL, "--quiet", "--out", folder)
    return folder


@pytest.fixture
def own_run(fitted: Path, tmp_path: Path) -> Path:
    """Return a copy of that run that a test may change."""
    return Path(shutil.copytree(fitted, tmp_path / "run"))


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Return a CSV file of forty rows in [0, 1] with a column of words."""
    rng = np.random.default_rng(0)
    lines = [
        "a,b,c,kind",
        *(f"{a:.3f},{b:.3f},{c:.3f},{'rose' if a > 0.5 else 'iris'}" for a, b, c in rng.random((40, 3))),
    ]
    path = tmp_path / "flowers.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
