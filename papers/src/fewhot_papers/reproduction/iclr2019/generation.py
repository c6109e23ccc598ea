"""Figures 12 and 13: images drawn from the prior, and from the units one image activates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fewhot_papers.reproduction.comparing import less, more
from fewhot_papers.reproduction.entry import Cell, Check, Entry, Reading
from fewhot_papers.reproduction.iclr2019.bounds import model_name
from fewhot_papers.reproduction.iclr2019.grid import (
    LARGE,
    OPEN_CHOICES,
    PAPER,
    SAMPLING_ALPHA,
    VAE_ALPHA,
    fits,
    quick_fits,
)
from fewhot_papers.reproduction.measurements import Measurements
from fewhot_papers.reproduction.measuring import NEIGHBOUR_IMAGES, NEIGHBOUR_SAMPLES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FASHION = ("fashion_mnist",)
MOST = 0.5
CHOICES = (
    *OPEN_CHOICES,
    "Latent size: not said; 200.",
    "What is shown of a sample: not said; the decoder's mean.",
    "Realism is judged by eye in the paper; here by the mean distance of a sample to its nearest training image "
    f"({NEIGHBOUR_SAMPLES:,} samples, {NEIGHBOUR_IMAGES:,} unit-norm images), which favours blurred samples.",
)


def judge_figure_12(measured: Measurements) -> list[Reading]:
    """Judge that samples from the sparse prior lie farther from real images than the VAE's."""
    vae, vsc = (measured.value("distance_ancestral", alpha=alpha) for alpha in (VAE_ALPHA, SAMPLING_ALPHA))
    return [Reading(None, [more("VSC samples lie farther from real images than VAE samples", vsc, vae)])]


def draw_figure_12(measured: Measurements) -> dict[str, Figure]:
    """Draw a sheet of samples a model."""
    from fewhot_papers.reproduction.figures import image_grid, panels

    alphas = [a for a in (VAE_ALPHA, SAMPLING_ALPHA) if measured.array("ancestral", alpha=a) is not None]
    if not alphas:
        return {}
    figure, axes = panels(1, len(alphas), width=4.0, height=4.2)
    for i, alpha in enumerate(alphas):
        sheet = measured.array("ancestral", alpha=alpha)
        assert sheet is not None
        image_grid(axes[0, i], sheet, round(len(sheet) ** 0.5), title=f"{model_name(alpha)}, ancestral")
    return {"ancestral": figure}


def _figure_12_cells(quick: bool) -> Sequence[Cell]:
    alphas = (VAE_ALPHA, SAMPLING_ALPHA)
    return quick_fits(FASHION, alphas, (LARGE,)) if quick else fits(FASHION, alphas, (LARGE,))


def judge_figure_13(measured: Measurements) -> list[Reading]:
    """Judge that conditional samples look more real than ancestral ones and are of the kind of their image."""
    here = measured.where(alpha=SAMPLING_ALPHA)
    near, far = here.value("distance_conditional"), here.value("distance_ancestral")
    agreement, chance = here.value("agreement"), here.value("agreement_chance")
    same_kind = f"at least {MOST:.0%} of conditional samples are nearest to an image of the right class"
    return [
        Reading(
            None,
            [
                less("conditional samples lie nearer to real images than ancestral ones", near, far),
                more("they agree with their image's class more often than by chance", agreement, chance),
                Check(same_kind, agreement.mean >= MOST, str(agreement)),
            ],
        )
    ]


def draw_figure_13(measured: Measurements) -> dict[str, Figure]:
    """Draw images, each followed by samples conditioned on its active units."""
    from fewhot_papers.reproduction.figures import conditional_samples

    given, drawn = (measured.array(name, alpha=SAMPLING_ALPHA) for name in ("original", "conditional"))
    if given is None or drawn is None:
        return {}
    title = f"{model_name(SAMPLING_ALPHA)}: an image, then samples on its active units"
    return {"conditional": conditional_samples(given, drawn, title=title)}


def _figure_13_cells(quick: bool) -> Sequence[Cell]:
    alphas = (SAMPLING_ALPHA,)
    return quick_fits(FASHION, alphas, (LARGE,)) if quick else fits(FASHION, alphas, (LARGE,))


FIGURE_12 = Entry(
    id="iclr2019-fig12",
    title="Ancestral samples of a VAE and a VSC",
    source=f"{PAPER}, figure 12",
    data=FASHION,
    protocol=(
        "VAE and VSC alpha 0.1, 200 units, Fashion-MNIST, otherwise as figure 2; a code from the prior, then the "
        "decoder's mean."
    ),
    published=(
        "Appendix E.5: samples directly from the sparse prior are not as realistic as the VAE's, as not any "
        "combination of features is feasible. Given as a picture only."
    ),
    rule=(
        "The mean distance of VSC samples to the nearest training image is above that of VAE samples by more than 2 SE."
    ),
    open_choices=CHOICES,
    cells=_figure_12_cells,
    judge=judge_figure_12,
    draw=draw_figure_12,
)

FIGURE_13 = Entry(
    id="iclr2019-fig13",
    title="Samples conditioned on the units an image activates",
    source=f"{PAPER}, figure 13",
    data=FASHION,
    protocol=(
        "VSC alpha 0.1, 200 units, Fashion-MNIST; the active set of a test image's map code is kept, its values are "
        "drawn from the prior's slab, and the decoder's mean is taken."
    ),
    published=(
        "Appendix E.5: good synthetic samples conditioned on the features of an observation; different observations "
        "give different sub-generative models of distinct types of objects. Given as a picture only."
    ),
    rule=(
        "Conditional samples lie nearer to training images than ancestral ones by more than 2 SE; their nearest "
        "training image has the class of the conditioning image more often than by chance by more than 2 SE, and in "
        f"at least {MOST:.0%} of cases."
    ),
    open_choices=CHOICES,
    cells=_figure_13_cells,
    judge=judge_figure_13,
    draw=draw_figure_13,
)
