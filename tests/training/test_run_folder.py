"""Run folders: one fit at a time, one run a folder, and checkpoints that survive what happens to disks."""

from __future__ import annotations

import errno
import json
import logging
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import fewhot as fh
from fewhot import VAE, VSC, RunFolder
from fewhot.core.errors import FewhotError, InvalidParameterError, NotEnoughMemoryError, RunFolderError
from fewhot.core.registry import USER_PARTS
from fewhot.likelihoods import GaussianLikelihood
from fewhot.training import run_folder
from tests.training.fits import STEPS, Killed, fitted, killed_at, outcome, resume, rows, whole


def _contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file() and p.name != ".lock"}


def _checkpoints(folder: Path) -> list[int]:
    return [int(path.name.removeprefix("step-")) for path in sorted((folder / "checkpoints").glob("step-*"))]


# ------------------------------------------------------------------------------------------------- a whole run


def test_a_finished_run_is_a_saved_estimator(tmp_path: Path) -> None:
    estimator = fitted(tmp_path)
    back = fh.load(tmp_path, device="cpu")
    assert outcome(back) == outcome(estimator)
    assert {path.name for path in tmp_path.iterdir()} == {
        ".lock", "checkpoints", "config.json", "history.jsonl", "model.safetensors", "references.safetensors"
    }  # fmt: skip


def test_a_run_folder_does_not_change_the_fit(tmp_path: Path) -> None:
    assert outcome(fitted(tmp_path)) == whole()


def test_a_finished_run_fits_again_at_once_with_the_same_result(tmp_path: Path) -> None:
    first = fitted(tmp_path)
    seen: list[int] = []
    again = fitted(tmp_path, callbacks=[lambda record: seen.append(record["step"])])
    assert not seen  # no step is taken
    assert outcome(again) == outcome(first)
    assert again.n_iter_ == first.n_iter_


def test_a_run_that_stopped_early_stays_stopped(tmp_path: Path) -> None:
    change: dict[str, Any] = {"cls": VAE, "n_iter_no_change": 1, "max_steps": 2000, "learning_rate": 0.05}
    first = fitted(tmp_path, **change)
    assert first.n_iter_ < 2000
    assert outcome(fitted(tmp_path, **change)) == outcome(first)


def test_two_checkpoints_are_kept_and_no_pieces(tmp_path: Path) -> None:
    fitted(tmp_path, checkpoint_steps=20)
    assert _checkpoints(tmp_path) == [STEPS - 10, STEPS]
    assert not list(tmp_path.rglob("*.part"))


def test_seconds_bring_a_checkpoint_too(tmp_path: Path) -> None:
    seen: list[list[int]] = []
    fitted(
        tmp_path,
        checkpoint_steps=None,
        checkpoint_seconds=0.0,
        callbacks=[lambda record: seen.append(_checkpoints(tmp_path))],
    )
    assert len(seen[-1]) == 2


@pytest.mark.parametrize("seconds", [None, float("inf")])
def test_without_steps_and_seconds_only_the_end_is_kept(seconds: float | None, tmp_path: Path) -> None:
    fitted(tmp_path, checkpoint_steps=None, checkpoint_seconds=seconds)
    assert _checkpoints(tmp_path) == [STEPS]


# ------------------------------------------------------------------------------------------------- refusals


def test_a_second_fit_in_a_folder_in_use_is_refused(tmp_path: Path) -> None:
    refusals: list[BaseException] = []

    def second(record: dict[str, Any]) -> bool:
        with pytest.raises(RunFolderError, match="in use") as error:
            fitted(tmp_path)
        refusals.append(error.value)
        return False

    first = fitted(tmp_path, callbacks=[second])
    assert len(refusals) == len(first.history_)
    assert outcome(first) == whole()


def test_one_run_folder_object_serves_one_fit_at_a_time(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    run.open({})
    try:
        with pytest.raises(RunFolderError, match="in use"):
            run.open({})
    finally:
        run.close()
    run.open({})
    run.close()


def test_a_folder_in_use_by_another_process_is_refused(tmp_path: Path) -> None:
    script = (
        "import fcntl, sys, time\n"
        "lock = open(sys.argv[1], 'w')\n"
        "fcntl.flock(lock, fcntl.LOCK_EX)\n"
        "print('locked', flush=True)\n"
        "time.sleep(60)\n"
    )
    holder = subprocess.Popen([sys.executable, "-c", script, str(tmp_path / ".lock")], stdout=subprocess.PIPE)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"locked\n"
        with pytest.raises(RunFolderError, match="in use"):
            fitted(tmp_path)
    finally:
        holder.kill()
        holder.communicate()
    fitted(tmp_path)


OTHER: dict[str, dict[str, Any]] = {
    "rows": {"X": rows(seed=5)},
    "fewer-rows": {"X": rows()[:-1]},
    "estimator": {"cls": VAE},
    "learning-rate": {"learning_rate": 2e-3},
    "components": {"n_components": 7},
    "numpy-components": {"n_components": np.int64(7)},
    "layers": {"hidden_layer_sizes": np.array([9])},
    "seed": {"random_state": 1},
    "numpy-seed": {"random_state": np.int64(1)},
    "generator": {"random_state": np.random.default_rng(1)},
    "likelihood": {"likelihood": GaussianLikelihood(6)},
    "held-out-rows": {"X_val": rows(seed=6)},
}


@pytest.mark.parametrize("other", OTHER)
def test_another_run_in_the_same_folder_is_refused(other: str, tmp_path: Path) -> None:
    first = fitted(tmp_path)
    before = _contents(tmp_path)
    with pytest.raises(RunFolderError, match="holds another run") as error:
        fitted(tmp_path, **OTHER[other])
    assert "\n" not in str(error.value)
    assert _contents(tmp_path) == before
    assert outcome(fitted(tmp_path)) == outcome(first)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"random_state": 1}, "seed"),
        ({"validation_fraction": 0.3}, "validation_fraction"),
        ({"n_iter_no_change": None}, "n_iter_no_change"),
        ({"random_state": 1, "learning_rate": 2e-3}, "learning_rate, seed"),
        ({"X": rows(seed=5)}, "data"),
        ({"random_state": 1, "X": rows(seed=5)}, "seed, data"),
        ({"random_state": 1, "X_val": rows(seed=6)}, "seed, data"),
    ],
    ids=str,
)
def test_only_what_was_changed_is_named(change: dict[str, Any], told: str, tmp_path: Path) -> None:
    fitted(tmp_path, n_iter_no_change=50)
    with pytest.raises(RunFolderError, match=rf"holds another run \(changed: {told}\); a folder holds one run"):
        fitted(tmp_path, **({"n_iter_no_change": 50} | change))


def test_a_run_that_does_not_tell_its_rows_goes_on(tmp_path: Path) -> None:
    first = fitted(tmp_path, n_iter_no_change=50)
    file = tmp_path / "checkpoints" / "run.json"
    known = json.loads(file.read_text())
    del known["given"]
    file.write_text(json.dumps(known))
    assert outcome(fitted(tmp_path, n_iter_no_change=50)) == outcome(first)
    with pytest.raises(RunFolderError, match=r"\(changed: seed, data\)"):
        fitted(tmp_path, n_iter_no_change=50, random_state=1)


def test_configured_parts_are_compared_by_their_arguments(tmp_path: Path) -> None:
    fitted(tmp_path, likelihood=GaussianLikelihood(6, floor=0.1))
    fitted(tmp_path, likelihood=GaussianLikelihood(6, floor=0.1))
    with pytest.raises(RunFolderError, match="changed: likelihood"):
        fitted(tmp_path, likelihood=GaussianLikelihood(6, floor=0.2))


def test_how_a_run_is_watched_is_no_part_of_it(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    first = fitted(tmp_path)
    again = fitted(tmp_path, verbose=1, compile=False, callbacks=[lambda record: None])
    assert outcome(again) == outcome(first)


def test_resume_false_refuses_a_folder_with_a_run(tmp_path: Path) -> None:
    fitted(tmp_path, resume=False)
    before = _contents(tmp_path)
    with pytest.raises(RunFolderError, match="already holds a run"):
        fitted(tmp_path, resume=False)
    assert _contents(tmp_path) == before
    fitted(tmp_path)  # the lock was given back


@pytest.mark.parametrize(
    "change",
    [
        {"checkpoint_steps": 0},
        {"checkpoint_steps": 2.5},
        {"checkpoint_seconds": -1.0},
        {"resume": True},
        {"compile": "yes"},
    ],
    ids=str,
)
def test_bad_arguments_are_refused_before_the_folder_is_made(change: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(InvalidParameterError):
        fitted(tmp_path / "run", **change)
    assert not (tmp_path / "run").exists()


def test_two_run_folders_in_one_fit_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FewhotError, match="more than one RunFolder"):
        fitted(tmp_path / "a", callbacks=[RunFolder(tmp_path / "b")])


@pytest.mark.parametrize(
    ("problem", "raised", "told"),
    [
        (
            RuntimeError("Missing key(s) in state_dict"),
            RunFolderError,
            "another version of this model; choose another folder",
        ),
        (torch.OutOfMemoryError("CUDA out of memory"), NotEnoughMemoryError, "Memory does not suffice"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), NotEnoughMemoryError, "Memory does not suffice"),
    ],
)
def test_a_checkpoint_that_cannot_be_taken_back_is_told_and_leaves_the_folder_free(
    problem: Exception, raised: type[Exception], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed_at(tmp_path, 30)
    kept = _contents(tmp_path)

    def fails(*_: Any, **__: Any) -> None:
        raise problem

    with monkeypatch.context() as patched:
        patched.setattr("fewhot.models.LatentModel.load_state_dict", fails)
        for _ in range(2):
            with pytest.raises(raised, match=told):
                resume(tmp_path)
    assert _contents(tmp_path) == kept


def test_a_file_in_the_folders_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("mine")
    with pytest.raises(RunFolderError, match="cannot be used"):
        fitted(tmp_path / "run")
    assert (tmp_path / "run").read_text() == "mine"


# ------------------------------------------------------------------------------------------------- disks


def _truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


DAMAGE: dict[str, Callable[[Path], None]] = {
    "half-the-tensors": lambda folder: _truncate(folder / "state.safetensors"),
    "no-tensors": lambda folder: (folder / "state.safetensors").unlink(),
    "half-the-facts": lambda folder: _truncate(folder / "state.json"),
    "no-facts": lambda folder: (folder / "state.json").unlink(),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_newest_checkpoint_falls_back_to_the_one_before(
    damage: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    killed_at(tmp_path, 60, checkpoint_steps=20)
    assert _checkpoints(tmp_path) == [40, 60]
    DAMAGE[damage](tmp_path / "checkpoints" / "step-000000060")
    with caplog.at_level(logging.WARNING, logger="fewhot"):
        resumed = resume(tmp_path, checkpoint_steps=20)
    assert sum("damaged" in record.getMessage() for record in caplog.records) == 1
    assert outcome(resumed) == whole()
    assert outcome(resume(tmp_path)) == outcome(resumed)


def test_a_checkpoint_is_written_again_in_the_place_of_a_damaged_one(tmp_path: Path) -> None:
    killed_at(tmp_path, 60, checkpoint_steps=20)
    DAMAGE["half-the-tensors"](tmp_path / "checkpoints" / "step-000000060")
    killed_at(tmp_path, 60, checkpoint_steps=20)
    assert _checkpoints(tmp_path) == [40, 60]
    seen: list[int] = []
    resume(tmp_path, callbacks=[lambda record: seen.append(record["step"])])
    assert min(seen) > 60


def test_nothing_readable_is_a_sentence(tmp_path: Path) -> None:
    killed_at(tmp_path, 60)
    for folder in (tmp_path / "checkpoints").glob("step-*"):
        DAMAGE["half-the-facts"](folder)
    with pytest.raises(RunFolderError, match="No checkpoint"):
        resume(tmp_path)


def test_checkpoints_without_their_run_are_refused(tmp_path: Path) -> None:
    killed_at(tmp_path, 60)
    (tmp_path / "checkpoints" / "run.json").write_text("{")
    with pytest.raises(RunFolderError, match="choose another folder"):
        resume(tmp_path)


def test_a_full_disk_leaves_the_previous_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written, save_file = 0, run_folder.save_file

    def full(tensors: Any, path: Path) -> None:
        nonlocal written
        written += 1
        if written < 3:
            save_file(tensors, path)
            return
        Path(path).write_bytes(b"half a file")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(run_folder, "save_file", full)
    with pytest.raises(RunFolderError, match="No space left") as error:
        fitted(tmp_path, checkpoint_steps=20)
    assert "step 60" in str(error.value)
    assert "step 40 is intact" in str(error.value)
    assert "\n" not in str(error.value)
    assert _checkpoints(tmp_path) == [20, 40]
    assert not list(tmp_path.rglob("*.part"))
    monkeypatch.undo()
    assert outcome(resume(tmp_path)) == whole()


def test_pieces_left_by_a_killed_process_are_swept_away(tmp_path: Path) -> None:
    killed_at(tmp_path, 60)
    (tmp_path / "checkpoints" / ".step-000000070.x.part").mkdir()
    (tmp_path / "checkpoints" / ".step-000000070.x.part" / "state.json").write_text("{")
    (tmp_path / ".model.safetensors.x.part").write_text("half")
    resume(tmp_path)
    assert not list(tmp_path.rglob(".*.part"))


def test_a_run_killed_before_its_first_checkpoint_begins_again(tmp_path: Path) -> None:
    killed_at(tmp_path, 30, checkpoint_steps=None, checkpoint_seconds=None)
    assert not _checkpoints(tmp_path)
    resumed = resume(tmp_path)
    assert outcome(resumed) == whole()
    lines = [json.loads(line)["step"] for line in (tmp_path / "history.jsonl").read_text().splitlines()]
    assert lines == [record["step"] for record in resumed.history_]


# ------------------------------------------------------------------------------------------------- unusual runs


def test_a_run_without_a_random_state_resumes_with_the_seed_it_had(tmp_path: Path) -> None:
    killed_at(tmp_path, 60, random_state=None, n_iter_no_change=5)
    resumed = resume(tmp_path, random_state=None, n_iter_no_change=5)
    assert outcome(resumed) == outcome(fitted(None, random_state=resumed.seed_, n_iter_no_change=5))


def test_a_run_folder_survives_pickling_while_open(tmp_path: Path) -> None:
    run = RunFolder(tmp_path, checkpoint_steps=7)
    run.open({})
    try:
        twin = pickle.loads(pickle.dumps(run))
    finally:
        run.close()
    assert (twin.path, twin.checkpoint_steps) == (tmp_path, 7)


class Dropping(nn.Module):
    """A user's encoder with dropout."""

    def __init__(self, share: float = 0.3) -> None:
        super().__init__()
        self.share = share
        self.layers = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Dropout(share))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


def test_dropout_in_a_users_encoder_resumes_exactly(tmp_path: Path) -> None:
    fh.register_part("dropping")(Dropping)
    try:
        torch.manual_seed(0)
        encoder = Dropping()
        expected = outcome(fitted(None, encoder=encoder))
        assert expected != outcome(fitted(None, encoder=nn.Sequential(*encoder.layers[:2])))
        killed_at(tmp_path, 60, encoder=encoder)
        assert outcome(resume(tmp_path, encoder=encoder)) == expected
    finally:
        USER_PARTS.remove("dropping")


def test_another_architecture_of_a_users_encoder_is_another_run(tmp_path: Path) -> None:
    fh.register_part("dropping")(Dropping)
    try:
        killed_at(tmp_path, 60, encoder=Dropping(0.3))
        with pytest.raises(RunFolderError, match="changed: encoder"):
            resume(tmp_path, encoder=Dropping(0.4))
    finally:
        USER_PARTS.remove("dropping")


def test_a_saved_estimator_is_not_written_over_by_a_run(tmp_path: Path) -> None:
    fitted(None).save(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(RunFolderError, match="holds a saved estimator; choose another folder"):
        fitted(tmp_path, random_state=1)
    assert before.items() <= {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}.items()


def test_a_run_with_checkpoints_is_not_written_over_by_a_save(tmp_path: Path) -> None:
    killed_at(tmp_path, 60)
    with pytest.raises(RunFolderError, match="holds the checkpoints of another run; choose another folder"):
        fitted(None, random_state=1).save(tmp_path)
    assert not (tmp_path / "config.json").exists()
    assert outcome(resume(tmp_path)) == outcome(fitted(None))


def test_a_finished_run_is_not_written_over_by_another_estimator(tmp_path: Path) -> None:
    fitted(tmp_path).save(tmp_path)  # its own estimator may
    with pytest.raises(RunFolderError, match="holds the checkpoints of another run"):
        fitted(None, n_components=4).save(tmp_path)
    assert fh.load(tmp_path).n_components == 5


@pytest.mark.parametrize("path", [None, 5, "", " ", "a\0b"])
def test_a_path_that_is_none_is_refused(path: Any) -> None:
    with pytest.raises(FewhotError, match=r"^path is .*; it must be the path of a folder"):
        VSC(4, l0=1, max_steps=2, callbacks=[RunFolder(path)]).fit(rows())


def test_a_path_that_is_too_long_is_refused() -> None:
    with pytest.raises(RunFolderError, match="cannot be used as a run folder"):
        fitted(Path("x" * 300))


def test_a_checkpoint_without_its_facts_counts_as_damaged(tmp_path: Path) -> None:
    killed_at(tmp_path, 60)
    newest = max((tmp_path / "checkpoints").glob("step-*"))
    (newest / "state.json").write_text("{}")
    assert outcome(resume(tmp_path)) == outcome(fitted(None))


def test_a_killed_fit_leaves_no_lock(tmp_path: Path) -> None:
    with pytest.raises(Killed):
        fitted(tmp_path, checkpoint_steps=None, callbacks=[_kill])
    run = RunFolder(tmp_path, resume=False)
    run.open({"data": "x"})
    run.close()


def _kill(record: dict[str, Any]) -> None:
    raise Killed
