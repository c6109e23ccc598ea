"""Which models are fitted: one function makes every cell, so that tables and figures asking for the same fit share it.

20 Newsgroups, three seeds.

- 200 passes: one and three generative layers, trained by ψ(x) and by ψ*, reading proportions and tf-idf, 24 fits;
  eight settings of our own, 24 fits.
- Three layers and tf-idf, 40 passes, as a stand-in for Wikipedia: both trainings with inference networks of one to
  three hidden layers, 18 fits; ψ* for the first or for all but the first ten passes, 6; ψ(x) with an annealed
  divergence, 9; both trainings with a half, a quarter and an eighth of the words, 18; ψ* with 5, 20, 50 and 200 steps,
  12.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

from fewhot_papers.reproduction.entry import Cell

PAPER = (
    "Krishnan, Liang and Hoffman, On the challenges of learning with inference networks on sparse, high-dimensional "
    "data, AISTATS 2018"
)
SEEDS = (0, 1, 2)
LAYERS = (1, 3)
TRAININGS = {"amortised": "ψ(x)", "refined": "ψ*"}
FEATURES = ("norm", "tfidf")
EPOCHS = 200
UNITS = 100
INNER_STEPS = 100
SHORT = 40
"""Passes of the fits that stand in for those on Wikipedia."""
SWITCH = 10
DEPTHS = (1, 2, 3)
ANNEALINGS = (200, 400, 800)
WORDS = (250, 500, 1000, None)
ASCENTS = (5, 20, 50, INNER_STEPS, 200)
"""Numbers of inner steps of the sweep."""
PLAIN: dict[str, Any] = {"q_layers": 2, "refined_epochs": None, "annealing": None, "n_words": None, "tuned": None}
TUNED = [
    {"n_layers": 1, "features": features, "activation": activation, "learning_rate": rate, "weight_decay": 3e-4}
    for features, activation, rate in product(("tfidf", "log"), ("tanh", "gelu"), (1e-3, 3e-3))
]
"""Settings beyond the paper's among which validation documents choose, as arguments of `NFA`."""
TUNED_BATCH = 100
TUNED_ANNEALING = 0.3
"""Share of the steps over which the divergence comes in."""


def text_fit(
    n_layers: int,
    inference: str,
    features: str,
    seed: int,
    *,
    quick: bool = False,
    epochs: int = EPOCHS,
    **changes: Any,
) -> Cell:
    """Return the cell of one fit to 20 Newsgroups; ``changes`` are of what `PLAIN` holds, or of ``inner_steps``."""
    settings: dict[str, Any] = {
        "data": "newsgroups_nvdm",
        "n_layers": n_layers,
        "inference": inference,
        "features": features,
        "seed": seed,
        "n_units": 10 if quick else UNITS,
        "hidden": 20 if quick else 400,
        "epochs": 2 if quick else epochs,
        "batch_size": 100 if quick else 500,
        "inner_steps": 3 if quick else INNER_STEPS,
        "n_train": 500 if quick else None,
        "n_test": 200 if quick else None,
        **PLAIN,
    }
    settings |= changes
    cost = settings["epochs"] * (1 + (settings["inner_steps"] / 2 if inference == "refined" else 0))
    return Cell(
        kind="aistats2018-text",
        settings=settings,
        data="newsgroups_nvdm",
        cost=cost,
        name=f"20 Newsgroups, {row_name(settings)}{''.join(f', {k}={v}' for k, v in changes.items())}, seed {seed}",
    )


def table_3(quick: bool) -> Sequence[Cell]:
    """Return the fits of the table's eight rows."""
    return [
        text_fit(n_layers, inference, features, seed, quick=quick)
        for n_layers in LAYERS
        for inference in TRAININGS
        for features in FEATURES
        for seed in (SEEDS[:1] if quick else SEEDS)
    ]


def tuned_fits(quick: bool) -> Sequence[Cell]:
    """Return fits by ψ(x) with other networks and smaller batches than the paper's, in as many passes."""
    return [
        text_fit(chosen["n_layers"], "amortised", chosen["features"], seed, quick=quick, tuned=chosen)
        for chosen in (TUNED[:1] if quick else TUNED)
        for seed in (SEEDS[:1] if quick else SEEDS)
    ]


def table_3_and_tuned(quick: bool) -> Sequence[Cell]:
    """Return the fits of the table, and the tuned ones."""
    return [*table_3(quick), *tuned_fits(quick)]


def short_fits(quick: bool, trainings: Sequence[str], variants: Sequence[dict[str, Any]]) -> Sequence[Cell]:
    """Return fits of three layers that read tf-idf, with each change, by each training."""
    return [
        text_fit(3, inference, "tfidf", seed, quick=quick, epochs=SHORT, **changes)
        for inference in trainings
        for changes in variants
        for seed in (SEEDS[:1] if quick else SEEDS)
    ]


def row_name(settings: Any) -> str:
    """Return what the paper calls a row.

    >>> row_name({"n_layers": 3, "inference": "refined", "features": "tfidf"})
    '3-ψ*-tfidf'
    """
    return f"{settings['n_layers']}-{TRAININGS[settings['inference']]}-{settings['features']}"
