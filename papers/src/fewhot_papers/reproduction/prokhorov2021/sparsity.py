"""Figures 3 and 6 to 9, and 4: how sparsity follows the prior, and which units serve which classes."""

from __future__ import annotations

import math
from itertools import pairwise, product
from typing import TYPE_CHECKING, Any

import numpy as np

from fewhot_papers.reproduction.entry import Cell, Check, Entry, Reading
from fewhot_papers.reproduction.measurements import Measurements
from fewhot_papers.reproduction.prokhorov2021.grid import (
    CHANGES,
    CLAIM,
    CORPORA,
    HIERARCHICAL,
    MATCHED,
    MIXES,
    PAPER,
    PRIORS,
    PROTOCOL,
    WIDTHS,
    sparsity_cells,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LOW, HIGH = 0.3, 0.8
SPREAD = 0.03
EMPTY = 0.02
TOLD_APART = 0.1


def judge_sparsity(measured: Measurements) -> list[Reading]:
    """Judge that Average Hoyer rises with the prior over a wide range, is the same in every run, and no code empty."""
    checks = []
    for data, n_units in product(CORPORA, WIDTHS):
        here = measured.where(data=data, n_units=n_units, model=HIERARCHICAL)
        means = [here.value("hoyer_sample", dial=list(prior)).mean for prior in PRIORS[data, n_units]]
        spreads = [_deviation(here.where(dial=list(prior))) for prior in PRIORS[data, n_units]]
        empty = [here.value("empty_sample", dial=list(prior)).mean for prior in PRIORS[data, n_units]]
        where = f"{CORPORA[data]}, {n_units} units"
        told = ", ".join(f"{mean:.3f}" for mean in means)
        rises = all(later > earlier for earlier, later in pairwise(means))
        checks += [
            Check(f"{where}: Average Hoyer rises with every prior", rises, told),
            Check(f"{where}: from below {LOW:g} to above {HIGH:g}", means[0] < LOW and means[-1] > HIGH, told),
            Check(
                f"{where}: deviations over runs are at most {SPREAD:g}",
                max(spreads) <= SPREAD,
                f"at most {max(spreads):.3f}; {MATCHED} {_spread_of_mixes(measured, data, n_units)}",
            ),
            Check(f"{where}: at most {EMPTY:.0%} of the codes are empty", max(empty) <= EMPTY, f"{max(empty):.1%}"),
        ]
    return [Reading(CHANGES[0], checks)]


def _deviation(measured: Measurements) -> float:
    values = [row.numbers["hoyer_sample"] for row in measured.rows]
    return float(np.std(values, ddof=1)) if len(values) > 1 else math.nan


def _spread_of_mixes(measured: Measurements, data: str, n_units: int) -> str:
    here = measured.where(data=data, n_units=n_units, model=MATCHED)
    found = [here.value("hoyer_sample", dial=mix).mean for mix in MIXES]
    spread = max(_deviation(here.where(dial=mix)) for mix in MIXES)
    return f"{min(found):.3f} to {max(found):.3f}, deviations at most {spread:.3f}"


def draw_sparsity(measured: Measurements) -> dict[str, Figure]:
    """Draw Average Hoyer over training, a line a prior, with the deviation over runs as a band."""
    from fewhot_papers.reproduction.figures import COLOURS, panels

    figures = {}
    for n_units in WIDTHS:
        figure, axes = panels(len(CORPORA), 2)
        for (row, data), (column, model) in product(enumerate(CORPORA), enumerate((HIERARCHICAL, MATCHED))):
            panel = axes[row, column]
            dials: list[Any] = list(MIXES) if model == MATCHED else [list(prior) for prior in PRIORS[data, n_units]]
            for colour, dial in zip(COLOURS, dials, strict=False):
                here = measured.where(data=data, n_units=n_units, model=model, dial=dial).rows
                lines = np.array([r.arrays["curve_hoyer_sample"] for r in here if "curve_hoyer_sample" in r.arrays])
                if not len(lines):
                    continue
                mean, spread = lines.mean(0), lines.std(0, ddof=1) if len(lines) > 1 else np.zeros(lines.shape[1])
                epochs = here[0].arrays["curve_epoch"]
                panel.plot(epochs, mean, color=colour, label=_dial_in_words(dial), linewidth=1.2)
                panel.fill_between(epochs, mean - spread, mean + spread, color=colour, alpha=0.2, linewidth=0)
            panel.set(xlabel="epoch", ylabel="Average Hoyer of draws", ylim=(0, 1.1))
            panel.set_title(f"{CORPORA[data]}, {model}, {n_units} units", fontsize="medium")
            panel.spines[["top", "right"]].set_visible(False)
            if panel.lines:
                title = "spike" if model == MATCHED else "off, on"
                panel.legend(frameon=False, fontsize="x-small", title=title, title_fontsize="x-small", ncols=len(dials))
        figures[f"hoyer-{n_units}"] = figure
    return figures


def _dial_in_words(dial: Any) -> str:
    return ", ".join(f"{part:g}" for part in (dial if isinstance(dial, list) else [dial]))


def class_cells(quick: bool) -> list[Cell]:
    """Return HSVAE under the prior of the documented command line, first seed."""
    wanted = [
        cell for cell in sparsity_cells(quick) if cell.settings["model"] == HIERARCHICAL and cell.settings["seed"] == 0
    ]
    return [cell for cell in wanted if cell.settings["dial"] == list(CLAIM)]


def judge_classes(measured: Measurements) -> list[Reading]:
    """Judge that some units serve some classes much more than others."""
    checks = []
    for data, n_units in product(CORPORA, WIDTHS):
        gamma = measured.array("gamma", data=data, n_units=n_units)
        if gamma is not None:
            apart = float((gamma.max(0) - gamma.min(0)).max())
            checks.append(
                Check(
                    f"{CORPORA[data]}, {n_units} units: a unit's share differs by more than {TOLD_APART:.0%} "
                    f"between two classes",
                    apart > TOLD_APART,
                    f"{apart:.0%}",
                )
            )
    return [Reading(CHANGES[0], checks)]


def draw_classes(measured: Measurements) -> dict[str, Figure]:
    """Draw how often each unit is off in each class, at most 32 units, those that differ most."""
    from fewhot_papers.reproduction.figures import panels

    figure, axes = panels(len(CORPORA), len(WIDTHS), width=5.0)
    for (row, data), (column, n_units) in product(enumerate(CORPORA), enumerate(WIDTHS)):
        gamma, panel = measured.array("gamma", data=data, n_units=n_units), axes[row, column]
        if gamma is not None:
            shown = np.sort(np.argsort(gamma.min(0) - gamma.max(0), kind="stable")[:32])
            drawn = panel.imshow(gamma[:, shown], vmin=0, vmax=1, aspect="auto", cmap="viridis")
            figure.colorbar(drawn, ax=panel, label="share with the unit off")
        panel.set(xlabel="unit", ylabel="class")
        panel.set_title(f"{CORPORA[data]}, {n_units} units", fontsize="medium")
    return {"classes": figure}


FIGURE_3 = Entry(
    id="prokhorov2021-fig3",
    title="Sparsity of codes of sentences follows the prior",
    source=f"{PAPER}, figures 3 and 6 to 9",
    data=tuple(CORPORA),
    protocol=f"{PROTOCOL} Average Hoyer of draws on held-out texts now and then, on test texts at the end.",
    published="HSVAE's Average Hoyer is stable over training and runs, and set by its prior; MAT-VAE's is neither.",
    rule=(
        f"HSVAE's Average Hoyer rises with every prior, from below {LOW:g} to above {HIGH:g}, with deviations over "
        f"runs of at most {SPREAD:g} and at most {EMPTY:.0%} of empty codes; MAT-VAE's is reported."
    ),
    open_choices=("The priors and mixes behind the figures: not given.",),
    changes=CHANGES,
    cells=sparsity_cells,
    judge=judge_sparsity,
    draw=draw_sparsity,
)
FIGURE_4 = Entry(
    id="prokhorov2021-fig4",
    title="Which units serve which classes of sentences",
    source=f"{PAPER}, figure 4",
    data=tuple(CORPORA),
    protocol=f"{PROTOCOL} HSVAE with the prior {CLAIM}, first seed: the share of a class's test texts with a unit off.",
    published="Heat maps in which classes share most units and differ in some; more so on DBpedia.",
    rule=f"Some unit's share differs by more than {TOLD_APART:.0%} between two classes.",
    changes=CHANGES,
    cells=class_cells,
    judge=judge_classes,
    draw=draw_classes,
)
