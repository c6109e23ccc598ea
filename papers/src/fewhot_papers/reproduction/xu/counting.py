"""Table III: how often each digit occurs in a picture of five places."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fewhot.core.seeding import derive_seed
from fewhot.data import digit_compositions
from fewhot.estimators import SDLGMCounter
from fewhot.nn import Places
from fewhot_papers.reproduction.cells import Measured, cell_function
from fewhot_papers.reproduction.comparing import less
from fewhot_papers.reproduction.entry import Cell, Check, Entry, Reading
from fewhot_papers.reproduction.measurements import Measurements
from fewhot_papers.reproduction.xu.grid import PAPER, SEEDS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PUBLISHED, PUBLISHED_FOREST = 0.05, 0.16
N_PLACES = 5
STEPS = 2500
SHOWN = 12
FOREST_FEATURES = 0.05
"""Share of the pixels that a forest looks at for every split."""
MODELS = {"places": "SDLGM, one network for all places", "mlp": "SDLGM, perceptron", "forest": "random forest"}


def counting_cells(quick: bool) -> Sequence[Cell]:
    """Return the counters and the forest."""
    return [
        Cell(
            kind="xu-counting",
            settings={
                "data": "mnist",
                "model": model,
                "steps": 20 if quick else STEPS,
                "n_train": 200 if quick else 5000,
                "n_test": 50 if quick else 1000,
                "n_trees": 5 if quick else 300,
                "seed": seed,
            },
            data="mnist",
            cost=3000,
            name=f"compositions, {title}, seed {seed}",
        )
        for model, title in MODELS.items()
        for seed in (SEEDS[:1] if quick else SEEDS)
    ]


@cell_function("xu-counting", version=1)
def fit_counter(settings: Mapping[str, Any], data_dir: Path | None) -> Measured:
    """Fit one model to compositions of training digits; compare its counts with those of test digits."""
    train, test = (
        digit_compositions(split, settings[f"n_{split}"], data_dir, random_state=derive_seed(settings["seed"], split))
        for split in ("train", "test")
    )
    found = _fitted(settings).fit(train.X, train.counts).predict(test.X)
    numbers = {
        "mse": float(np.square(found - test.counts).mean()),
        "mse_rounded": float(np.square(np.rint(found) - test.counts).mean()),
        "mse_constant": float(np.square(train.counts.mean(axis=0) - test.counts).mean()),
        "rows_right": float((np.rint(found) == test.counts).all(axis=1).mean()),
    }
    shown = {"images": test.X[:SHOWN], "counts": test.counts[:SHOWN], "found": found[:SHOWN]}
    return Measured(numbers, shown if settings["seed"] == SEEDS[0] else {})


def _fitted(settings: Mapping[str, Any]) -> Any:
    if settings["model"] == "forest":
        from sklearn.ensemble import RandomForestRegressor

        return RandomForestRegressor(
            settings["n_trees"], max_features=FOREST_FEATURES, random_state=settings["seed"], n_jobs=1
        )
    return SDLGMCounter(
        n_slots=N_PLACES,
        recipe="xu",
        hidden_dropout=0.0,
        encoder=Places(N_PLACES) if settings["model"] == "places" else "mlp",
        learning_rate=2e-3 if settings["model"] == "places" else 1e-3,
        max_steps=settings["steps"],
        n_iter_no_change=None if settings["model"] == "places" else 10,
        random_state=settings["seed"],
    )


def judge_counting(measured: Measurements) -> list[Reading]:
    """Judge the error of expected counts, and that a forest's is larger."""
    ours, theirs = (measured.value("mse", model=model) for model in ("places", "forest"))
    rounded = measured.value("mse_rounded", model="places")
    return [
        Reading(
            None,
            [
                Check(
                    f"mean squared error is at most {PUBLISHED:g}", ours.mean <= PUBLISHED, f"{ours}; rounded {rounded}"
                ),
                less("it is below that of a random forest", ours, theirs),
            ],
        )
    ]


def draw_counting(measured: Measurements) -> dict[str, Figure]:
    """Draw test pictures with what is in them and what was found."""
    from fewhot_papers.reproduction.figures import panels

    images, counts, found = (measured.array(name, model="places") for name in ("images", "counts", "found"))
    if images is None or counts is None or found is None:
        return {}
    figure, axes = panels(-(-len(images) // 3), 3, width=3.6, height=1.2)
    for here, image, true, said in zip(axes.ravel(), images, counts, np.rint(found), strict=False):
        here.imshow(image.reshape(28, -1), cmap="gray_r", interpolation="nearest")
        here.set_title(_in_words(said), fontsize="small", color="#009E73" if (said == true).all() else "#D55E00")
    for here in axes.ravel():
        here.set(xticks=[], yticks=[])
        here.spines[:].set_color("0.8")
    return {"predictions": figure}


def _in_words(counts: np.ndarray) -> str:
    return ", ".join(f"{digit}: {count:g}" for digit, count in enumerate(counts) if count) or "nothing"


TABLE_3 = Entry(
    id="xu-table3",
    title="Counting digits",
    source=f"{PAPER}, section V-C and table III",
    data=("mnist",),
    protocol=(
        "Five places of MNIST digits side by side, each empty with probability 0.5; 5,000 compositions of training "
        f"digits, 1,000 of test digits, three seeds of both. Five slots, the exact law of the counts, {STEPS} steps; "
        "one network reads every place, and beside it a perceptron with early stopping. Predictions are expected "
        "counts. Random forest: 300 trees, each split of which looks at 5% of the pixels."
    ),
    published=f"Test mean squared error: SDLGM {PUBLISHED:g}, random forest {PUBLISHED_FOREST:g}.",
    rule=f"The error of expected counts is at most {PUBLISHED:g}, and below the forest's by more than 2 SE.",
    open_choices=(
        "How often a place is empty: not given; 0.5.",
        "Networks and optimiser: not given; as in the protocol.",
    ),
    cells=counting_cells,
    judge=judge_counting,
    draw=draw_counting,
)
