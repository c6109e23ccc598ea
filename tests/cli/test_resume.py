"""A fit that is stopped goes on to the same end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fewhot import RunFolder

from .commands import SMALL, done, invoke, refused

ENOUGH = ["--max-steps", "700"]


def _stop_midway(folder: Path) -> tuple[int, str]:
    """Fit in a process of its own, press Ctrl-C after a few evaluations, and return how it ended."""
    command = [sys.executable, "-m", "fewhot", "fit", "digits", *SMALL, *ENOUGH, "--quiet", "--out", str(folder)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=_environment())
    history, deadline = folder / "history.jsonl", time.monotonic() + 120
    while process.poll() is None and not (history.exists() and history.read_text().count("\n") >= 3):
        assert time.monotonic() < deadline, "the fit does not get on"
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert output == ""
    return process.returncode, errors


def _environment() -> dict[str, str]:
    import torch

    return os.environ | {"OMP_NUM_THREADS": str(torch.get_num_threads())}


def test_an_interrupted_fit_ends_like_one_that_was_left_alone(tmp_path: Path) -> None:
    code, errors = _stop_midway(tmp_path / "stopped")
    assert code == 130
    assert f"To go on: fewhot fit --resume {tmp_path / 'stopped'}" in errors
    assert "Traceback" not in errors
    assert not (tmp_path / "stopped" / "model.safetensors").exists()
    assert "Going on from step " in done("fit", "--resume", tmp_path / "stopped").stderr
    done("fit", "digits", *SMALL, *ENOUGH, "--quiet", "--out", tmp_path / "whole")
    for name in ("model.safetensors", "history.jsonl", "codes.npz", "metrics.json", "fit.yaml", "data.json"):
        assert (tmp_path / "stopped" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name


def _interrupt(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("where", ["fewhot.cli.config.model_named", "fewhot.cli.fitting.rows_for", "fewhot.VSC.fit"])
def test_a_fit_that_is_stopped_before_it_began_leaves_nothing(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(where, _interrupt)
    result = invoke("fit", "digits", *SMALL, "--out", tmp_path / "run")
    assert (result.exit_code, result.stdout) == (130, "")
    assert result.stderr == "Interrupted before the fit began; nothing was written.\n"
    assert not list(tmp_path.iterdir())


def test_a_fit_that_is_stopped_as_its_folder_is_made_can_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make = RunFolder._make_and_lock
    monkeypatch.setattr(RunFolder, "_make_and_lock", lambda *args: (make(*args), signal.raise_signal(signal.SIGINT)))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    result = invoke("fit", "digits", *SMALL, "--quiet", "--out", tmp_path / "run")
    signal.signal(signal.SIGINT, before)
    assert (result.exit_code, result.stderr) == (130, f"To go on: fewhot fit --resume {tmp_path / 'run'}\n")
    monkeypatch.undo()
    done("fit", "--resume", tmp_path / "run", "--quiet")


def test_a_finished_run_is_completed_without_fitting_again(own_run: Path) -> None:
    weights = (own_run / "model.safetensors").read_bytes()
    for name in ("metrics.json", "report.html", "codes.npz"):
        (own_run / name).unlink()
    told = done("fit", "--resume", own_run).stderr
    assert told.startswith(f"The fit in {own_run} is finished; no step is left to do.\nMeasuring")
    assert all((own_run / name).exists() for name in ("metrics.json", "report.html", "codes.npz"))
    assert (own_run / "model.safetensors").read_bytes() == weights


@pytest.mark.parametrize("words", [["--seed", "1"], ["digits"], ["--out", "elsewhere"], ["--set", "max_active=1"]])
def test_other_settings_are_refused(own_run: Path, words: list[str]) -> None:
    assert "--resume goes on with the settings in" in refused("fit", *words, "--resume", own_run)


def test_data_that_changed_are_refused(own_run: Path) -> None:
    record = json.loads((own_run / "data.json").read_text())
    (own_run / "data.json").write_text(json.dumps(record | {"digest": "0" * 64}))
    assert "digits has changed since the run was fitted on it" in refused("fit", "--resume", own_run)


def test_a_folder_without_a_begun_run_is_refused(tmp_path: Path) -> None:
    assert "has no fit.yaml" in refused("fit", "--resume", tmp_path)
