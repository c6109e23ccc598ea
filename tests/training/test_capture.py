"""Running steps eagerly, compiled or captured: the way changes the speed and nothing else."""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from fewhot import HSVAE, MATVAE, VAE, VSC, BetaTCVAE, RunFolder
from fewhot.core.errors import InvalidParameterError
from fewhot.core.seeding import stream
from fewhot.training import Settings, capture
from fewhot.training.capture import Runner
from fewhot.training.step import TrainStep
from tests.training.fits import Killed
from tests.training.toys import dataset, model, same, weights


def gpu(test: Any) -> Any:
    """Mark a test that needs a CUDA device."""
    return pytest.mark.gpu(pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")(test))


def _runner(compile: str | bool, max_steps: int = 10) -> Runner:
    step = TrainStep(model(), Settings(max_steps=max_steps), stream(0, "noise"))
    return Runner(step, dataset(), compile)


# ------------------------------------------------------------------------------------------------- on a CPU


@pytest.mark.parametrize("compile", ["auto", "graph", False])
@pytest.mark.parametrize("max_steps", [10, 1_000_000])
def test_on_a_cpu_steps_run_eagerly_and_in_silence(
    compile: str | bool, max_steps: int, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("something was compiled")

    monkeypatch.setattr(torch, "compile", refuse)
    runner = _runner(compile, max_steps)
    assert not runner.capturing
    assert runner.why_eager is None
    before = weights(runner.step.model)
    runner(torch.arange(10), 0)
    assert int(runner.step.step) == 1
    assert not same(before, weights(runner.step.model))
    assert not caplog.records


@pytest.mark.parametrize("choice", ["yes", None, 1, 0])
def test_an_unknown_choice_is_refused(choice: Any) -> None:
    with pytest.raises(InvalidParameterError, match="compile"):
        _runner(choice)


def fail(*_: Any) -> None:
    raise RuntimeError("no graph today\nand a long trace")


def hooked() -> Iterator[None]:
    """Hold what gradients need, as checkpointing does, until let go."""
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: None, fail):
        yield


def fail_while_held(index: torch.Tensor) -> None:
    held = hooked()  # lives as long as the traceback of the error, as in torch.utils.checkpoint before torch 2.13
    next(held)
    fail(index)


@pytest.mark.parametrize("replay", [fail, fail_while_held])
def test_when_capturing_fails_steps_go_on_eagerly_with_one_line(
    replay: Callable[[torch.Tensor], None], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Broken:
        def __init__(self, *_: Any) -> None: ...

        def __call__(self, index: torch.Tensor) -> None:
            replay(index)

    monkeypatch.setattr(capture, "_Graph", Broken)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda device: None)
    eager, runner = _runner(False), _runner("auto")
    runner.capturing = True  # as on a CUDA device
    with caplog.at_level(logging.WARNING, logger="fewhot"):
        for start in (0, 10, 20):
            for each in (eager, runner):
                each(torch.arange(start, start + 10), 0)
    assert [record.getMessage() for record in caplog.records] == [
        "Steps run eagerly: capturing them as a graph failed (no graph today)."
    ]
    assert runner.why_eager == "no graph today"
    assert same(weights(eager.step.model), weights(runner.step.model))


def test_each_batch_shape_has_its_graph_and_their_number_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    replayed: list[int] = []

    class Counted:
        def __init__(self, step: Any, index: torch.Tensor, *_: Any) -> None:
            self.step, self.n = step, len(index)

        def __call__(self, index: torch.Tensor) -> None:
            replayed.append(self.n)
            self.step(index)

    monkeypatch.setattr(capture, "_Graph", Counted)
    monkeypatch.setattr(capture, "MOST_GRAPHS", 2)
    runner = _runner("auto")
    runner.capturing = True
    for n in (10, 8, 10, 6, 8):
        runner(torch.arange(n), 0)
    assert replayed == [10, 8, 10, 8]  # the third shape runs eagerly
    assert int(runner.step.step) == 5


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch")  # the compiler's own
@pytest.mark.parametrize("cls", [VAE, VSC])
def test_compiled_steps_equal_eager_ones_on_a_cpu(cls: type) -> None:
    X = _rows(sparse=False)[:200]
    arguments: dict[str, Any] = {"n_components": 8, "hidden_layer_sizes": (16,), "max_steps": 60, "random_state": 0}
    eager, compiled = (cls(**arguments, device="cpu", compile=choice).fit(X) for choice in (False, True))
    assert compiled.score(X) == pytest.approx(eager.score(X), rel=1e-3)


# ------------------------------------------------------------------------------------------------- on a GPU


def _rows(sparse: bool) -> Any:
    rng = np.random.default_rng(0)
    present = rng.random((2000, 12)) < 0.2
    columns = rng.random((12, 40)) < 0.2
    dense = (present.astype(int) @ columns.astype(int) > 0).astype(np.float32)
    return sp.csr_array(dense) if sparse else dense


def _fit(cls: type, X: Any, compile: str | bool, **changes: Any) -> Any:
    arguments: dict[str, Any] = {
        "n_components": 16,
        "hidden_layer_sizes": (64,),
        "max_steps": 200,
        "batch_size": 100,
        "precision": "float32",
        "n_iter_no_change": None,
        "random_state": 0,
        "device": "cuda",
        "compile": compile,
    }
    return cls(**(arguments | changes)).fit(X)


def _assert_close(a: Any, b: Any) -> None:
    """Compare two fits that may differ by the order in which a GPU adds numbers up."""
    assert [record["step"] for record in a.history_] == [record["step"] for record in b.history_]
    for left, right in zip(a.history_, b.history_, strict=True):
        assert left["terms"]["bound"] == pytest.approx(right["terms"]["bound"], rel=1e-2)
        assert left["evaluation"]["bound"] == pytest.approx(right["evaluation"]["bound"], rel=1e-2)
    for name, value in a.module_.state_dict().items():
        torch.testing.assert_close(value, b.module_.state_dict()[name], rtol=0.05, atol=0.02, msg=name)


@gpu
@pytest.mark.parametrize("cls", [VAE, VSC])
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
def test_captured_steps_equal_eager_ones(cls: type, sparse: bool, caplog: pytest.LogCaptureFixture) -> None:
    X = _rows(sparse)
    with caplog.at_level(logging.WARNING, logger="fewhot"):
        captured, eager = _fit(cls, X, "graph"), _fit(cls, X, False)
    assert not caplog.records
    _assert_close(captured, eager)


FORMS: dict[str, tuple[type, dict[str, Any]]] = {
    "independent": (VSC, {"prior": "fixed"}),
    "pseudo-inputs": (VSC, {"prior": "pseudo-inputs", "n_pseudo_inputs": 5, "pretrain_spikes": 0.2}),
    "dense-start": (VSC, {"l0": 2, "dense_start": 0.5, "decoder_sees_gates": True}),
    "published": (VSC, {"recipe": "iclr2019"}),
    "collapsed": (HSVAE, {}),
    "hierarchical": (HSVAE, {"recipe": "prokhorov2021", "slab_sees_gamma": True}),
    "total-correlation": (BetaTCVAE, {}),
    "discrepancy": (MATVAE, {}),
    "amsgrad": (MATVAE, {"recipe": "mathieu2019", "encoder": "mlp"}),
    "convolutions": (VSC, {"encoder": "conv", "hidden_layer_sizes": (4, 8)}),
}


@gpu
@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_captured(form: str, caplog: pytest.LogCaptureFixture) -> None:
    cls, changes = FORMS[form]
    X = np.hstack([_rows(sparse=False), _rows(sparse=False)[:, :24]])  # 64 columns: pictures for convolutions
    with caplog.at_level(logging.WARNING, logger="fewhot"):
        captured, eager = (_fit(cls, X, choice, max_steps=60, **changes) for choice in ("graph", False))
    assert not caplog.records
    _assert_close(captured, eager)


@gpu
def test_steps_are_really_captured(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = 0
    call = TrainStep.__call__

    def counted(self: TrainStep, batch: Any, stage: int = 0) -> None:
        nonlocal calls
        calls += 1
        call(self, batch, stage)

    monkeypatch.setattr(TrainStep, "__call__", counted)
    assert _fit(VSC, _rows(sparse=False), "auto").n_iter_ == 200
    assert calls == capture.WARM_UPS + 1  # the ordinary steps, and the one that is recorded


def _texts(n: int) -> list[str]:
    rng = np.random.default_rng(0)
    words = np.array([f"w{i}" for i in range(50)])
    return [" ".join(words[rng.integers(50, size=rng.integers(1, 41))]) for _ in range(n)]


@gpu
def test_graphs_of_many_shapes_equal_eager_steps_in_any_order() -> None:
    captured, eager = (_fit(VAE, _texts(600), choice, batch_size=32, encoder="gru") for choice in ("graph", False))
    _assert_close(captured, eager)


@gpu
def test_graphs_of_many_shapes_share_their_memory() -> None:
    step = TrainStep(model().to("cuda"), Settings(max_steps=100), stream(0, "noise", device=torch.device("cuda")))
    runner = Runner(step, dataset().to(torch.device("cuda")), "graph")
    reserved: list[int] = []
    for n_rows in (40, 38, 36, 34, 32):
        for _ in range(capture.WARM_UPS + 2):
            runner(torch.arange(n_rows, device="cuda"), 0)
        reserved.append(
            sum(block["total_size"] for block in torch.cuda.memory_snapshot() if any(block["segment_pool_id"]))
        )
    assert len(runner._graphs) == len(reserved)
    assert reserved[-1] == reserved[0] > 0


@gpu
def test_a_failed_capture_on_a_gpu_logs_one_line_and_changes_nothing(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    eager = _fit(VSC, _rows(sparse=False), False)

    def fail(self: Any) -> None:
        raise RuntimeError("no graph today")

    monkeypatch.setattr(capture._Graph, "_capture", fail)
    with caplog.at_level(logging.WARNING, logger="fewhot"):
        fallen_back = _fit(VSC, _rows(sparse=False), "auto")
    assert len(caplog.records) == 1
    assert "no graph today" in caplog.records[0].getMessage()
    _assert_close(fallen_back, eager)


def _while_capturing(monkeypatch: pytest.MonkeyPatch, happens: Callable[[], object]) -> None:
    """Let something happen in the middle of every capture."""
    call = TrainStep.__call__

    def interrupted(self: TrainStep, batch: Any, stage: int = 0) -> None:
        call(self, batch, stage)
        if torch.cuda.is_current_stream_capturing():
            happens()
            self.step += 0  # goes on recording

    monkeypatch.setattr(TrainStep, "__call__", interrupted)


@gpu
@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch")  # the compiler's own
@pytest.mark.parametrize("compile", ["graph", True])
def test_a_capture_spoilt_half_way_logs_one_line_and_changes_nothing(
    compile: str | bool, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    eager = _fit(VSC, _rows(sparse=False), False)
    _while_capturing(monkeypatch, torch.cuda.synchronize)
    with caplog.at_level(logging.WARNING, logger="fewhot"):
        fallen_back = _fit(VSC, _rows(sparse=False), compile)
    assert [record.getMessage()[:50] for record in caplog.records] == [
        "Steps run eagerly: capturing them as a graph faile"
    ]
    _assert_close(fallen_back, eager)


@gpu
def test_a_later_capture_that_fails_logs_one_line_and_changes_nothing(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    eager = _fit(VAE, _texts(600), False, batch_size=32, encoder="gru")
    n_captured = 0

    def run_out() -> None:
        nonlocal n_captured
        n_captured += 1
        if n_captured == 4:
            raise torch.cuda.OutOfMemoryError("no room for one more")

    _while_capturing(monkeypatch, run_out)
    with caplog.at_level(logging.WARNING, logger="fewhot"):
        fallen_back = _fit(VAE, _texts(600), "graph", batch_size=32, encoder="gru")
    assert [record.getMessage()[-22:] for record in caplog.records] == ["no room for one more)."]
    _assert_close(fallen_back, eager)


@gpu
def test_no_garbage_is_collected_during_a_capture(monkeypatch: pytest.MonkeyPatch) -> None:
    collects: list[bool] = []
    _while_capturing(monkeypatch, lambda: collects.append(gc.isenabled()))
    _fit(VSC, _rows(sparse=False), "graph", max_steps=20)
    assert collects == [False]
    assert gc.isenabled()


@gpu
@pytest.mark.parametrize("compile", ["graph", False])
@pytest.mark.parametrize("cls", [VAE, VSC])
def test_a_run_on_a_gpu_goes_on(cls: type, compile: str | bool, tmp_path: Path) -> None:
    def kill(record: dict[str, Any]) -> None:
        if record["step"] >= 120:
            raise Killed

    whole = _fit(cls, _rows(sparse=False), compile)
    run = RunFolder(tmp_path, checkpoint_steps=30)
    with pytest.raises(Killed):
        _fit(cls, _rows(sparse=False), compile, callbacks=[run, kill])
    resumed = _fit(cls, _rows(sparse=False), compile, callbacks=[run])
    assert resumed.n_iter_ == 200
    _assert_close(resumed, whole)


@gpu
def test_a_model_fitted_on_a_gpu_is_read_without_one(tmp_path: Path) -> None:
    import pickle

    import fewhot as fh

    X = _rows(sparse=False)
    estimator = _fit(VSC, _rows(sparse=False), "auto")
    estimator.save(tmp_path / "run")
    for twin in (fh.load(tmp_path / "run", device="cpu"), pickle.loads(pickle.dumps(estimator))):
        assert next(twin.module_.parameters()).device.type == "cpu"
        np.testing.assert_allclose(twin.score_samples(X), estimator.score_samples(X), rtol=1e-3)
