"""A fit that was interrupted anywhere and goes on ends bit for bit where an uninterrupted one ends."""

from __future__ import annotations

import json
import logging
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fewhot import HSVAE, MATVAE, VAE, VSC
from fewhot.training import RunFolder
from fewhot.training import trainer as trainer_module
from fewhot.training.capture import Runner
from fewhot.training.evaluation import Evaluator
from fewhot.training.step import TrainStep
from tests.training.fits import STEPS, Killed, fitted, killed_at, outcome, pictures, resume, rows, whole

VARIANTS: dict[str, dict[str, Any]] = {
    "vsc": {},
    "vsc-sparse": {"X": rows(sparse=True)},
    "vsc-stopping": {"n_iter_no_change": 3, "max_steps": 200},
    "vsc-dense-start": {"l0": 2, "dense_start": 0.5, "decoder_sees_gates": True},
    "vae": {"cls": VAE},
    "hsvae-seeing-gamma": {"cls": HSVAE, "slab_sees_gamma": True, "l0": 2},
    "vae-stopping": {"cls": VAE, "n_iter_no_change": 2, "learning_rate": 0.02},
    "convolutions": {"encoder": "conv", "X": pictures()},
    "amsgrad": {"cls": MATVAE, "recipe": "mathieu2019", "X": pictures()},
    "binarised": {"observation": "stochastic-binarise"},
    "bf16": {"precision": "bf16"},
    "pseudo-inputs": {"prior": "pseudo-inputs", "n_pseudo_inputs": 4, "trained_bound": "paper", "pretrain_spikes": 0.4},
}


def _steps_on_disk(path: Path) -> list[int]:
    return [json.loads(line)["step"] for line in (path / "history.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_killed_run_goes_on_exactly(variant: str, tmp_path: Path) -> None:
    change = VARIANTS[variant]
    expected = fitted(None, **change)
    killed_at(tmp_path, min(60, expected.n_iter_ - 15), **change, checkpoint_steps=7)
    assert outcome(resume(tmp_path, **change, checkpoint_steps=7)) == outcome(expected)
    assert _steps_on_disk(tmp_path) == [record["step"] for record in expected.history_]


@pytest.mark.parametrize("step", [5, 33, 71, 72, 73, 88])
def test_the_moment_of_the_kill_does_not_matter(step: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    call = TrainStep.__call__

    def kill(self: TrainStep, batch: Any, stage: int = 0) -> None:
        if int(self.step) == step:
            raise Killed
        call(self, batch, stage)

    with monkeypatch.context() as patch:
        patch.setattr(TrainStep, "__call__", kill)
        with pytest.raises(Killed):
            fitted(tmp_path, checkpoint_steps=4)
    assert outcome(resume(tmp_path, checkpoint_steps=4)) == whole()


def test_several_kills_in_one_run(tmp_path: Path) -> None:
    for step in (20, 20, 55, 71):
        killed_at(tmp_path, step)
    assert outcome(resume(tmp_path)) == whole()


def test_history_beyond_the_checkpoint_is_cut_back(tmp_path: Path) -> None:
    killed_at(tmp_path, 60, checkpoint_steps=50)
    assert max(_steps_on_disk(tmp_path)) > 60
    seen: list[list[int]] = []
    resume(tmp_path, checkpoint_steps=50, callbacks=[lambda record: seen.append(_steps_on_disk(tmp_path))])
    assert seen[0] == list(range(5, 60, 5))
    assert seen[-1] == list(range(5, STEPS + 1, 5))


# ------------------------------------------------------------------------------------------------- Ctrl-C


def _interrupt_at(step: int) -> Any:
    def interrupt(record: dict[str, Any]) -> None:
        if record["step"] == step:
            raise KeyboardInterrupt

    return interrupt


@pytest.mark.parametrize("step", [5, 70, 75, 90])
def test_ctrl_c_writes_a_checkpoint_and_goes_on_exactly(
    step: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, logger="fewhot"), pytest.raises(KeyboardInterrupt):
        fitted(tmp_path, checkpoint_steps=None, callbacks=[_interrupt_at(step)])
    assert (tmp_path / "checkpoints" / f"step-{step:09d}").is_dir()
    (told,) = (record.getMessage() for record in caplog.records)
    assert f"after step {step}, which is kept in {tmp_path}" in told
    assert outcome(resume(tmp_path)) == whole()


@pytest.fixture
def plain_ctrl_c() -> Iterator[None]:
    """Have Python's own handler of Ctrl-C, whatever runs the tests."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def _ctrl_c_within_step(patch: pytest.MonkeyPatch, step: int, times: int) -> None:
    take = Runner.__call__

    def interrupted(runner: Runner, *arguments: Any) -> None:
        if int(runner.step.step) + 1 == step:
            for _ in range(times):
                signal.raise_signal(signal.SIGINT)
        take(runner, *arguments)

    patch.setattr(Runner, "__call__", interrupted)


@pytest.mark.usefixtures("plain_ctrl_c")
@pytest.mark.parametrize("step", [1, 60, 62])
def test_ctrl_c_within_a_step_finishes_and_keeps_it(step: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        _ctrl_c_within_step(patch, step, times=1)
        with pytest.raises(KeyboardInterrupt):
            fitted(tmp_path, checkpoint_steps=None)
    assert [path.name for path in (tmp_path / "checkpoints").glob("step-*")] == [f"step-{step:09d}"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert outcome(resume(tmp_path)) == whole()


@pytest.mark.usefixtures("plain_ctrl_c")
def test_a_second_ctrl_c_ends_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        _ctrl_c_within_step(patch, 62, times=2)
        with pytest.raises(KeyboardInterrupt):
            fitted(tmp_path, checkpoint_steps=50)
    assert [path.name for path in (tmp_path / "checkpoints").glob("step-*")] == ["step-000000050"]
    assert outcome(resume(tmp_path, checkpoint_steps=50)) == whole()


def test_ctrl_c_without_a_folder_is_only_raised(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(KeyboardInterrupt):
        fitted(None, callbacks=[_interrupt_at(60)])
    assert not caplog.records


@pytest.mark.parametrize(
    "where", ["before-step", "after-step", "evaluation", "after-evaluation", "bookkeeping", "checkpoint"]
)
@pytest.mark.parametrize("step", [60, 62])
def test_ctrl_c_at_an_awkward_moment_loses_nothing(
    where: str, step: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The signal may arrive anywhere; where a step is not in the books, the last checkpoint stands."""
    with monkeypatch.context() as patch:
        _interrupting(patch, where, step)
        with pytest.raises(KeyboardInterrupt):
            fitted(tmp_path, checkpoint_steps=15)
    assert outcome(resume(tmp_path)) == whole()
    assert _steps_on_disk(tmp_path) == list(range(5, STEPS + 1, 5))


def _interrupting(patch: pytest.MonkeyPatch, where: str, step: int) -> None:
    """Raise KeyboardInterrupt once, at ``where`` around step ``step``."""
    owner, name, before = {
        "before-step": (TrainStep, "__call__", True),
        "after-step": (TrainStep, "__call__", False),
        "evaluation": (Evaluator, "__call__", True),
        "after-evaluation": (Evaluator, "__call__", False),
        "bookkeeping": (trainer_module.BestWeights, "should_stop", True),
        "checkpoint": (RunFolder, "write", False),
    }[where]
    original, state = getattr(owner, name), {"steps": 0, "raised": False}
    count = TrainStep.__call__

    def counted(self: TrainStep, batch: Any, stage: int = 0) -> None:
        count(self, batch)
        state["steps"] += 1

    def raising(self: Any, *arguments: Any, **named: Any) -> Any:
        due = not state["raised"] and state["steps"] >= step
        if due and before:
            state["raised"] = True
            raise KeyboardInterrupt
        result = (counted if owner is TrainStep else original)(self, *arguments, **named)
        if not state["raised"] and state["steps"] >= step:
            state["raised"] = True
            raise KeyboardInterrupt
        return result

    if owner is not TrainStep:
        patch.setattr(TrainStep, "__call__", counted)
    patch.setattr(owner, name, raising)


# ------------------------------------------------------------------------------------------------- warm starts


@pytest.mark.parametrize("cls", [VAE, VSC])
def test_a_warm_start_in_a_folder_of_its_own_resumes_exactly(cls: type, tmp_path: Path) -> None:
    def first() -> Any:
        return fitted(None, cls=cls, warm_start=True)

    expected = first().set_params(callbacks=None).fit(rows())
    run = RunFolder(tmp_path, checkpoint_steps=10)
    interrupted = first().set_params(callbacks=[run, _interrupt_at(130)])
    with pytest.raises(KeyboardInterrupt):
        interrupted.fit(rows())
    resumed = first().set_params(callbacks=[run]).fit(rows())
    assert resumed.n_iter_ == 2 * STEPS
    assert outcome(resumed) == outcome(expected)
