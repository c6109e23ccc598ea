"""The loop: separate random streams, evaluation that only looks, divergence, callbacks, early stopping."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from fewhot.core.errors import DivergedError
from fewhot.core.seeding import stream
from fewhot.training import Callback, RunFolder
from fewhot.training import trainer as trainer_module
from fewhot.training.stopping import BestWeights
from tests.training.toys import PoisonedLoss, dataset, model, same, trainer, weights

KINDS = pytest.mark.parametrize("kind", ["vae", "vsc"])


# ------------------------------------------------------------------------------------------------- random streams


@KINDS
@pytest.mark.parametrize("dropout", [False, True])
def test_evaluating_more_often_never_changes_the_weights(kind: str, dropout: bool) -> None:
    results = []
    for every in (1, 7, 1000):
        of = model(kind, dropout)
        trainer(of, 20, evaluate_every=every).fit(dataset(), None)
        results.append(weights(of))
    assert same(results[0], results[1])
    assert same(results[0], results[2])


def test_each_purpose_has_its_own_stream() -> None:
    purposes = ("noise", "order", "dropout", "evaluation", "initialisation", "validation", "score", "refinement")
    draws = [tuple(torch.rand(4, generator=stream(0, name)).tolist()) for name in purposes]
    assert len(set(draws)) == len(purposes)


def test_dropout_does_not_disturb_the_noise_or_the_order() -> None:
    trainers = []
    for dropout in (False, True):
        train = trainer(model(dropout=dropout), 12)
        rows: list[list[int]] = []
        batch = (data := dataset()).batch
        data.batch = lambda index, width=0, batch=batch, rows=rows: rows.append(index.tolist()) or batch(index, width)
        train.fit(data, None)
        trainers.append((train.step.noise.get_state(), rows))
    assert torch.equal(trainers[0][0], trainers[1][0])
    assert trainers[0][1][:12] == trainers[1][1][:12]


def test_the_global_seed_is_neither_read_nor_moved() -> None:
    results = []
    for seed in (0, 1):
        of = model(dropout=True)
        torch.manual_seed(seed)
        before = torch.get_rng_state()
        trainer(of, 12).fit(dataset(), None)
        assert torch.equal(torch.get_rng_state(), before)
        results.append(weights(of))
    assert same(*results)


@pytest.mark.parametrize("same_seed", [True, False])
def test_the_seed_decides_noise_and_order(same_seed: bool) -> None:
    results = []
    for seed in (3, 3 if same_seed else 4):
        of = model()
        trainer(of, 12, seed=seed).fit(dataset(), None)
        results.append(weights(of))
    assert same(*results) == same_seed


def test_every_row_is_visited_once_an_epoch() -> None:
    seen: list[int] = []
    data = dataset()
    batch = data.batch
    data.batch = lambda index, width=0: seen.extend(index.tolist()) or batch(index, width)
    trainer(model(), 8, evaluate_every=1000).fit(data, dataset(seed=1))
    assert sorted(seen[:40]) == sorted(seen[40:]) == list(range(40))
    assert seen[:40] != seen[40:]


# ------------------------------------------------------------------------------------------------- divergence


@KINDS
def test_divergence_names_the_term_the_step_and_the_remedy(kind: str) -> None:
    of = model(kind)
    of.inference = PoisonedLoss(at=7)
    train = trainer(of, 30, learning_rate=3e-3)
    with pytest.raises(DivergedError) as error:
        train.fit(dataset(), None)
    message = str(error.value)
    assert "step 7" in message
    assert "reconstruction" in message
    assert "lower learning_rate (now 0.003)" in message
    assert "\n" not in message


@KINDS
def test_divergence_leaves_the_last_good_weights(kind: str) -> None:
    good, bad = model(kind), model(kind)
    trainer(good, 7).fit(dataset(), None)
    bad.inference = PoisonedLoss(at=7)
    with pytest.raises(DivergedError):
        trainer(bad, 30).fit(dataset(), None)
    assert same(weights(good), weights(bad))


def test_divergence_is_noticed_at_the_next_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trainer_module, "_LOOK_EVERY_SECONDS", -1.0)
    of = model()
    of.inference = PoisonedLoss(at=7)
    train = trainer(of, 30, evaluate_every=1000)
    with pytest.raises(DivergedError):
        train.fit(dataset(), None)
    assert train.done == 8


def test_divergence_keeps_the_last_good_checkpoint(tmp_path: Path) -> None:
    of = model("vsc")
    of.inference = PoisonedLoss(at=7)
    run = RunFolder(tmp_path, checkpoint_steps=3)
    with pytest.raises(DivergedError, match="the checkpoint of step 6 is intact"):
        trainer(of, 30, run=run, evaluate_every=1000).fit(dataset(), None, {"data": "x"})
    assert [path.name for path in sorted((tmp_path / "checkpoints").glob("step-*"))] == [
        "step-000000003",
        "step-000000006",
    ]

    good, resumed = model("vsc"), model("vsc")
    trainer(good, 30).fit(dataset(), None)
    trainer(resumed, 30, run=RunFolder(tmp_path)).fit(dataset(), None, {"data": "x"})
    assert same(weights(good), weights(resumed))


# ------------------------------------------------------------------------------------------------- history, callbacks


def test_history_is_written_as_it_happens(tmp_path: Path) -> None:
    lines: list[int] = []

    class Look(Callback):
        def on_evaluation(self, record: dict[str, Any]) -> None:
            lines.append(len((tmp_path / "history.jsonl").read_text().splitlines()))

    train = trainer(model(), 15, run=RunFolder(tmp_path), callbacks=[Look()])
    records = train.fit(dataset(), None)
    assert lines == [1, 2, 3]
    assert [json.loads(line) for line in (tmp_path / "history.jsonl").read_text().splitlines()] == records


def test_the_last_step_is_always_evaluated() -> None:
    records = trainer(model(), 12).fit(dataset(), None)
    assert [record["step"] for record in records] == [5, 10, 12]
    assert [record["epoch"] for record in records] == [1.25, 2.5, 3.0]


@pytest.mark.parametrize("stage", ["on_start", "on_evaluation", "on_end"])
def test_a_failing_callback_does_not_keep_the_folder_locked(stage: str, tmp_path: Path) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("on purpose")

    callback = Callback()
    setattr(callback, stage, fail)
    with pytest.raises(RuntimeError, match="on purpose"):
        trainer(model(), 10, run=RunFolder(tmp_path), callbacks=[callback]).fit(dataset(), None)
    trainer(model(), 10, run=RunFolder(tmp_path)).fit(dataset(), None)


def test_training_ends_in_evaluation_mode() -> None:
    of = model(dropout=True)
    modes: list[bool] = []
    trainer(of, 10, callbacks=[_watching(lambda record: modes.append(of.training))]).fit(dataset(), None)
    assert modes == [True, True]
    assert not of.training


def _watching(function: Any) -> Callback:
    callback = Callback()
    callback.on_evaluation = function  # type: ignore[method-assign]
    return callback


# ------------------------------------------------------------------------------------------------- early stopping


def _bounds(monkeypatch: pytest.MonkeyPatch, bounds: list[float]) -> None:
    scripted = iter(bounds)
    monkeypatch.setattr(trainer_module.Evaluator, "__call__", lambda self: {"bound": next(scripted)})


def test_a_run_stops_after_so_many_evaluations_without_a_better_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    _bounds(monkeypatch, [-9.0, -5.0, -6.0, -4.0, -5.0, -4.0, -4.5, -1.0])
    of, kept = model(), []
    train = trainer(of, 100, patience=3, callbacks=[_watching(lambda record: kept.append(weights(of)))])
    train.fit(dataset(), dataset(seed=1))
    assert train.done == 35  # the fourth evaluation was the best, three more brought nothing
    assert same(weights(of), kept[3])


def test_a_small_loss_before_schedules_have_settled_does_not_stop_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    _bounds(monkeypatch, [-8.0, -9.0, -9.0, -9.0, -7.0, -7.5, -7.5, -1.0])
    of, kept = model(), []
    train = trainer(of, 100, patience=2, settled_at=20, callbacks=[_watching(lambda r: kept.append(weights(of)))])
    train.fit(dataset(), dataset(seed=1))
    assert train.done == 35  # the fifth evaluation was the best, two more brought nothing
    assert same(weights(of), kept[4])


def test_overfitting_stops_a_run_before_schedules_have_settled(monkeypatch: pytest.MonkeyPatch) -> None:
    _bounds(monkeypatch, [-8.0, -3.0, -4.0, -5.5, -7.0, -1.0])
    of, kept = model(), []
    train = trainer(of, 100, patience=2, settled_at=90, callbacks=[_watching(lambda r: kept.append(weights(of)))])
    train.fit(dataset(), dataset(seed=1))
    assert train.done == 25  # the fourth and fifth evaluation were 2 nats or more below the second
    assert same(weights(of), kept[1])


def test_weights_that_break_a_constraint_are_kept_only_while_there_are_no_others() -> None:
    of, best = model(), BestWeights(patience=3, settled_at=20)
    seen = []
    for step, value, admissible in [(5, -1.0, False), (20, -4.0, False), (25, -9.0, True), (30, -2.0, False)]:
        with torch.no_grad():
            next(of.parameters()).fill_(float(step))
        best.should_stop(step, value, of, admissible=admissible)
        seen.append(float(next(iter(best.weights.values())).max()) if best.weights else None)
    assert seen == [None, 20.0, 25.0, 25.0]


def test_weights_are_chosen_by_the_objective_where_it_is_not_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bound that falls while the objective rises is no reason to stop."""
    scripted = iter([{"bound": -1.0 - i, "objective": min(i, 6) - 9.0} for i in range(20)])
    monkeypatch.setattr(trainer_module.Evaluator, "__call__", lambda self: next(scripted))
    of, kept = model(), []
    train = trainer(of, 100, patience=2, callbacks=[_watching(lambda r: kept.append(weights(of)))])
    train.fit(dataset(), dataset(seed=1))
    assert train.done == 45
    assert same(weights(of), kept[6])


def test_without_patience_the_last_weights_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    _bounds(monkeypatch, [-1.0, -2.0, -3.0])
    of, kept = model(), []
    train = trainer(of, 15, callbacks=[_watching(lambda r: kept.append(weights(of)))])
    train.fit(dataset(), dataset(seed=1))
    assert train.done == 15
    assert same(weights(of), kept[-1])


def test_a_bound_that_is_not_a_number_is_never_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    _bounds(monkeypatch, [-5.0, float("nan"), float("nan")])
    of, kept = model(), []
    train = trainer(of, 100, patience=2, callbacks=[_watching(lambda r: kept.append(weights(of)))])
    train.fit(dataset(), dataset(seed=1))
    assert train.done == 15
    assert same(weights(of), kept[0])


def test_divergence_before_the_first_checkpoint_claims_none(tmp_path: Path) -> None:
    of = model("vsc")
    of.inference = PoisonedLoss(at=2)
    with pytest.raises(DivergedError, match="no checkpoint was written yet"):
        trainer(of, 30, run=RunFolder(tmp_path, checkpoint_steps=20), evaluate_every=1000).fit(dataset(), None, {})
