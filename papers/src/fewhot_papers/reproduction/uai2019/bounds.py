"""The ELBO against latent size and prior sparsity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from fewhot_papers.reproduction.comparing import best, falls, falls_less
from fewhot_papers.reproduction.entry import Cell, Check, Entry, Reading
from fewhot_papers.reproduction.measurements import Measurements, Value
from fewhot_papers.reproduction.uai2019.grid import (
    ALPHA,
    BASELINES,
    ELBO_ALPHAS,
    ELBO_MIDDLE,
    ELBO_SIZES,
    OPEN_CHOICES,
    PAPER,
    SEEDS,
    STEPS,
    fashion_fit,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STEADY = 0.01
"""How far the VSC's bound may fall as units are added, as a share of its best."""
IN_VIEW = 0.9
"""Bounds below this share of the best one are written in the panel, not drawn."""
BOUNDS = {
    "bound": "under the mixture",
    "bound_corrected": "paying for the selection",
    "bound_paper": "as published",
}
FEWER_STEPS = f"{STEPS:,} steps instead of 70,000, the schedule scaled."
SAME_STEP_SIZES = "So that it trains as far in fewer steps, the β-VAE has the VSC's step sizes, not 1e-4 throughout."
HAR_MISSING = (
    "UCI-HAR (10,299 rows of 561 features): its archive is fetched from archive.ics.uci.edu, which was not within "
    "reach. The dataset uci_har reads it; this entry has no cells for it."
)


def cells(quick: bool) -> Sequence[Cell]:
    """Return both models at every size, and the VSC at one size with every alpha."""
    sizes = (ELBO_SIZES[0], ELBO_MIDDLE) if quick else ELBO_SIZES
    return [
        cell
        for seed in (SEEDS[:1] if quick else SEEDS)
        for cell in (
            *(fashion_fit("vsc", size, seed, alpha=ALPHA, quick=quick) for size in sizes),
            *(fashion_fit("beta-vae", size, seed, quick=quick) for size in sizes),
            *(fashion_fit("vsc", ELBO_MIDDLE, seed, alpha=a, quick=quick) for a in ELBO_ALPHAS if a != ALPHA),
        )
    ]


def by_size(measured: Measurements, number: str, model: str) -> dict[int, Value]:
    """Return a bound of a model against its number of units."""
    return measured.along(number, "n_units", model=model, alpha=ALPHA if model == "vsc" else None)


def judge(measured: Measurements) -> list[Reading]:
    """Judge by the bound of record, then by the published one."""
    unpaid = "Bounds are the published ones, which do not pay for the selection of a pseudo-input and bound nothing."
    readings = ((None, "bound", ""), (unpaid, "bound_paper", "the published bound"))
    return [Reading(change, _checks(measured, number), only) for change, number, only in readings]


def _checks(measured: Measurements, number: str) -> list[Check]:
    vae, vsc = by_size(measured, "bound", "beta-vae"), by_size(measured, number, "vsc")
    worst, before = largest_fall(vsc)
    steady = vsc[before].mean - vsc[worst].mean < STEADY * abs(vsc[best(vsc)].mean)
    return [
        falls(f"the β-VAE at {max(vae)} units is below its best", vae),
        falls_less("the VSC falls less than the β-VAE", vsc, vae),
        Check(
            f"the VSC loses less than {STEADY:.0%} of its best as units are added, at any size",
            steady,
            f"{vsc[worst]} at {worst} units, {vsc[before]} at {before}",
        ),
    ]


def largest_fall(curve: Mapping[int, Value]) -> tuple[int, int]:
    """Return the size that lies farthest below a smaller one, and that one; the same size twice where none does.

    >>> largest_fall({10: Value(3.0, 0, 3), 30: Value(5.0, 0, 3), 60: Value(1.0, 0, 3), 90: Value(6.0, 0, 3)})
    (60, 30)
    """
    sizes = sorted(curve)
    pairs = [(size, before) for i, size in enumerate(sizes) for before in sizes[: i + 1]]
    return max(pairs, key=lambda pair: curve[pair[1]].mean - curve[pair[0]].mean)


def draw(measured: Measurements) -> dict[str, Figure]:
    """Draw all three bounds of the VSC and that of the beta-VAE against size, and against alpha."""
    from fewhot_papers.reproduction.figures import curves, panels

    figure, axes = panels(1, 2)
    sizes = {f"VSC, {words}": by_size(measured, number, "vsc") for number, words in BOUNDS.items()}
    sizes[BASELINES["beta-vae"]] = by_size(measured, "bound", "beta-vae")
    here = measured.where(model="vsc", n_units=ELBO_MIDDLE)
    alphas = {f"VSC, {words}": here.along(number, "alpha") for number, words in BOUNDS.items()}
    shown, hidden = _in_view(sizes)
    curves(axes[0, 0], shown, title=f"Fashion-MNIST, α = {ALPHA:g}", x="latent units", y="test bound (nats)")
    axes[0, 0].text(0.98, 0.35, hidden, transform=axes[0, 0].transAxes, fontsize="x-small", ha="right")
    title = f"Fashion-MNIST, {ELBO_MIDDLE} units"
    curves(axes[0, 1], alphas, title=title, x="prior on-rate α", y="test bound (nats)", log=True)
    return {"bound": figure}


def _in_view(lines: Mapping[str, Mapping[int, Value]]) -> tuple[dict[str, dict[int, Value]], str]:
    """Return what lies near the best bound, and words on what does not."""
    floor = IN_VIEW * max(value.mean for curve in lines.values() for value in curve.values())
    if floor <= 0:
        return {label: dict(curve) for label, curve in lines.items()}, ""
    shown = {label: {x: value for x, value in curve.items() if value.mean >= floor} for label, curve in lines.items()}
    hidden = [f"{label}: {v} at {x}" for label, curve in lines.items() for x, v in curve.items() if v.mean < floor]
    return shown, "\n".join(["not in view:", *hidden]) if hidden else ""


PROTOCOL = (
    f"VSC as published (20 pseudo-inputs, {ALPHA:g} as prior on-rate) and β-VAE with β = 1, one hidden layer of 3,000 "
    f"on either side, {', '.join(map(str, ELBO_SIZES))} units, unit-norm rows, batches of 500, three seeds; the VSC "
    f"of {ELBO_MIDDLE} units also with {', '.join(f'{a:g}' for a in ELBO_ALPHAS[1:])}. Spikes alone for 15/70 of the "
    "steps, the values coming in until 20/70, step size 1e-3 until then and 1e-4 after. Mean bound of the test rows "
    "under exact gates: that of the mixture of pseudo-inputs is of record, the published one and the one that pays for "
    "the selection stand beside it."
)
PUBLISHED = (
    "Supplement D.1 says how figure 1 was made, the ELBO of VSC and β-VAE against prior sparsity and latent size. The "
    "figure and its text are in the main paper, which was not at hand; the claim judged is that of the ICLR "
    "submission's figure 2, that the VSC is the more stable of the two as latents are added."
)
RULE = (
    "The β-VAE's bound at the largest size is below its best size by more than 2 SE; the VSC's fall from its best size "
    "to the largest is smaller than the β-VAE's by more than 2 SE, and at no size does it lie more than "
    f"{STEADY:.0%} of its best below that of a smaller one (first, and met: at the largest size; all sizes since a run "
    "with a fall at 120 units was seen). If so for the published bound only: a stated change. The bounds against the "
    "prior on-rate are reported, and decide nothing."
)
CHOICES = (
    *OPEN_CHOICES,
    "Latent sizes, prior on-rates and the β of the β-VAE in figure 1: not in the supplement; as above.",
)

ELBO = Entry(
    id="uai2019-elbo",
    title="Test ELBO against latent size and prior sparsity, Fashion-MNIST",
    source=f"{PAPER}, figure 1, Fashion-MNIST, and supplement D.1",
    data=("fashion_mnist",),
    protocol=PROTOCOL,
    published=PUBLISHED,
    rule=RULE,
    open_choices=CHOICES,
    changes=(FEWER_STEPS, SAME_STEP_SIZES),
    cells=cells,
    judge=judge,
    draw=draw,
)

ELBO_HAR = Entry(
    id="uai2019-elbo-har",
    title="Test ELBO against latent size and prior sparsity, UCI-HAR",
    source=f"{PAPER}, figure 1, UCI-HAR, and supplement D.1",
    data=("uci_har",),
    protocol="As on Fashion-MNIST.",
    published=PUBLISHED,
    rule="None can be applied without the data.",
    open_choices=CHOICES,
    missing=HAR_MISSING,
)
