"""Figure 2: how well sentences are classified from codes, and how sparse the codes are."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

from fewhot_papers.reproduction.comparing import rank_correlation
from fewhot_papers.reproduction.entry import Check, Entry, Reading
from fewhot_papers.reproduction.measurements import Measurements
from fewhot_papers.reproduction.prokhorov2021.grid import (
    CHANGES,
    COMPARED,
    CORPORA,
    DENSE,
    FROZEN,
    HIERARCHICAL,
    MATCHED,
    MATCHING_WEIGHTS,
    MIXES,
    N_ACTIVE,
    PAPER,
    PENALISED,
    PRETRAINED_DENSE,
    PRETRAINED_DIALS,
    PRETRAINED_HIERARCHICAL,
    PRETRAINED_WEIGHTS,
    PRIORS,
    PROTOCOL,
    SIMPLE,
    accuracy_cells,
    pretrained_cells,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SPARSE = 0.7
ALIKE = 0.01
"""How far apart, as a share, the losses of two models on held-out texts may be where they are compared."""
POINTS, PRETRAINED_POINTS = 3.0, 1.0
LEAST_KL, LEAST_UNITS = 2.0, 4
YAHOO = "hsvae_yahoo"
_HELD = " and ".join(f"{n:g}" for n in N_ACTIVE.values())
_PRETRAINED_DIALS = "; ".join(
    f"{CORPORA[data]} {', '.join(str(dial) for dial in dials)}" for data, dials in PRETRAINED_DIALS.items()
)


def _n_weights(further: Mapping[str, Sequence[float]]) -> str:
    """Return under how many weights a dense model is fitted, by corpus; one is as published."""
    return " and ".join(str(1 + len(weights)) for weights in further.values())


def judge_accuracy(measured: Measurements) -> list[Reading]:
    """Judge sparse codes against dense ones where both say texts alike, and that no model has collapsed."""
    checks = []
    for data in CORPORA:
        here = measured.where(data=data, n_units=COMPARED)
        checks += _sparse_beside_dense(CORPORA[data], here, HIERARCHICAL, DENSE, POINTS)
    return [Reading(CHANGES[0], checks + _in_use(measured))]


def judge_pretrained(measured: Measurements) -> list[Reading]:
    """Judge the same of models whose encoder is pretrained."""
    checks = []
    for data in CORPORA:
        here = measured.where(data=data)
        checks += _sparse_beside_dense(
            CORPORA[data], here, PRETRAINED_HIERARCHICAL, PRETRAINED_DENSE, PRETRAINED_POINTS
        )
    return [Reading(CHANGES[0], checks + _in_use(measured))]


def _sparse_beside_dense(where: str, here: Measurements, model: str, dense: str, points: float) -> list[Check]:
    """Compare every setting whose draws are sparse, or the sparsest where none is sparse enough."""
    kinds = [kind for kind in _kinds(here) if kind["model"] == model]
    hoyers = [here.where(**kind).value("hoyer_sample").mean for kind in kinds]
    enough = min(SPARSE, max(hoyers, default=SPARSE))
    return [
        check
        for kind, hoyer in zip(kinds, hoyers, strict=True)
        if hoyer >= enough
        for check in _beside_dense(f"{where}, {_named(kind)}", here.where(**kind), here.where(model=dense), points)
    ]


def _named(kind: dict[str, Any]) -> str:
    """Return a model's name with what sets it."""
    dial = kind["dial"]
    if kind["model"] in (HIERARCHICAL, PRETRAINED_HIERARCHICAL) and not isinstance(dial, list):
        return f"{kind['model']} l0={dial:g}"
    return f"{kind['model']} {kind['weight'] if dial is None else dial}"


def _beside_dense(name: str, sparse: Measurements, dense: Measurements, points: float) -> list[Check]:
    """Compare with the dense model that says held-out texts most nearly as well."""
    if not sparse.rows or not dense.rows:
        return []
    said = sparse.value("held_out_nll").mean
    weights = {row.settings["weight"] for row in dense.rows}
    alike = min(weights, key=lambda weight: abs(dense.value("held_out_nll", weight=weight).mean - said))
    beside = dense.where(weight=alike)
    loss, (ours, theirs) = beside.value("held_out_nll").mean, (m.value("accuracy_sample") for m in (sparse, beside))
    return [
        Check(
            f"{name}: accuracy at most {points:g} points below the dense model whose loss is within {ALIKE:.0%}",
            abs(said / loss - 1) <= ALIKE and 100 * (theirs.mean - ours.mean) <= points,
            f"Average Hoyer {sparse.value('hoyer_sample')}; losses {said:.2f} and, weighted {alike:g}, {loss:.2f}; "
            f"{ours} against {theirs}",
        )
    ]


def _in_use(measured: Measurements) -> list[Check]:
    """Check that codes carry something, and that more than a few units do."""
    checks = []
    for settings in _kinds(measured):
        found = measured.where(**settings)
        kl, used = found.value("kl"), found.value("used")
        checks.append(
            Check(
                f"{CORPORA[settings['data']]}, {settings['n_units']} units, {_named(settings)}: more than {LEAST_KL:g} "
                f"nats and more than {LEAST_UNITS} units in use",
                kl.mean > LEAST_KL and used.mean > LEAST_UNITS,
                f"{kl} nats, {used} units",
            )
        )
    return checks


def _kinds(measured: Measurements) -> list[dict[str, Any]]:
    """Return what tells models apart, each once."""
    names = ("data", "n_units", "model", "dial", "weight")
    coded = (row.settings for row in measured.rows if "n_units" in row.settings)
    found = [{name: settings[name] for name in names} for settings in coded]
    return list({repr(kind): kind for kind in found}.values())


def sparsity_and_accuracy(here: Measurements) -> float | None:
    """Return Spearman's correlation of HSVAE's Average Hoyer and accuracy over its priors; None of fewer than 3."""
    priors = [kind for kind in _kinds(here) if kind["model"] == HIERARCHICAL and isinstance(kind["dial"], list)]
    found = [here.where(**kind) for kind in priors]
    curve = {point.value("hoyer_sample").mean: point.value("accuracy_sample") for point in found}
    return rank_correlation(curve) if len(curve) > 2 else None


def draw_accuracy(measured: Measurements) -> dict[str, Figure]:
    """Draw accuracy against Average Hoyer, a point a model and setting, and tell how the two go together."""
    from fewhot_papers.reproduction.figures import COLOURS, panels

    widths = sorted({kind["n_units"] for kind in _kinds(measured)})
    figure, axes = panels(len(CORPORA), len(widths))
    colours = dict(zip((HIERARCHICAL, MATCHED, DENSE, *PENALISED), COLOURS, strict=False))
    colours |= {PRETRAINED_HIERARCHICAL: colours[HIERARCHICAL], PRETRAINED_DENSE: colours[DENSE]}
    for (row, data), (column, n_units) in product(enumerate(CORPORA), enumerate(widths)):
        here, panel = measured.where(data=data, n_units=n_units), axes[row, column]
        for model, colour in colours.items():
            points = [here.where(**kind) for kind in _kinds(here) if kind["model"] == model]
            if not points:
                continue
            x, y = ([point.value(name) for point in points] for name in ("hoyer_sample", "accuracy_sample"))
            panel.errorbar(
                [value.mean for value in x],
                [100 * value.mean for value in y],
                xerr=[0.0 if math.isnan(value.se) else value.se for value in x],
                yerr=[0.0 if math.isnan(value.se) else 100 * value.se for value in y],
                fmt="o",
                color=colour,
                label=model,
                markersize=4,
            )
        for model, line in ((SIMPLE, ":"), (FROZEN, "--")):
            if measured.where(data=data, model=model).rows:
                accuracy = measured.value("accuracy", data=data, model=model).mean
                panel.axhline(100 * accuracy, color="0.6", linestyle=line, linewidth=1.0, label=model)
        panel.set(xlabel="Average Hoyer of draws", ylabel="test accuracy (%)", xlim=(0, 1))
        rho = sparsity_and_accuracy(here)
        told = "" if rho is None else f": {HIERARCHICAL}'s priors, Spearman {rho:.2g}"
        panel.set_title(f"{CORPORA[data]}, {n_units} units{told}", fontsize="medium")
        panel.spines[["top", "right"]].set_visible(False)
    axes[0, 0].legend(frameon=False, fontsize="x-small")
    return {"accuracy": figure}


FIGURE_2 = Entry(
    id="prokhorov2021-fig2",
    title="Accuracy and sparsity of codes of sentences",
    source=f"{PAPER}, figure 2",
    data=tuple(CORPORA),
    protocol=(
        f"{PROTOCOL} HSVAE under {len(PRIORS[YAHOO, COMPARED])} priors, and of {COMPARED} units with {_HELD} of them "
        f"held active, gates beginning open; MAT-VAE under {len(MIXES)}, the VAE of {COMPARED} units under "
        f"{_n_weights(MATCHING_WEIGHTS)} weights; a recurrent network trained by the labels; three seeds."
    ),
    published=(
        "HSVAE's accuracy is about that of dense VAEs, at a higher Average Hoyer; with 768 units all are nearly equal. "
        "The numbers are in a picture alone."
    ),
    rule=(
        f"With {COMPARED} units, where HSVAE's draws have an Average Hoyer of at least {SPARSE:g}, its accuracy is at "
        f"most {POINTS:g} points below that of the VAE whose loss on held-out texts is nearest, within {ALIKE:.0%}; "
        f"every model's codes have more than {LEAST_KL:g} nats and more than {LEAST_UNITS} units in use."
    ),
    open_choices=("The priors and mixes behind the figure: not given.", "Epochs: 15 in the public code, of all texts."),
    changes=CHANGES,
    cells=accuracy_cells,
    judge=judge_accuracy,
    draw=draw_accuracy,
)
PRETRAINED_ENCODERS = Entry(
    id="prokhorov2021-fig2-pretrained",
    title="Accuracy and sparsity of codes of sentences with a pretrained encoder",
    source=f"{PAPER}, figure 2, B-VAE and B-HSVAE",
    data=tuple(CORPORA),
    protocol=(
        f"{PROTOCOL} {COMPARED} units; the encoder is all-MiniLM-L6-v2, 384 wide, trained with the model at 8e-5. "
        f"HSVAE with a prior, or with a number of units held active ({_PRETRAINED_DIALS}); the VAE under "
        f"{_n_weights(PRETRAINED_WEIGHTS)} weights; the transformer as it is with a classifier; three seeds."
    ),
    published="B-HSVAE's accuracy is about that of B-VAE, at a higher Average Hoyer. The numbers are in a picture.",
    rule=(
        f"B-HSVAE's accuracy is at most {PRETRAINED_POINTS:g} point below that of the B-VAE whose loss on held-out "
        f"texts is nearest, within {ALIKE:.0%}; all codes have more than {LEAST_KL:g} nats and more than "
        f"{LEAST_UNITS} units in use."
    ),
    open_choices=("Whether the transformer is trained with the model: not said; it is.",),
    changes=(*CHANGES, "all-MiniLM-L6-v2, a smaller transformer, stands in for BERT-base."),
    cells=pretrained_cells,
    judge=judge_pretrained,
    draw=draw_accuracy,
)
