"""Figures 3 and 11: how well a linear classifier reads the codes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from fewhot_papers.reproduction.comparing import best, falls, more, rank_correlation
from fewhot_papers.reproduction.entry import Cell, Check, Entry, Reading
from fewhot_papers.reproduction.iclr2019.bounds import model_name
from fewhot_papers.reproduction.iclr2019.grid import (
    DATA,
    LABELS,
    LARGE,
    OPEN_CHOICES,
    PAPER,
    PROBE_ALPHA,
    QUICK_LABELS,
    QUICK_SIZES,
    SIZES,
    TITLES,
    VAE_ALPHA,
    cells_by_alpha,
    datasets,
    fits,
    quick_fits,
)
from fewhot_papers.reproduction.measurements import Measurements

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STEADY = 0.01
"""The VSC counts as steady if its accuracy at the largest size is within this of its best."""

PROBE_CHOICES = (
    *OPEN_CHOICES,
    "The classifier: 'one layer fully connected'; multinomial logistic regression.",
    "Which code is classified, a posterior sample or its mean: not said; both, and the exactly sparse map code beside.",
)

KINDS = {"mean": "posterior means", "sample": "posterior samples"}


def by_kind(checks: Callable[[str], list[Check]]) -> list[Reading]:
    """Return readings of a claim that does not say which codes it is about: both kinds, then either alone."""
    found = {kind: checks(kind) for kind in KINDS}
    both = Reading(None, [check for kind in KINDS for check in found[kind]])
    alone = [
        Reading(f"It holds for {words} and not for both kinds of code.", found[kind], words)
        for kind, words in KINDS.items()
    ]
    return [both, *alone]


def judge_figure_3(measured: Measurements) -> list[Reading]:
    """Judge the VAE's fall, the VSC's steadiness and the better best."""
    return by_kind(lambda kind: [check for data in DATA for check in _figure_3_checks(measured, data, kind)])


def _figure_3_checks(measured: Measurements, data: str, kind: str) -> list[Check]:
    number = f"accuracy_{kind}_{max(LABELS)}"
    vae = measured.along(number, "n_units", data=data, alpha=VAE_ALPHA)
    vsc = measured.along(number, "n_units", data=data, alpha=PROBE_ALPHA)
    at, peak = f"{TITLES[data]}, {KINDS[kind]}", vsc[best(vsc)]
    steady = peak.mean - vsc[LARGE].mean <= STEADY
    return [
        falls(f"{at}: the VAE at {LARGE} units is below its best", vae),
        Check(
            f"{at}: the VSC at {LARGE} units is within {STEADY:g} of its best", steady, f"{vsc[LARGE]} against {peak}"
        ),
        more(f"{at}: the VSC's best is above the VAE's best", peak, vae[best(vae)]),
    ]


def draw_figure_3(measured: Measurements) -> dict[str, Figure]:
    """Draw accuracy against latent size, a row a dataset, a column a kind of code."""
    from fewhot_papers.reproduction.figures import curves, panels

    data = datasets(measured)
    figure, axes = panels(len(data), len(KINDS))
    for i, name in enumerate(data):
        here = measured.where(data=name)
        for k, (kind, words) in enumerate(KINDS.items()):
            number = f"accuracy_{kind}_{_largest_budget(measured)}"
            lines = {model_name(a): here.along(number, "n_units", alpha=a) for a in reversed(here.levels("alpha"))}
            if kind == "mean":
                lines["VSC, map codes"] = here.along(number.replace("mean", "map"), "n_units", alpha=PROBE_ALPHA)
            curves(axes[i, k], lines, title=f"{TITLES[name]}, {words}", x="latent units", y="test accuracy")
    return {"accuracy": figure}


def _largest_budget(measured: Measurements) -> int:
    return max(max(row.settings["labels"]) for row in measured.rows)


def _figure_3_cells(quick: bool) -> Sequence[Cell]:
    alphas = (VAE_ALPHA, PROBE_ALPHA)
    return quick_fits(DATA, alphas, QUICK_SIZES) if quick else fits(DATA, alphas, SIZES)


def judge_figure_11(measured: Measurements) -> list[Reading]:
    """Judge that sparser priors give codes that are read better, at every budget."""
    return by_kind(lambda kind: [check for data in DATA for check in _figure_11_checks(measured, data, kind)])


def _figure_11_checks(measured: Measurements, data: str, kind: str) -> list[Check]:
    checks = []
    for n_labels in LABELS:
        curve = measured.along(f"accuracy_{kind}_{n_labels}", "alpha", data=data)
        at = f"{TITLES[data]}, {KINDS[kind]}, {n_labels:,} labels"
        least, most = min(curve), max(curve)
        trend = rank_correlation(curve)
        checks.append(more(f"{at}: alpha={least:g} is read better than the VAE", curve[least], curve[most]))
        checks.append(Check(f"{at}: accuracy falls as alpha grows", trend < 0, f"rank correlation {trend:.2f}"))
    return checks


def draw_figure_11(measured: Measurements) -> dict[str, Figure]:
    """Draw accuracy against alpha for each budget."""
    from fewhot_papers.reproduction.figures import curves, panels

    data = datasets(measured)
    budgets = sorted({n for row in measured.rows for n in row.settings["labels"]})
    figure, axes = panels(len(data), len(KINDS))
    for i, name in enumerate(data):
        for k, (kind, words) in enumerate(KINDS.items()):
            lines = {f"{n:,} labels": measured.along(f"accuracy_{kind}_{n}", "alpha", data=name) for n in budgets}
            title = f"{TITLES[name]}, {words}"
            curves(axes[i, k], lines, title=title, x="prior on-rate α", y="test accuracy", log=True)
    return {"accuracy-by-alpha": figure}


FIGURE_3 = Entry(
    id="iclr2019-fig3",
    title="Accuracy from 5,000 labels against latent size",
    source=f"{PAPER}, figure 3",
    data=DATA,
    protocol=(
        "VAE and VSC alpha 0.01 as in figure 2, 8 to 200 units, three seeds; 5,000 labelled training images are "
        "encoded, a linear classifier is trained on the codes and tested on the 10,000 test images; once on posterior "
        "samples, once on posterior means."
    ),
    published=(
        "Section 4.2: the VAE peaks at its best size and yields inefficient codes when larger; the VSC stays efficient "
        "at any size and marginally outperforms the best VAE. Given as a picture only."
    ),
    rule=(
        "On both datasets: the VAE at 200 units is below its best size by more than 2 SE; the VSC at 200 units is "
        f"within {STEADY:g} of its best; the VSC's best is above the VAE's best by more than 2 SE. Reproduced if so "
        "for means and for samples; a stated change if for one of them."
    ),
    open_choices=PROBE_CHOICES,
    cells=_figure_3_cells,
    judge=judge_figure_3,
    draw=draw_figure_3,
)

FIGURE_11 = Entry(
    id="iclr2019-fig11",
    title="Accuracy against the prior's on-rate for several label budgets",
    source=f"{PAPER}, figure 11",
    data=DATA,
    protocol=(
        "The fits of figure 10 (200 units, seven alphas, three seeds); the classifier of figure 3 from 100, 1,000 and "
        "5,000 labels."
    ),
    published=(
        "Appendix E.4: as the prior's on-rate is decreased, the codes are increasingly more efficient. Given as a "
        "picture only."
    ),
    rule=(
        "On both datasets, at every budget: accuracy at the smallest alpha is above the VAE's by more than 2 SE, and "
        "accuracy and alpha have a negative rank correlation. Reproduced if so for means and for samples; a stated "
        "change if for one of them."
    ),
    open_choices=(
        *PROBE_CHOICES,
        f"Label budgets: not in the text; {', '.join(f'{n:,}' for n in LABELS)} (quick: "
        f"{', '.join(map(str, QUICK_LABELS))}).",
        "The alphas of the picture cannot be read; seven were taken.",
    ),
    cells=cells_by_alpha,
    judge=judge_figure_11,
    draw=draw_figure_11,
)
