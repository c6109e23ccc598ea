"""Figures 6 and 11: how far the inference network is off, against the rare words of a document."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fewhot.metrics.rare_words import RARE_SHARE
from fewhot_papers.reproduction.aistats2018.mechanics import entry, plain_cells
from fewhot_papers.reproduction.entry import Check, Reading
from fewhot_papers.reproduction.measurements import Measurements

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MODERATE = 0.5


def judge_rare_words(measured: Measurements) -> list[Reading]:
    """Judge that the inference network is farther off where there are more rare words."""
    return [Reading(None, [_goes_with_rare_words(measured, "train", "training")])]


def judge_rare_words_of_both(measured: Measurements) -> list[Reading]:
    """Judge the same on test documents, too."""
    both = (("train", "training"), ("test", "test"))
    return [Reading(None, [_goes_with_rare_words(measured, name, what) for name, what in both])]


def _goes_with_rare_words(measured: Measurements, name: str, what: str) -> Check:
    rho = measured.value(f"rare_{name}", inference="amortised")
    statement = f"{what} documents: Spearman's correlation of KL(ψ(x)‖ψ*) with rare words is at least {MODERATE:g}"
    return Check(statement, rho.mean >= MODERATE, str(rho))


def draw_rare_words(measured: Measurements) -> dict[str, Figure]:
    """Draw how frequent words are, and divergences beside rare words of documents in the order of the divergences."""
    from fewhot_papers.reproduction.figures import COLOURS, panels

    figure, axes = panels(1, 3)
    here = measured.where(inference="amortised")
    shares = here.array("word_shares")
    if shares is not None:
        axes[0, 0].semilogy(range(1, len(shares) + 1), shares, color=COLOURS[0])
        axes[0, 0].axhline(RARE_SHARE, color="0.6", linestyle=":")
    axes[0, 0].set(xlabel="word, by frequency", ylabel="share of training documents")
    for place, (name, what) in enumerate((("train", "training"), ("test", "test")), 1):
        apart, rare = here.array(f"divergences_{name}"), here.array(f"rare_words_{name}")
        if apart is not None and rare is not None:
            order = np.argsort(apart, kind="stable")
            for values, label, colour in ((rare, "rare words", "0.75"), (apart, "KL(ψ(x)‖ψ*)", COLOURS[0])):
                axes[0, place].plot(_scaled(values[order]), label=label, color=colour, linewidth=1)
            axes[0, place].legend(frameon=False, fontsize="x-small")
        axes[0, place].set(xlabel=f"{what} documents, by divergence", ylabel="scaled to 0 to 1")
    for one in axes[0]:
        one.spines[["top", "right"]].set_visible(False)
    return {"rare-words": figure}


def draw_scatter(measured: Measurements) -> dict[str, Figure]:
    """Draw the divergence of training documents against their rare words, of the first seed of 3-ψ(x)."""
    from fewhot.plots import rare_words

    here = measured.where(inference="amortised")
    apart, rare = here.array("divergences_train"), here.array("rare_words_train")
    return {} if apart is None or rare is None else {"rare-words": rare_words(rare, apart)}


def _scaled(values: np.ndarray) -> np.ndarray:
    low, high = float(values.min()), float(values.max())
    return (values - low) / (high - low or 1.0)


FIGURE_6 = entry(
    "figure 6",
    "How far the inference network is off, against rare words",
    "Spearman's correlation over 20,000 documents is about 0.88 on training documents (figures 6 and 11).",
    f"The correlation, on 2,000 training documents of 3-ψ(x), is at least {MODERATE:g}.",
    cells=plain_cells,
    judge=judge_rare_words,
    draw=draw_scatter,
)
FIGURE_11 = entry(
    "figure 11",
    "Divergences and rare words of training and test documents",
    "Documents that ψ* moves farthest have many rare words, in training and held-out documents alike.",
    f"The correlation, on 2,000 training and 2,000 test documents of 3-ψ(x), is at least {MODERATE:g}.",
    cells=plain_cells,
    judge=judge_rare_words_of_both,
    draw=draw_rare_words,
)
