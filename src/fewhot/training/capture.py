"""Running a step: eagerly, or compiled and replayed as a CUDA graph, one graph a batch shape."""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from fewhot.core.checks import one_of
from fewhot.data import Dataset
from fewhot.training.step import TrainStep

log = logging.getLogger("fewhot")

CHOICES = ("auto", True, False, "graph")
WARM_UPS = 3
MOST_GRAPHS = 16
COMPILE_FROM_STEPS = 10_000
"""With ``compile="auto"``, shorter runs are captured without compiling: that would take longer than it saves."""


class Runner:
    """Feeds batches of a data set to a step.

    On CUDA the first batches of a shape are ordinary steps on a side stream; then the step is captured once and
    replayed. Capturing executes nothing, so a captured run takes exactly the steps an eager run takes. Whatever goes
    wrong on the way leads back to eager steps and one line in the log.
    """

    def __init__(self, step: TrainStep, data: Dataset, compile: str | bool) -> None:
        one_of("compile", compile, CHOICES)
        self.step = step
        self.data = data
        self.capturing = compile is not False and step.device.type == "cuda" and data.resident
        self.why_eager = self._why_not(compile)
        self._graphs: dict[tuple[int, int, int], _Graph] = {}
        self._room = _Room(step.device)
        is_long = step.settings.max_steps >= COMPILE_FROM_STEPS and step.model.compiles
        wants_compile = compile is True or (compile == "auto" and is_long)
        self._compiled = (self.capturing and wants_compile) or (compile is True and step.device.type == "cpu")
        if self._compiled:
            step.compile(fullgraph=self.capturing)

    def __call__(self, index: Tensor, width: int, stage: int = 0) -> None:
        """Take one step of a stage on the rows at ``index``."""
        shape = (stage, len(index), width)
        if not self.capturing or (shape not in self._graphs and len(self._graphs) >= MOST_GRAPHS):
            self.step(self.data.batch(index, width), stage)
            return
        if shape not in self._graphs:
            self._graphs[shape] = _Graph(self._step_at(width, stage), index, self.step.noise, self._room)
        try:
            self._graphs[shape](index)
            return
        except Exception as error:  # whatever torch raises, eager steps still work
            self._fall_back(error)
        # outside the block, so that the error is gone with all its frames hold: memory, hooks on the graph of gradients
        self.step(self.data.batch(index, width), stage)

    def _step_at(self, width: int, stage: int) -> Callable[[Tensor], None]:
        return lambda index: self.step(self.data.batch(index, width), stage)

    def _fall_back(self, error: Exception) -> None:
        self.capturing = False
        torch.cuda.synchronize(self.step.device)
        self._graphs.clear()
        if self._compiled:
            self.step.forget_compiled()
        self.why_eager = _first_sentence(error)
        log.warning("Steps run eagerly: capturing them as a graph failed (%s).", self.why_eager)

    def _why_not(self, compile: str | bool) -> str | None:
        if self.capturing or compile is False or self.step.device.type != "cuda":
            return None
        reason = "the rows do not fit on the device and are read from the host"
        log.warning("Steps run eagerly: %s.", reason)
        return reason


class _Room:
    """Where all graphs of a run are captured: one stream, and memory that they share.

    Each keeps nothing in that memory from one replay to the next, and only one is replayed at a time, so that a
    shape needs no more of it where larger ones came before.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device

    @cached_property
    def stream(self) -> torch.cuda.Stream:
        return torch.cuda.Stream(self._device)

    @cached_property
    def pool(self) -> Any:
        return torch.cuda.graph_pool_handle()


class _Graph:
    """One step on one shape: warmed up by real steps, captured, replayed."""

    def __init__(self, step: Callable[[Tensor], None], index: Tensor, generator: torch.Generator, room: _Room) -> None:
        self._step = step
        self._index = index.clone()
        self._generator = generator
        self._room = room
        self._taken = 0
        self._graph: torch.cuda.CUDAGraph | None = None

    def __call__(self, index: Tensor) -> None:
        self._index.copy_(index)
        if self._graph is not None:
            self._graph.replay()
            return
        untouched = self._generator.clone_state()
        try:
            if self._taken < WARM_UPS:
                self._warm_up()
            else:
                self._graph = self._capture()
                self._graph.replay()
        except Exception:
            self._generator.graphsafe_set_state(untouched)  # the step will be taken again, with the same numbers
            raise

    def _warm_up(self) -> None:
        side = self._room.stream
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            self._step(self._index)
        torch.cuda.current_stream().wait_stream(side)
        self._taken += 1

    def _capture(self) -> torch.cuda.CUDAGraph:
        graph = torch.cuda.CUDAGraph()
        graph.register_generator_state(self._generator)
        with _no_garbage_collected(), torch.cuda.graph(graph, self._room.pool, self._room.stream):
            self._step(self._index)
        return graph


def _first_sentence(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    return " ".join(lines[:2]) if lines[0].endswith(":") else lines[0]


@contextmanager
def _no_garbage_collected() -> Iterator[None]:
    """Keep Python from freeing device objects of earlier fits now: what that calls may spoil a capture under way."""
    gc.collect()
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
