"""The loop around the step: order, evaluation, early stopping, checkpoints, progress."""

from __future__ import annotations

import logging
import time
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from fewhot.core.errors import DivergedError, RunFolderError
from fewhot.core.evaluations import watched
from fewhot.core.memory import is_of_memory
from fewhot.core.seeding import derive_seed, seeded, stream
from fewhot.data import Dataset, Order
from fewhot.models.latent_model import LatentModel
from fewhot.training import history
from fewhot.training.callbacks import Callback, Record
from fewhot.training.capture import Runner
from fewhot.training.evaluation import MOST_ROWS, Evaluator
from fewhot.training.interrupts import Interrupts
from fewhot.training.progress import ProgressView
from fewhot.training.run_folder import RunFolder, State
from fewhot.training.settings import Settings
from fewhot.training.step import TrainStep
from fewhot.training.stopping import BestWeights

log = logging.getLogger("fewhot")

_LOOK_EVERY_SECONDS = 0.5


class Trainer:
    """Fits a model to a data set.

    The trainer knows phases, not models. It reads the device at evaluations, at checkpoints and about twice a second.

    Parameters
    ----------
    model
        The model, on the device of the data.
    settings
        Steps, batch size, rates, seed.
    run
        Where to keep history and checkpoints; None keeps nothing on disk.
    callbacks
        Told of the start, of every evaluation and of the end.
    show_progress
        Whether to draw a bar.
    state
        What `state_to_go_on` of an earlier trainer of this model returned, to go on from there.
    start
        The step to count from when there is a trained model but no such state.
    records
        The history to go on with in that case.
    """

    def __init__(
        self,
        model: LatentModel,
        settings: Settings,
        *,
        run: RunFolder | None = None,
        callbacks: Iterable[Callback] = (),
        show_progress: bool = False,
        state: State | None = None,
        start: int = 0,
        records: Iterable[Record] = (),
    ) -> None:
        self.model = model
        self.settings = settings
        self.run = run
        self.callbacks = list(callbacks)
        self.show_progress = show_progress
        self.records: list[Record] = list(records)
        self.done = start
        self.order_start = start
        self.stopped = False
        self.best = BestWeights(settings.patience, settings.settled_at)
        device = next(model.parameters()).device
        self.step = TrainStep(model, settings, stream(settings.seed, "noise", device=device))
        self.step.step.fill_(start)
        self._whole = True  # False while a step has been taken whose measurements are not yet in the records
        self._dropout_states: dict[str, torch.Tensor] = {}
        if state is not None:
            self.load(state)
            self.order_start, self.stopped, self._dropout_states = self.done, False, {}
            self.best = BestWeights(settings.patience, settings.settled_at)  # bounds on other rows do not compare

    def fit(self, train: Dataset, held_out: Dataset | None, fingerprint: dict[str, Any] | None = None) -> list[Record]:
        """Train until the steps are spent or a rule says stop; return the history."""
        with Interrupts() as interrupts:  # from here on, so that no interrupt leaves a folder half made
            if self.run is not None:
                self._open(self.run, fingerprint or {})
            self._train(train, held_out, interrupts)
        self.best.restore(self.model)
        return self.records

    def _open(self, run: RunFolder, fingerprint: dict[str, Any]) -> None:
        state = run.open(fingerprint)
        if state is None:
            return
        try:
            self.load(state)
            history.write(run.history, self.records)
        except BaseException as error:
            run.close()
            if isinstance(error, RuntimeError | KeyError) and not is_of_memory(error):
                raise RunFolderError(
                    f"The checkpoints of {run.path} are of another version of this model; choose another folder."
                ) from error
            raise

    def _train(self, train: Dataset, held_out: Dataset | None, interrupts: Interrupts) -> None:
        with self._global_draws():
            self.model.train()
            try:
                for callback in self.callbacks:
                    callback.on_start(self.settings.max_steps)
                self._loop(train, held_out, interrupts)
            except KeyboardInterrupt:
                self._save_after_interrupt()
                raise
            finally:
                self.model.eval()
                self.model.zero_grad(set_to_none=True)
                if self.run is not None:
                    self.run.close()
                for callback in self.callbacks:
                    callback.on_end(self.records[-1] if self.records else None)

    @contextmanager
    def _global_draws(self) -> Generator[None, None, None]:
        """Let a user's module draw from torch's global generators as if they were this run's own."""
        if not self.model.draws_globally:
            yield
            return
        with seeded(self.settings.seed, "dropout", self.order_start):
            for name, state in self._dropout_states.items():
                torch.set_rng_state(state) if name == "cpu" else torch.cuda.set_rng_state(state, self.step.device)
            yield

    def _loop(self, train: Dataset, held_out: Dataset | None, interrupts: Interrupts) -> None:
        settings = self.settings
        order = train.order(settings.batch_size, derive_seed(settings.seed, self.order_start))
        evaluator = Evaluator(self.model, rows_to_watch(held_out or train, settings.seed), settings.seed)
        runner = Runner(self.step, train, settings.compile)
        view = ProgressView(settings.max_steps, self.done) if self.show_progress else None
        looked = time.monotonic()
        try:
            while self.done < settings.max_steps and not self.stopped:
                rows, index = order(self.done - self.order_start)
                evaluating = (self.done + 1) % settings.evaluate_every == 0 or self.done + 1 == settings.max_steps
                self._whole = False
                runner(index, train.width(rows), self.model.inference.stage(self.done))
                self.done += 1
                self.step.keep_quick(self.done)
                self._whole = not evaluating
                now = time.monotonic()
                if now - looked > _LOOK_EVERY_SECONDS:
                    looked = now
                    self._check_finite()
                    if view:
                        view.update(self.done)
                if evaluating:
                    record = self._evaluate(evaluator, order, "held-out" if held_out else "training rows")
                    if view:
                        view.update(self.done, record)
                if self.run is not None and (self.run.due(self.done) or self._finished):
                    self._check_finite()
                    self.run.write(self.done, self.state())
                if interrupts.asked:
                    raise KeyboardInterrupt
        finally:
            if view:
                view.close()

    @property
    def _finished(self) -> bool:
        return self.stopped or self.done >= self.settings.max_steps

    def _evaluate(self, evaluator: Evaluator, order: Order, rows: str) -> Record:
        self._check_finite()
        evaluation = evaluator()
        self._check_end(evaluation)
        terms: dict[str, float] = {}
        for meter in self.step.meters:
            terms |= meter.read()
            meter.reset()
        epoch = round((self.done - self.order_start) * order.batch_size / order.n_rows, 4)
        record: Record = {
            "step": self.done,
            "epoch": epoch,
            "rows": rows,
            "terms": terms,
            "evaluation": evaluation,
            "admissible": self.done >= self.model.comparable_from and self.model.objective.admits(evaluation),
        }
        self.records.append(record)
        if self.run is not None:
            history.append(self.run.history, record)
        value, admissible = watched(evaluation), record["admissible"]
        self.stopped = self.best.should_stop(self.done, value, self.model, admissible=admissible)
        self._whole = True
        for callback in self.callbacks:
            self.stopped = bool(callback.on_evaluation(record)) or self.stopped
        return record

    def _check_finite(self) -> None:
        if not bool(self.step.halt.raised):
            return
        step = int(self.step.halt.at)
        term = next(name for meter in self.step.meters if (name := meter.first_bad()) is not None)
        raise self._diverged(step, term)

    def _check_end(self, evaluation: dict[str, float]) -> None:
        """Refuse to end with weights of no use: those of the last step, which no further step has looked at."""
        last = self.done >= self.settings.max_steps and not self.best.weights
        if last and not np.isfinite(watched(evaluation)):
            raise self._diverged(self.done, "bound")

    def _diverged(self, step: int, term: str) -> DivergedError:
        kept = "" if self.run is None else f"; {self.run.last_kept()}"
        return DivergedError(
            f"Training stopped at step {step} because the {term} was not finite; lower learning_rate (now "
            f"{self.settings.learning_rate:g}) or rescale the columns of X{kept}."
        )

    def _save_after_interrupt(self) -> None:
        if self.run is None or bool(self.step.halt.raised) or not self._whole:
            return  # nowhere to write, or interrupted a second time in the middle of a step: the last checkpoint stands
        self.run.write(self.done, self.state())
        log.warning("Interrupted after step %d, which is kept in %s.", self.done, self.run.path)

    def state(self) -> State:
        """Return everything a resumed run needs: tensors and JSON-able facts."""
        tensors = {f"model/{name}": value for name, value in self.model.state_dict().items()}
        tensors |= {f"step/{name}": value for name, value in self.step.state().items()}
        tensors |= {f"best/{name}": value for name, value in self.best.weights.items()}
        if self.model.draws_globally:
            tensors["dropout/cpu"] = torch.get_rng_state()
            if self.step.device.type == "cuda":
                tensors["dropout/cuda"] = torch.cuda.get_rng_state(self.step.device)
        meta = {
            "done": self.done,
            "order_start": self.order_start,
            "stopped": self.stopped,
            "best": self.best.best if self.best.weights else None,
            "stale": self.best.stale,
            "admissible": self.best.admissible,
            "meters": [meter.names for meter in self.step.meters],
            "records": self.records,
        }
        return {name: value.detach().clone() for name, value in tensors.items()}, meta

    def state_to_go_on(self) -> State:
        """Return what a later trainer of the same model needs: optimisers and counters, without any weights."""
        tensors, meta = self.state()
        kept = {name: value for name, value in tensors.items() if not name.startswith(("model/", "best/"))}
        return kept, {**meta, "best": None}

    def load(self, state: State) -> None:
        """Take back what `state` or `state_to_go_on` returned."""
        tensors, meta = state
        device = self.step.device
        weights = _under("model/", tensors)
        if weights:
            self.model.load_state_dict(weights)
        self.step.load(_under("step/", tensors), meta["meters"])
        self.best.weights = {name: value.to(device) for name, value in _under("best/", tensors).items()}
        self.best.best = float("-inf") if meta["best"] is None else meta["best"]
        self.best.stale = meta["stale"]
        self.best.admissible = meta["admissible"]
        self.done, self.order_start, self.stopped = meta["done"], meta["order_start"], meta["stopped"]
        self.records = list(meta["records"])
        self._dropout_states = _under("dropout/", tensors)


def _under(prefix: str, tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}


def rows_to_watch(data: Dataset, seed: int) -> Dataset:
    """Return the rows of each evaluation: all of them, or some that the seed decides."""
    if data.n_rows <= MOST_ROWS:
        return data
    rows = np.random.default_rng(seed).choice(data.n_rows, MOST_ROWS, replace=False)
    return data.subset(np.sort(rows))
