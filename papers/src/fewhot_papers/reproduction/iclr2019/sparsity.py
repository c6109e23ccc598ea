"""Figures 7 and 8: what the codes look like, and how sparse they are."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from fewhot_papers.reproduction.comparing import more
from fewhot_papers.reproduction.entry import Cell, Check, Entry, Reading
from fewhot_papers.reproduction.iclr2019.bounds import FIGURE_2_ALPHAS, model_name
from fewhot_papers.reproduction.iclr2019.grid import (
    DATA,
    LARGE,
    OPEN_CHOICES,
    PAPER,
    TITLES,
    VAE_ALPHA,
    cells_by_alpha,
    datasets,
    fits,
    quick_fits,
)
from fewhot_papers.reproduction.measurements import Measurements, Value

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TOLERANCE = 0.1
"""How far the measured rate may lie from a large alpha: what an eye can read off the picture."""
LARGE_ALPHA = 0.5
EXPLAINED = 0.5
SHOWN = 3


# -------------------------------------------------------------------------------------------------------- figure 7


def judge_figure_7(measured: Measurements) -> list[Reading]:
    """Judge that codes thin out with alpha while reconstructions still resemble the images."""
    checks = []
    for data in DATA:
        here = measured.where(data=data)
        for larger, smaller in pairwise(FIGURE_2_ALPHAS):
            dense, thin = (here.value("active_share", alpha=alpha) for alpha in (larger, smaller))
            checks.append(more(f"{TITLES[data]}: fewer units are active at {smaller:g} than {larger:g}", dense, thin))
        for alpha in FIGURE_2_ALPHAS:
            share = here.value("reconstruction_r2", alpha=alpha)
            statement = f"{TITLES[data]}: reconstructions at {alpha:g} explain {EXPLAINED:.0%} of the variance or more"
            checks.append(Check(statement, share.mean >= EXPLAINED, str(share)))
    return [Reading(None, checks)]


def draw_figure_7(measured: Measurements) -> dict[str, Figure]:
    """Draw images, codes and reconstructions: a figure a dataset, a column an alpha."""
    from fewhot_papers.reproduction.figures import code_bars, image_grid, panels

    figures = {}
    for data in datasets(measured):
        alphas = reversed(measured.levels("alpha", data=data))
        examples = {alpha: found for alpha in alphas if (found := _example(measured, data, alpha))}
        if not examples:
            continue
        figure, axes = panels(SHOWN, 3 * len(examples), width=1.7, height=1.5)
        for k, (alpha, (original, code, rebuilt)) in enumerate(examples.items()):
            for i in range(SHOWN):
                heads = ("image", model_name(alpha), "reconstruction") if i == 0 else ("", "", "")
                image_grid(axes[i, 3 * k], original[i : i + 1], 1, title=heads[0])
                code_bars(axes[i, 3 * k + 1], code[i], title=heads[1])
                image_grid(axes[i, 3 * k + 2], rebuilt[i : i + 1], 1, title=heads[2])
        figures[f"codes-{data}"] = figure
    return figures


def _example(measured: Measurements, data: str, alpha: float) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    original, code, rebuilt = (
        measured.array(name, data=data, alpha=alpha) for name in ("original", "code", "reconstruction")
    )
    return None if original is None or code is None or rebuilt is None else (original, code, rebuilt)


def _figure_7_cells(quick: bool) -> Sequence[Cell]:
    return quick_fits(DATA, FIGURE_2_ALPHAS, (LARGE,)) if quick else fits(DATA, FIGURE_2_ALPHAS, (LARGE,))


FIGURE_7 = Entry(
    id="iclr2019-fig7",
    title="Examples of sparse codes and reconstructions",
    source=f"{PAPER}, figure 7, top and middle",
    data=DATA,
    protocol=(
        "VAE and VSC alpha 0.5 and 0.2, 200 units, otherwise as figure 2; one test image of each of three classes, its "
        "map code and its reconstruction from that code; over all test images, the share of active units and the share "
        "of the variance of unit-norm images that reconstructions explain."
    ),
    published=(
        "Appendix E.1: example codes and reconstructions at alpha 1, 0.5 and 0.2, the codes sparser and the images "
        "recognisable throughout. Given as a picture only."
    ),
    rule=(
        "On both datasets: the share of active units falls from alpha 1 to 0.5 to 0.2, each time by more than 2 SE; "
        f"reconstructions explain at least {EXPLAINED:.0%} of the variance at every alpha."
    ),
    open_choices=(*OPEN_CHOICES, "Latent size of the examples: not said; 200."),
    cells=_figure_7_cells,
    judge=judge_figure_7,
    draw=draw_figure_7,
)


# -------------------------------------------------------------------------------------------------------- figure 8

DEFINITIONS = {"posterior_rate": "mean posterior on-rate", "active_share": "share of units with on-rate above one half"}


def judge_figure_8(measured: Measurements) -> list[Reading]:
    """Judge both definitions together, then each alone."""
    found = {
        number: [check for data in DATA for check in _figure_8_checks(measured, data, number)] for number in DEFINITIONS
    }
    both = Reading(None, [check for checks in found.values() for check in checks])
    alone = [
        Reading(f"It holds for the {words} and not under both definitions of sparsity.", found[number], f"the {words}")
        for number, words in DEFINITIONS.items()
    ]
    return [both, *alone]


def _figure_8_checks(measured: Measurements, data: str, number: str) -> list[Check]:
    curve = measured.along(number, "alpha", data=data)
    at = f"{TITLES[data]}, {DEFINITIONS[number]}"
    checks = [
        Check(
            f"{at}: within {TOLERANCE:g} of alpha={alpha:g}", abs(value.mean - alpha) <= TOLERANCE, f"measured {value}"
        )
        for alpha, value in curve.items()
        if LARGE_ALPHA <= alpha < VAE_ALPHA
    ]
    least = min(curve)
    checks.append(more(f"{at}: above alpha={least:g}, the smallest", curve[least], Value(least, 0.0, curve[least].n)))
    return checks


def draw_figure_8(measured: Measurements) -> dict[str, Figure]:
    """Draw measured sparsity against alpha, with the line of a perfect match."""
    from fewhot_papers.reproduction.figures import curves, panels

    data = datasets(measured)
    figure, axes = panels(1, len(data))
    for i, name in enumerate(data):
        lines = {words: measured.along(number, "alpha", data=name) for number, words in DEFINITIONS.items()}
        axes[0, i].plot([0, 1], [0, 1], color="#999999", linestyle="--", linewidth=1, label="perfect prior match")
        curves(axes[0, i], lines, title=TITLES[name], x="prior on-rate α", y="measured share of units on")
        axes[0, i].legend(frameon=False, fontsize="x-small", loc="upper left")
    return {"sparsity": figure}


FIGURE_8 = Entry(
    id="iclr2019-fig8",
    title="Measured sparsity against the prior's on-rate",
    source=f"{PAPER}, figure 8",
    data=DATA,
    protocol=(
        "The fits of figure 10 (200 units, seven alphas, three seeds); over units and test images, the mean posterior "
        "on-rate, and the share of units whose on-rate is above one half."
    ),
    published=(
        "Appendix E.2: for larger alpha the codes keep approximately the sparsity of the prior; at lower alpha they "
        "depart from it, more units being active than the prior asks for. Given as a picture only."
    ),
    rule=(
        f"On both datasets: at alpha 0.5 and 0.8 the measured value is within {TOLERANCE:g} of alpha; at the smallest "
        "alpha it is above alpha by more than 2 SE. Reproduced if so under both definitions; a stated change if under "
        "one of them."
    ),
    open_choices=(
        *OPEN_CHOICES,
        "'Aggregate posterior sparsity' is not defined; measured in two ways.",
        "The alphas of the picture cannot be read; seven were taken.",
    ),
    cells=cells_by_alpha,
    judge=judge_figure_8,
    draw=draw_figure_8,
)
