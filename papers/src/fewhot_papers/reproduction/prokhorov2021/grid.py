"""Which models are fitted to sentences: one function makes every cell, so that figures share fits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fewhot_papers.reproduction.entry import Cell

PAPER = "Prokhorov, Li, Shareghi and Collier (2021), Learning Sparse Sentence Encoding without Supervision"
SEEDS = (0, 1, 2)
CORPORA = {"hsvae_yahoo": "Yahoo", "hsvae_dbpedia": "DBpedia"}
WIDTHS = (32, 768)
_PRIORS = ((1.0, 1.0), (4.0, 1.0), (12.0, 1.0))
PRIORS = {
    ("hsvae_yahoo", 32): ((1.0, 100.0), *_PRIORS, (24.0, 1.0)),
    ("hsvae_yahoo", 768): ((1.0, 100.0), *_PRIORS, (80.0, 1.0)),
    ("hsvae_dbpedia", 32): ((1.0, 9.0), *_PRIORS, (20.0, 1.0)),
    ("hsvae_dbpedia", 768): ((1.0, 9.0), *_PRIORS, (20.0, 1.0)),
}
"""Concentrations of being off and on, from dense to sparse. On DBpedia (40, 1) leaves three of 32 units in use."""
N_ACTIVE = {"hsvae_yahoo": 150.0, "hsvae_dbpedia": 60.0}
"""Mean number of active units that HSVAE holds by its dial."""
DENSE_START = 0.3
"""Share of the epochs in which gates are open, where there are many: 32 units of which all are in use by then stay so
under every prior."""
MIXES = (0.2, 0.5, 0.8)
"""Weights of the spike in MAT-VAE's prior."""
MMD_WEIGHT = 0.03
"""Of MAT-VAE's discrepancy, a sum over units: with the default of 3, 768 of them leave the texts no say."""
EPOCHS = {"hsvae_yahoo": 30, "hsvae_dbpedia": 25}
"""With more, held-out texts are said worse."""
BATCH = 256
CLASSIFIER_EPOCHS = 60
"""At most; held-out texts say when it is enough."""
WEIGHT = 0.01
"""Of both divergences, as published. With 0.03 for the values of 768 units, sparse codes of Yahoo are no nearer to
dense ones that say texts alike."""
FEW_GATES_WEIGHT = 0.05
GATE_WEIGHTS = {
    "hsvae_yahoo": {32: FEW_GATES_WEIGHT, 768: 0.001},
    "hsvae_dbpedia": {32: FEW_GATES_WEIGHT, 768: WEIGHT},
}
"""Of the divergence of gates, by the number of units. Where there are few, each says too much to be switched off by a
prior that is weighted as published; where 768 serve short texts, as on Yahoo, held-out texts are said better with
less."""
MATCHING_WEIGHTS = {"hsvae_yahoo": (0.04, 0.12, 0.16, 0.2, 0.25), "hsvae_dbpedia": (0.06, 0.12, 0.35, 0.5)}
"""Further ones of the dense VAE, which then says texts no better than sparse codes do."""
DENSE, HIERARCHICAL, MATCHED = "VAE", "HSVAE", "MAT-VAE"
PENALISED = {"VAE-L1": "l1", "VAE-L2": "l2"}
SIMPLE, FROZEN = "simple classifier", "frozen transformer"
"""Classifiers that have no code: of a recurrent network and its labels, and of a transformer that does not learn."""
PRETRAINED_DENSE, PRETRAINED_HIERARCHICAL = PRETRAINED = ("B-VAE", "B-HSVAE")
COMPARED = 768
"""Units of the models that are compared where they say texts alike."""
PRETRAINED_DIALS: dict[str, tuple[Any, ...]] = {"hsvae_yahoo": ((100.0, 1.0), 100.0), "hsvae_dbpedia": (60.0,)}
"""Of sparse models with a pretrained encoder: a prior, or a number of units that is held."""
PRETRAINED_WEIGHTS = {"hsvae_yahoo": (0.085, 0.12, 0.14), "hsvae_dbpedia": (0.15,)}
"""Further ones of the dense model with that encoder, which then says held-out texts no better than sparse ones do."""
CLAIM = (4.0, 1.0)
"""The prior of the documented command line."""

PROTOCOL = (
    "Yahoo and DBpedia as released, without their training texts: fitted on the validation texts less a tenth, which "
    f"is held out, and judged on the test texts. Words of 256, GRUs of 512, batches of {BATCH}, Adam 8e-4, "
    f"{EPOCHS['hsvae_yahoo']} and {EPOCHS['hsvae_dbpedia']} epochs, both divergences weighted {WEIGHT:g} if nothing "
    f"else is said, that of the gates of 32 units {FEW_GATES_WEIGHT:g}, of {COMPARED} on Yahoo "
    f"{GATE_WEIGHTS['hsvae_yahoo'][COMPARED]:g}; MAT-VAE's discrepancy weighted {MMD_WEIGHT:g}. They come in over the "
    f"first fifth of the steps; HSVAE of {COMPARED} units on recurrent networks begins with open gates, and its "
    f"divergences come in after a share {DENSE_START:g} of the steps. The rate decays. HSVAE with its Beta laws "
    "integrated out. Two layers of 32 on five draws of the code, the log of the mean."
)
CHANGES = (
    "The training texts were not released, so that a tenth as many are fitted, for more epochs.",
    "Yelp's texts in the published form are not available.",
)


def text_cell(
    data: str, model: str, n_units: int, seed: int, *, dial: Any = None, weight: float = WEIGHT, quick: bool = False
) -> Cell:
    """Return the cell of one fit.

    ``dial`` is what sets the sparsity of the model, where something does: concentrations of HSVAE's prior or the number
    of active units it is to hold, or MAT-VAE's mix. ``weight`` is that of the divergence.
    """
    settings: dict[str, Any] = {
        "data": data,
        "model": model,
        "dial": list(dial) if isinstance(dial, tuple) else dial,
        "weight": weight,
        "gate_weight": GATE_WEIGHTS[data][n_units] if model in (HIERARCHICAL, PRETRAINED_HIERARCHICAL) else None,
        "n_units": 4 if quick else n_units,
        "n_hidden": 8 if quick else 512,
        "epochs": 2 if quick else EPOCHS[data],
        "batch_size": 32 if quick else BATCH,
        "n_texts": (60 if model in PRETRAINED else 300) if quick else None,
        "probe_epochs": 3 if quick else 100,
        "seed": seed,
    }
    if model == MATCHED:
        settings["mmd_weight"] = MMD_WEIGHT
    if model == HIERARCHICAL and n_units == COMPARED and isinstance(dial, tuple):
        settings["dense_start"] = DENSE_START
    told = "" if dial is None else f" {dial}"
    return Cell(
        kind="prokhorov-texts",
        settings=settings,
        data=data,
        cost=settings["epochs"] * (3 if data == "hsvae_dbpedia" else 1),
        name=f"{CORPORA[data]}, {model}{told}, {n_units} units, seed {seed}",
    )


def sparsity_cells(quick: bool, widths: Sequence[int] = WIDTHS) -> list[Cell]:
    """Return HSVAE under all priors, and MAT-VAE under all mixes."""
    return [
        text_cell(data, model, n_units, seed, dial=dial, quick=quick)
        for data in (list(CORPORA)[:1] if quick else CORPORA)
        for n_units in (widths[:1] if quick else widths)
        for model, dial in _dials(data, n_units, quick)
        for seed in (SEEDS[:1] if quick else SEEDS)
    ]


def _dials(data: str, n_units: int, quick: bool) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = [*((HIERARCHICAL, prior) for prior in PRIORS[data, n_units])]
    found += [(MATCHED, mix) for mix in MIXES]
    return [found[0], found[2], found[-1]] if quick else found


def accuracy_cells(quick: bool) -> list[Cell]:
    """Return all models: those whose sparsity can be set, and dense ones under several weights of the divergence."""
    dense = [
        text_cell(data, model, n_units, seed, weight=weight, quick=quick)
        for data in (list(CORPORA)[:1] if quick else CORPORA)
        for n_units in (WIDTHS[:1] if quick else WIDTHS)
        for model, weight in _dense(data, n_units)
        for seed in (SEEDS[:1] if quick else SEEDS)
    ]
    held = [
        text_cell(data, HIERARCHICAL, COMPARED, seed, dial=N_ACTIVE[data], quick=quick)
        for data in (() if quick else CORPORA)
        for seed in SEEDS
    ]
    return [*dense, *held, *sparsity_cells(quick), *_classifier_cells(SIMPLE, quick)]


def _dense(data: str, n_units: int) -> list[tuple[str, float]]:
    matching = MATCHING_WEIGHTS[data] if n_units == COMPARED else ()
    return [*((model, WEIGHT) for model in (DENSE, *PENALISED)), *((DENSE, weight) for weight in matching)]


def pretrained_cells(quick: bool) -> list[Cell]:
    """Return models whose encoder is a pretrained transformer: sparse, and dense under several weights."""
    return [
        text_cell(data, model, COMPARED, seed, dial=dial, weight=weight, quick=quick)
        for data in (list(CORPORA)[:1] if quick else CORPORA)
        for model, dial, weight in _pretrained(data)[: 3 if quick else None]
        for seed in (SEEDS[:1] if quick else SEEDS)
    ] + _classifier_cells(FROZEN, quick)


def _pretrained(data: str) -> list[tuple[str, Any, float]]:
    sparse = ((PRETRAINED_HIERARCHICAL, dial, WEIGHT) for dial in PRETRAINED_DIALS[data])
    return [*sparse, *((PRETRAINED_DENSE, None, weight) for weight in (WEIGHT, *PRETRAINED_WEIGHTS[data]))]


def _classifier_cells(model: str, quick: bool) -> list[Cell]:
    return [
        Cell(
            kind="prokhorov-classifiers",
            settings={
                "data": data,
                "model": model,
                "n_hidden": 8 if quick else 512,
                "epochs": 2 if quick else CLASSIFIER_EPOCHS,
                "n_texts": (60 if model == FROZEN else 300) if quick else None,
                "seed": seed,
            },
            data=data,
            cost=2 if quick else CLASSIFIER_EPOCHS / 3,
            name=f"{CORPORA[data]}, {model}, seed {seed}",
        )
        for data in (list(CORPORA)[:1] if quick else CORPORA)
        for seed in (SEEDS[:1] if quick else SEEDS)
    ]
