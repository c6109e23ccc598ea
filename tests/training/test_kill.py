"""SIGKILL at random moments: the run goes on and ends bit for bit where an undisturbed one ends."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

import fewhot as fh
from tests.training import killed_fit
from tests.training.fits import outcome

ROOT = Path(__file__).parents[2]


def _start(folder: Path) -> subprocess.Popen[bytes]:
    threads = str(torch.get_num_threads())
    environment = os.environ | {"OMP_NUM_THREADS": threads, "MKL_NUM_THREADS": threads, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.training.killed_fit", str(folder)]
    return subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.PIPE)


def _newest(folder: Path) -> str:
    return max((path.name for path in (folder / "checkpoints").glob("step-*")), default="")


def _kill_once(folder: Path, rng: random.Random, within_s: float) -> bool:
    """Start the fit, let it write one checkpoint more, and kill it a moment later; False if it was quicker."""
    before, process = _newest(folder), _start(folder)
    deadline = time.monotonic() + 120
    while process.poll() is None and _newest(folder) == before:
        assert time.monotonic() < deadline, "the fit does not get on"
        time.sleep(0.002)
    time.sleep(rng.uniform(0, within_s))
    if process.poll() is None:
        process.send_signal(signal.SIGKILL)
    _, errors = process.communicate()
    assert process.returncode in (0, -signal.SIGKILL), errors.decode()
    return process.returncode != 0


def _survives(folder: Path, n_kills: int, within_s: float, seed: int) -> None:
    rng = random.Random(seed)
    killed = 0
    while killed < n_kills and _kill_once(folder, rng, within_s):
        killed += 1
    assert killed == n_kills, f"only {killed} kills before the fit was done"
    final = _start(folder)
    _, errors = final.communicate(timeout=120)
    assert final.returncode == 0, errors.decode()
    whole = killed_fit.fit(None)
    assert outcome(fh.load(folder, device="cpu")) == outcome(whole)
    assert not list(folder.rglob(".*.part"))


def test_three_kills_change_nothing(tmp_path: Path) -> None:
    _survives(tmp_path / "run", n_kills=3, within_s=0.3, seed=0)


@pytest.mark.slow
def test_ten_kills_change_nothing(tmp_path: Path) -> None:
    _survives(tmp_path / "run", n_kills=10, within_s=0.15, seed=1)
