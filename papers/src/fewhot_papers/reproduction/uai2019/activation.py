"""Figures 6 and 7: which units serve which classes, samples on one image's units, and walks between images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fewhot_papers.reproduction.comparing import more
from fewhot_papers.reproduction.entry import Cell, Check, Entry, Reading
from fewhot_papers.reproduction.measurements import Measurements, Value
from fewhot_papers.reproduction.uai2019.bounds import FEWER_STEPS
from fewhot_papers.reproduction.uai2019.classes import OFF, ON, SHOWN_WALKS, WALKS
from fewhot_papers.reproduction.uai2019.grid import ALPHA, ELBO_MIDDLE, OPEN_CHOICES, PAPER, SEEDS, fashion_fit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

APART = 0.9
MOST = 0.5
CLASSES = (
    *("T-shirt", "trouser", "pullover", "dress", "coat"),
    *("sandal", "shirt", "sneaker", "bag", "ankle boot"),
)
CHOICES = (
    *OPEN_CHOICES,
    f"Latent size: not in the supplement; {ELBO_MIDDLE}, as in the authors' code.",
    "What is shown of a code: not said; the decoder's mean.",
    "The paper judges by eye.",
)


def cells(quick: bool) -> Sequence[Cell]:
    """Return the VSCs of the ELBO experiment with the paper's sparsity, at one size."""
    seeds = SEEDS[:1] if quick else SEEDS
    return [fashion_fit("vsc", ELBO_MIDDLE, seed, alpha=ALPHA, quick=quick) for seed in seeds]


def judge_figure_6(measured: Measurements) -> list[Reading]:
    """Judge that classes have their own units, and that samples on an image's units are of its class."""
    some, specific, apart = (measured.value(n) for n in ("units_of_some", "units_specific", "pairs_apart"))
    return [
        Reading(
            None,
            [
                Check(
                    "of the units that some class has on, at least half are off in another",
                    specific.mean >= MOST * some.mean > 0,
                    f"{specific} of {some}",
                ),
                _mostly("of the pairs of classes have different units on", apart, APART),
                more(
                    "samples on the units of an image are of its class more often than by chance",
                    measured.value("agreement"),
                    measured.value("agreement_chance"),
                ),
            ],
        )
    ]


def draw_figure_6(measured: Measurements) -> dict[str, Figure]:
    """Draw the mean on-probability of units by class, and images beside samples on their units."""
    from fewhot.plots import class_activation
    from fewhot_papers.reproduction.figures import conditional_samples

    p_active = measured.array("p_active", seed=SEEDS[0])
    figures = {} if p_active is None else {"activation": class_activation(p_active, classes=CLASSES)}
    given, drawn = (measured.array(name) for name in ("original", "conditional"))
    if given is None or drawn is None:
        return figures
    title = "An image, then samples on its active units"
    return {**figures, "conditional": conditional_samples(given, drawn, title=title)}


def judge_figure_7(measured: Measurements) -> list[Reading]:
    """Judge that walks switch units, and lead from one class to the other."""
    switching, agree = measured.value("walks_that_switch"), measured.value("walk_ends_agree")
    return [
        Reading(
            None,
            [
                _mostly("of the walks switch at least one unit", switching),
                _mostly("of the ends are nearest to a training image of their class", agree),
            ],
        )
    ]


def _mostly(statement: str, share: Value, least: float = MOST) -> Check:
    return Check(f"at least {least:.0%} {statement}", share.mean >= least, str(share))


def draw_figure_7(measured: Measurements) -> dict[str, Figure]:
    """Draw walks between images: along a straight line, and one unit at a time."""
    from fewhot_papers.reproduction.figures import image_grid, panels

    walks = [w for place in range(SHOWN_WALKS) for w in _walks(measured, place)]
    if not walks:
        return {}
    figure, axes = panels(len(walks), 1, width=7.0, height=0.9)
    for line, (title, images) in zip(axes[:, 0], walks, strict=True):
        image_grid(line, images, max(len(images) for _, images in walks), title=title)
    return {"walks": figure}


def _walks(measured: Measurements, place: int) -> list[tuple[str, np.ndarray]]:
    straight, stepwise, switches = (measured.array(f"{n}_{place}") for n in ("continuous", "discrete", "switches"))
    if straight is None or stepwise is None or switches is None:
        return []
    order = ", ".join(f"{'+' if unit > 0 else '−'} {abs(unit) - 1:.0f}" for unit in switches) or "none"
    return [("all units together", straight), (f"units one at a time: {order}", stepwise)]


FIGURE_6 = Entry(
    id="uai2019-fig6",
    title="Mean activation of units by class, and samples on an image's units",
    source=f"{PAPER}, figure 6 and supplement D.3, Fashion-MNIST",
    data=("fashion_mnist",),
    protocol=(
        f"The VSCs of uai2019-elbo with {ELBO_MIDDLE} units and prior on-rate {ALPHA:g}, three seeds; mean "
        f"on-probability of each unit over the test images of a class, on above {ON:g} and off below {OFF:g}. Samples: "
        "the active units of a test image's map code are kept, their values drawn from the prior; a sample's class is "
        "that of the nearest of 10,000 training images."
    ),
    published=(
        "Supplement D.3 says how the matrices and the samples were made; abstract: feature exploitation is recovered, "
        "and samples share attributes with a given object. Given as pictures only."
    ),
    rule=(
        f"Of the units that some class has on, at least half are off in some other class; at least {APART:.0%} of the "
        "pairs of classes have different units on; samples have the class of their image more often than by chance, by "
        "more than 2 SE."
    ),
    open_choices=CHOICES,
    changes=(FEWER_STEPS,),
    cells=cells,
    judge=judge_figure_6,
    draw=draw_figure_6,
)

FIGURE_7 = Entry(
    id="uai2019-fig7",
    title="Walks between images that switch units one at a time",
    source=f"{PAPER}, figure 7 and supplement D.3",
    data=("fashion_mnist",),
    protocol=(
        f"The models of figure 6; {WALKS} pairs of test images of different classes. From the map code of one to that "
        "of the other along a straight line, and by switching the units that only one has, one at a time, while shared "
        "units change along the line. Decoded ends take the class of the nearest of 10,000 training images; halfway "
        "images are compared by their distance to it."
    ),
    published=(
        "Supplement D.3 names controlled continuous and discrete interpolation; abstract: both discrete and continuous "
        "features can be controlled upon generation. Given as pictures only."
    ),
    rule=(
        f"At least {MOST:.0%} of the walks switch a unit, and at least {MOST:.0%} of the ends are nearest to a "
        "training image of their class. Distances halfway are reported, and decide nothing."
    ),
    open_choices=CHOICES,
    changes=(FEWER_STEPS,),
    cells=cells,
    judge=judge_figure_7,
    draw=draw_figure_7,
)
