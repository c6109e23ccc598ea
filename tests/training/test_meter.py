"""Meters: means of what happened, and the name of what went wrong."""

from __future__ import annotations

import pytest
import torch

from fewhot.core.records import Terms
from fewhot.training.meter import Halt, Meter, scalars
from tests.training.toys import dataset, model, trainer

NAN = float("nan")


def _fed(rows: list[dict[str, float]], prefix: str = "") -> Meter:
    meter = Meter(Halt(torch.device("cpu")), prefix)
    for step, row in enumerate(rows):
        values = {name: torch.tensor(value) for name, value in row.items() if name != "gradient"}
        meter.name_terms(values)
        meter.add(values, torch.tensor(row["gradient"]), torch.tensor(step))
    return meter


def test_means_are_those_computed_by_hand() -> None:
    meter = _fed([{"loss": 1.0, "kl": 4.0, "gradient": 2.0}, {"loss": 2.0, "kl": 0.0, "gradient": 4.0}])
    assert meter.read() == {"loss": 1.5, "kl": 2.0, "gradient": 3.0}


def test_a_window_begins_anew_after_a_reset() -> None:
    meter = _fed([{"loss": 1.0, "gradient": 0.0}])
    meter.reset()
    assert meter.read() == {}
    meter.add({"loss": torch.tensor(7.0)}, torch.tensor(1.0), torch.tensor(1))
    assert meter.read() == {"loss": 7.0, "gradient": 1.0}


def test_a_prefix_names_the_phase() -> None:
    assert set(_fed([{"loss": 1.0, "gradient": 0.0}], prefix="theta/").read()) == {"theta/loss", "theta/gradient"}


@pytest.mark.parametrize(
    ("row", "name"),
    [
        ({"bound": NAN, "loss": NAN, "kl": 1.0, "reconstruction": NAN, "gradient": NAN}, "reconstruction"),
        ({"bound": 1.0, "loss": NAN, "kl": 1.0, "gradient": 1.0}, "loss"),
        ({"bound": 1.0, "loss": 1.0, "kl": 1.0, "gradient": float("inf")}, "gradient"),
    ],
)
def test_the_cause_is_named_before_the_sum_it_ended_up_in(row: dict[str, float], name: str) -> None:
    good = dict.fromkeys(row, 1.0)
    meter = _fed([good, row, good])
    assert bool(meter.halt.raised)
    assert int(meter.halt.at) == 1
    assert meter.first_bad() == name


def test_nothing_is_recorded_after_the_first_bad_value() -> None:
    meter = _fed([{"loss": 3.0, "gradient": 1.0}, {"loss": NAN, "gradient": 1.0}, {"loss": 100.0, "gradient": NAN}])
    assert meter.read() == {"loss": 3.0, "gradient": 1.0}
    assert meter.first_bad() == "loss"


def test_terms_are_reduced_to_batch_means() -> None:
    terms = Terms(
        torch.tensor([1.0, 3.0]), torch.tensor(5.0), {"kl": torch.tensor([0.0, 1.0])}, {"cost": torch.tensor(2.0)}
    )
    assert {name: float(value) for name, value in scalars(terms).items()} == {
        "bound": 2.0,
        "loss": 5.0,
        "kl": 0.5,
        "cost": 2.0,
    }


def test_terms_of_several_draws_and_of_none_are_reduced_side_by_side() -> None:
    drawn = torch.tensor([[1.0, 3.0], [5.0, 7.0], [0.0, 2.0]])
    per_example = {"kl": torch.tensor([0.0, 1.0]), "reconstruction": drawn}
    assert {name: float(value) for name, value in scalars(Terms(drawn, drawn.sum(), per_example)).items()} == {
        "bound": 3.0,
        "loss": 18.0,
        "kl": 0.5,
        "reconstruction": 3.0,
    }
    assert scalars(Terms(torch.tensor(4.0), torch.tensor(1.0)))["bound"] == 4.0


def test_the_trainers_records_hold_the_means_of_their_steps() -> None:
    of = model("vsc")
    train = trainer(of, 15)
    seen: list[dict[str, float]] = []
    loss = train.step.losses[0][0]

    def noted(*arguments: object) -> object:
        result = loss(*arguments)  # type: ignore[arg-type]
        seen.append({name: float(value) for name, value in result[1].items()})
        return result

    train.step.losses[0][0] = noted  # type: ignore[assignment]
    records = train.fit(dataset(), None)
    assert [record["step"] for record in records] == [5, 10, 15]
    for record, start in zip(records, (0, 5, 10), strict=True):
        window = seen[start : start + 5]
        for name in window[0]:
            assert record["terms"][name] == pytest.approx(sum(row[name] for row in window) / 5, rel=1e-5)
