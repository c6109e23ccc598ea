from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from fewhot_papers.reproduction.measurements import Measurements, Row
from fewhot_papers.reproduction.verdicts import NOT_REPRODUCED, REPRODUCED, Progressed, decide
from fewhot_papers.reproduction.xu import fitting
from fewhot_papers.reproduction.xu.grid import AS_PUBLISHED, INDEPENDENT, MODELS, SHARED
from fewhot_papers.reproduction.xu.images import FIGURE_3, FIGURE_4, GAP, TABLE_1

ENTRIES = {"table": TABLE_1, "gap": GAP, "reconstructions": FIGURE_3, "codes": FIGURE_4}


def rows(soft: float = 99.0, shared: float = 127.0, independent: float = 115.0) -> list[Row]:
    exact = {AS_PUBLISHED: 400.0, SHARED: shared, INDEPENDENT: independent}
    relaxed = {AS_PUBLISHED: soft}
    return [
        Row(
            cell.settings,
            {
                "bound": -exact.get(cell.settings["model"], 110.0) - cell.settings["seed"] / 10,
                "bound_relaxed": -relaxed.get(cell.settings["model"], exact.get(cell.settings["model"], 109.5)),
                "used": 200.0,
                "active": 20.0,
            },
        )
        for cell in TABLE_1.cells(False)
    ]


def verdict(measured: list[Row]) -> str:
    return decide(TABLE_1, Measurements(measured), Progressed(len(measured), len(measured)), quick=False).verdict


def test_every_model_has_three_seeds_and_the_published_recipe_ten():
    assert len(TABLE_1.cells(False)) == 3 * (len(MODELS) - 1) + 10 == 58
    assert len({cell.name for cell in TABLE_1.cells(False)}) == 58


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({}, REPRODUCED),
        ({"soft": 97.0}, NOT_REPRODUCED),
        ({"soft": 101.0}, NOT_REPRODUCED),
        ({"shared": 129.0}, NOT_REPRODUCED),
        ({"independent": 117.0}, NOT_REPRODUCED),
    ],
)
def test_each_bound_decides(changes: dict[str, float], found: str):
    assert verdict(rows(**changes)) == found


def test_soft_codes_far_from_exact_ones_are_told():
    (reading,) = GAP.judge(Measurements(rows()))
    assert [check.holds for check in reading.checks] == [True, True, True, True]
    (reading,) = GAP.judge(Measurements(rows(soft=399.0)))
    assert not reading.checks[0].holds


@pytest.fixture(scope="module")
def quick() -> list[Row]:
    rng = np.random.default_rng(0)
    images = (rng.random((500, 784)) < 0.2).astype(np.float32)
    loaded = SimpleNamespace(X=images, y=rng.integers(0, 10, 500))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitting, "dataset", lambda name, split, data_dir: loaded)
        made = [(cell, fitting.fit_images(cell.settings, None)) for cell in TABLE_1.cells(True)]
    return [Row(cell.settings, measured.numbers, measured.arrays) for cell, measured in made]


@pytest.mark.parametrize("name", ENTRIES)
def test_a_quick_run_goes_from_cells_to_a_figure(name: str, quick: list[Row]):
    asked = {cell.settings["model"] for cell in ENTRIES[name].cells(True)}
    measured = Measurements([row for row in quick if row.settings["model"] in asked])
    assert ENTRIES[name].judge(measured)[0].checks
    (figure,) = ENTRIES[name].draw(measured).values()
    assert all(axes.has_data() for axes in figure.axes)


def test_what_is_measured_of_gates(quick: list[Row]):
    published = Measurements(quick).where(model=AS_PUBLISHED)
    slots, logits = published.array("slots"), published.array("logits")
    assert slots is not None
    assert logits is not None
    assert (slots == slots.round()).all()
    assert (slots >= 0).all()
    assert (slots <= 40).all()
    assert len(logits) == len(slots) == 200
    assert 0 <= published.value("slots_apart").mean <= 1


def test_a_binomial_histogram_is_one():
    latent = SimpleNamespace(n_slots=10)
    rng = np.random.default_rng(0)
    assert fitting.apart_from_binomial(rng.binomial(10, 0.3, 20_000), latent) < 0.02
    assert fitting.apart_from_binomial(np.repeat([0, 10], 500), latent) > 0.8


def test_models_are_what_their_names_say():
    def made(name: str):
        settings = TABLE_1.cells(False)[0].settings | {"model": name}
        return fitting.estimator(settings)

    published = made(AS_PUBLISHED)
    assert (published.recipe, published.n_components, published.max_steps) == ("xu", 200, 10_000)
    assert made(SHARED).slots == "shared"
    assert made("bernoulli, MuProp").get_params()["kind"] == "bernoulli"
    assert made("categorical, Gumbel-softmax").estimator == "concrete"
