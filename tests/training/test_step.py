"""One step: phases in order, exact updates, bounded gradients, and nothing moved by a value that is not finite."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from fewhot.core.records import Batch, Dense
from fewhot.core.schedules import Linear
from fewhot.core.seeding import stream
from fewhot.training import Settings
from fewhot.training.step import TrainStep
from tests.training.toys import (
    PoisonedLoss,
    Straight,
    TwoPhases,
    dataset,
    grey_rows,
    model,
    same,
    take,
    trainer,
    weights,
)


def _under(prefix: str, tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {name: value for name, value in tensors.items() if name.startswith(prefix)}


def test_phases_run_in_order_and_the_second_sees_the_firsts_update() -> None:
    of = model()
    of.inference = procedure = TwoPhases()
    take(of, 3)
    assert [name for name, _ in procedure.seen] == ["decoder", "encoder"] * 3
    for t in range(3):
        at_first, at_second = procedure.seen[2 * t][1], procedure.seen[2 * t + 1][1]
        after = procedure.seen[2 * t + 2][1] if t < 2 else weights(of)
        assert not same(_under("decoder", at_first), _under("decoder", at_second))
        assert same(_under("encoder", at_first), _under("encoder", at_second))
        assert same(_under("decoder", at_second), _under("decoder", after))
        assert not same(_under("encoder", at_second), _under("encoder", after))


def test_a_phase_has_its_own_relative_rate() -> None:
    of = model()
    of.inference = TwoPhases(rates=(1.0, 0.0))
    before = weights(of)
    take(of, 3)
    after = weights(of)
    assert same(_under("encoder", before), _under("encoder", after))
    assert not same(_under("decoder", before), _under("decoder", after))


def test_two_phases_report_their_terms_under_their_names() -> None:
    of = model()
    of.inference = TwoPhases()
    records = trainer(of, 5).fit(dataset(), None)
    assert {"decoder/bound", "encoder/bound", "decoder/gradient", "encoder/gradient"} <= set(records[0]["terms"])


@pytest.mark.parametrize("kind", ["vae", "vsc"])
def test_updates_equal_plain_adam_on_the_same_losses(kind: str) -> None:
    fused, plain = model(kind), model(kind)
    take(fused, 8, learning_rate=1e-2, clip_factor=1e9)

    batch, noise = Batch(Dense(torch.from_numpy(grey_rows(10)))), stream(0, "noise")
    adam = torch.optim.Adam(plain.parameters(), lr=1e-2, foreach=False, fused=False)
    for t in range(8):
        knobs = plain.knobs(torch.tensor(t))
        terms = plain.terms(plain.run(plain.psi(batch), batch, knobs, plain.noise(10, noise)), knobs)
        adam.zero_grad()
        terms.loss.backward()
        adam.step()
        with torch.no_grad():
            plain.objective.update({name: value.detach() for name, value in terms.signals.items()}, torch.tensor(t))
    for name, value in fused.state_dict().items():
        torch.testing.assert_close(value, plain.state_dict()[name], rtol=1e-4, atol=1e-6, msg=name)


def test_parameters_laid_out_in_another_order_get_their_own_gradients() -> None:
    of = Straight(lambda t: 1.0)
    start = torch.arange(12.0).reshape(3, 4)
    of.w = torch.nn.Parameter(start.clone().T)  # not contiguous
    slope = torch.tensor([[1.0], [2.0], [-3.0], [0.0]])
    of.w.register_hook(lambda gradient: gradient * slope)
    take(of, 1, learning_rate=0.5)
    torch.testing.assert_close(of.w.detach(), start.T - 0.5 * slope.sign())


def test_the_learning_rate_follows_its_schedule() -> None:
    of = model()
    of.schedules["learning_rate"] = Linear(0.0, 1.0, n_steps=4)
    step = take(of, 3, learning_rate=0.02)
    assert step.rates[0].item() == pytest.approx(0.02 * 2 / 4)  # the rate of the last step, step 2


def _first_moment(step: TrainStep) -> float:
    return float(step.optimisers[0].first[0][0])


@pytest.mark.parametrize(("spike", "counted"), [(3.0, 3.0), (1000.0, 5.0)], ids=["moderate", "huge"])
def test_a_gradient_counts_at_most_five_times_its_usual_size(spike: float, counted: float) -> None:
    usual = _first_moment(take(Straight(lambda t: 1.0), 200))
    step = take(Straight(lambda t: spike if t == 200 else 1.0), 201)
    assert _first_moment(step) == pytest.approx(0.9 * usual + 0.1 * counted, rel=1e-4)


def test_the_clip_factor_is_a_setting() -> None:
    step = take(Straight(lambda t: 1000.0 if t == 200 else 1.0), 201, clip_factor=2.0)
    usual = _first_moment(take(Straight(lambda t: 1.0), 200))
    assert _first_moment(step) == pytest.approx(0.9 * usual + 0.1 * 2.0, rel=1e-4)


def test_a_gradient_of_zero_is_no_accident() -> None:
    step = take(of := Straight(lambda t: 0.0 if t < 100 else 1.0), 160)
    assert torch.isfinite(of.w).all()
    assert not bool(step.halt.raised)
    assert (of.w < -0.01).all()  # sixty steps later it has moved


@pytest.mark.parametrize("start", [0, 500])
def test_a_step_that_starts_late_still_moves_the_weights(start: int) -> None:
    of = model()
    before = weights(of)
    late = trainer(of, start + 60, start=start)
    late.fit(dataset(), None)
    assert (weights(of)["decoder.output.weight"] - before["decoder.output.weight"]).abs().max() > 1e-2


@pytest.mark.parametrize("kind", ["vae", "vsc"])
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_and_controllers_stay_at_the_last_good_values(kind: str, value: float) -> None:
    good = model(kind)
    take(good, 5)
    bad = model(kind)
    bad.inference = PoisonedLoss(at=5, value=value)
    step = take(bad, 9)
    assert bool(step.halt.raised)
    assert int(step.halt.at) == 5
    assert same(weights(bad), weights(good))
    assert all(torch.isfinite(tensor).all() for tensor in weights(bad).values())


def test_a_gradient_that_is_not_finite_stops_the_step_too() -> None:
    of = Straight(lambda t: 1.0)
    step = take(of, 2)
    before = of.w.detach().clone()
    of.w.register_hook(lambda gradient: gradient * float("inf"))
    step(Batch(Dense(torch.zeros(2, 2))))
    assert step.meters[0].first_bad() == "gradient"
    assert bool(step.halt.raised)
    assert torch.equal(of.w, before)


def test_the_reduction_hook_sees_every_phases_gradients() -> None:
    of, seen = Straight(lambda t: 2.0), []

    def halve(gradients: list[torch.Tensor]) -> None:
        seen.append([gradient.clone() for gradient in gradients])
        for gradient in gradients:
            gradient.mul_(0.5)

    step = TrainStep(of, Settings(max_steps=1), stream(0, "noise"), reduce_gradients=halve)  # type: ignore[arg-type]
    step(Batch(Dense(torch.zeros(2, 2))))
    assert seen[0][0].tolist() == [2.0] * 4
    assert _first_moment(step) == pytest.approx(0.1)


def test_state_taken_and_loaded_repeats_the_next_steps() -> None:
    batch = Batch(Dense(torch.from_numpy(grey_rows(10))))
    first = model("vsc")
    step = take(first, 7)
    state: dict[str, Any] = {name: value.clone() for name, value in step.state().items()}
    second = model("vsc")
    second.load_state_dict(weights(first))
    other = TrainStep(second, Settings(max_steps=20), stream(99, "noise"))
    other.load(state, [meter.names for meter in step.meters])
    for _ in range(5):
        step(batch)
        other(batch)
    assert same(weights(first), weights(second))
    assert [meter.read() for meter in step.meters] == [meter.read() for meter in other.meters]
