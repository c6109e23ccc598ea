"""Which models are fitted to images: one function makes every cell, so that tables and figures share fits.

MNIST, binarised anew in every step, three seeds, of the published recipe ten: SDLGM as published and in two forms of
ours; on the same networks, categorical and Bernoulli codes under six estimators, and trained as ours are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from fewhot_papers.reproduction.entry import Cell

PAPER = "Xu, Onoro Rubio, Serra and Niepert, Learning Sparsity of Representations with Discrete Latent Variables"
SEEDS = (0, 1, 2)
AS_MANY_AS_PUBLISHED = tuple(range(10))
"""Seeds of the published recipe, whose soft bound differs by several nats from run to run."""
UNITS, SLOTS = 200, 40
PUBLISHED_STEPS, LONG_STEPS = 10_000, 40_000
NETWORK = (512, 384, 256)


class Model(NamedTuple):
    """A row of table I: its estimator, arguments, and how long it is trained."""

    kind: str
    options: dict[str, Any]
    steps: int = PUBLISHED_STEPS


CODES: dict[str, dict[str, Any]] = {
    "categorical": {"kind": "categorical", "n_classes": 10},
    "bernoulli": {"kind": "bernoulli"},
}
ESTIMATORS: dict[str, dict[str, Any]] = {
    "score function": {"estimator": "score-function"},
    "MuProp": {"estimator": "muprop"},
    "straight-through": {"estimator": "straight-through"},
    "annealed straight-through": {"estimator": "straight-through", "temperature_decay": 1e-4},
    "Gumbel-softmax": {"estimator": "concrete", "temperature_decay": 3e-5},
    "straight-through Gumbel-softmax": {"estimator": "straight-through-concrete", "temperature_decay": 3e-5},
}
"""Estimators of Jang et al., whose numbers table I repeats, by their names there."""
AS_PUBLISHED, SHARED, INDEPENDENT = "SDLGM, as published", "SDLGM, shared slots", "SDLGM, independent slots"
OURS: dict[str, Any] = {"n_slots": SLOTS, "prior": "joint", "n_draws": 4}
"""Chosen, as the densities were, on rows cut from the training digits (``benchmarks/discrete_codes.py``)."""
AS_LONG: dict[str, Any] = {"estimator": "second-order", "learn_prior": True, "n_draws": 4}
"""Codes of choices, with all that ours have but slots and a prior of what they choose together."""
MODELS: dict[str, Model] = {
    AS_PUBLISHED: Model("sdlgm", {"recipe": "xu"}),
    SHARED: Model("sdlgm", {**OURS, "slots": "shared", "density": 0.08}, LONG_STEPS),
    INDEPENDENT: Model("sdlgm", {**OURS, "slots": "independent", "density": 0.12}, LONG_STEPS),
    **{
        f"{code}, {name}": Model("gumbel", {**known, **options})
        for code, known in CODES.items()
        for name, options in ESTIMATORS.items()
    },
    **{
        f"{code}, second-order, trained as long": Model("gumbel", {**known, **AS_LONG}, LONG_STEPS)
        for code, known in CODES.items()
    },
}


def image_cell(model: str, seed: int, *, quick: bool = False) -> Cell:
    """Return the cell of one fit to MNIST."""
    settings: dict[str, Any] = {
        "data": "mnist",
        "model": model,
        "n_units": 20 if quick else UNITS,
        "hidden": [16] if quick else list(NETWORK),
        "steps": 30 if quick else MODELS[model].steps,
        "batch_size": 100,
        "n_train": 500 if quick else None,
        "n_test": 200 if quick else None,
        "n_watched": 100 if quick else 1000,
        "seed": seed,
    }
    return Cell(kind="xu-images", settings=settings, data="mnist", cost=settings["steps"], name=f"{model}, seed {seed}")


def image_cells(quick: bool) -> Sequence[Cell]:
    """Return all models of table I."""
    names = (AS_PUBLISHED, SHARED, "categorical, Gumbel-softmax") if quick else MODELS
    return [image_cell(model, seed, quick=quick) for model in names for seed in _seeds(model, quick)]


def slot_cells(quick: bool) -> Sequence[Cell]:
    """Return the three forms of SDLGM."""
    names = (AS_PUBLISHED, SHARED) if quick else (AS_PUBLISHED, SHARED, INDEPENDENT)
    return [image_cell(model, seed, quick=quick) for model in names for seed in _seeds(model, quick)]


def _seeds(model: str, quick: bool) -> Sequence[int]:
    if quick:
        return SEEDS[:1]
    return AS_MANY_AS_PUBLISHED if model == AS_PUBLISHED else SEEDS
