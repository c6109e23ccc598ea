"""The models of table I, and the cell function for images."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fewhot.core.records import Knobs
from fewhot.core.seeding import derive_seed, stream
from fewhot.estimators import SDLGM, GumbelVAE
from fewhot.metrics import code_matrix
from fewhot.metrics.code_kinds import encoded
from fewhot_papers.reproduction import measuring
from fewhot_papers.reproduction.cells import Measured, cell_function, dataset
from fewhot_papers.reproduction.fitting import first_rows
from fewhot_papers.reproduction.xu.grid import MODELS, SEEDS

LOOKED_AT = 3000
"""Test images of figure 4."""
SHOWN = 20


def estimator(settings: Mapping[str, Any]) -> SDLGM | GumbelVAE:
    """Return the unfitted model of a cell."""
    model = MODELS[settings["model"]]
    common = {
        "n_components": settings["n_units"],
        "hidden_layer_sizes": tuple(settings["hidden"]),
        "observation": "stochastic-binarise",
        "likelihood": "bernoulli",
        "max_steps": settings["steps"],
        "batch_size": settings["batch_size"],
        "n_iter_no_change": None,
        "random_state": settings["seed"],
    }
    kind = {"sdlgm": SDLGM, "gumbel": GumbelVAE}[model.kind]
    return kind(**common, **model.options)


@cell_function("xu-images", version=2)
def fit_images(settings: Mapping[str, Any], data_dir: Path | None) -> Measured:
    """Fit one model to binarised digits; measure its bounds under exact and under soft codes, and its codes."""
    (X, _), (X_test, y_test) = (
        first_rows(dataset("mnist", split, data_dir), settings[f"n_{split}"]) for split in ("train", "test")
    )
    model = estimator(settings).fit(X, X_val=X[: settings["n_watched"]])  # watched; nothing is chosen by test digits
    numbers = measuring.bounds(model, X_test) | measuring.sparsity(model, X_test)
    numbers |= {f"train_{name}": value for name, value in measuring.bounds(model, X[: len(X_test)]).items()}
    first = settings["seed"] == SEEDS[0]
    arrays = {
        "step": np.array([record["step"] for record in model.history_]),
        "objective": np.array([record["terms"]["bound"] for record in model.history_]),
        "exact": np.array([record["evaluation"]["bound"] for record in model.history_]),
    }
    if first:
        arrays |= {"images": X_test[:SHOWN], "rebuilt": model.inverse_transform(model.transform(X_test[:SHOWN]))}
    if isinstance(model, SDLGM):
        slots, logits = gates(model, X_test[:LOOKED_AT], settings["seed"])
        numbers |= {"slots_on": float(slots.mean()), "slots_apart": apart_from_binomial(slots, model.module_.latent)}
        if first:
            arrays |= {"slots": slots, "logits": logits, "classes": y_test[:LOOKED_AT]}
            arrays["flat"] = flattened(model, X_test[:LOOKED_AT], settings["seed"])
    return Measured(numbers, arrays)


def gates(model: SDLGM, X: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return how many slots are on in an exact draw of each row, and the mean logit of its gates."""
    latent = model.module_.latent
    generator = stream(seed, "slots")
    slots, logits = [], []
    for _, psi in encoded(model, X):
        noise = {
            name: value.to(psi["gates"].device) for name, value in latent.noise(len(psi["gates"]), generator).items()
        }
        slots.append(latent.draw(latent.posterior(psi, Knobs(gates="exact")), noise).z.sum(-1).cpu().numpy())
        logits.append(psi["gates"].mean(-1).cpu().numpy())
    return np.concatenate(slots), np.concatenate(logits)


def apart_from_binomial(slots: np.ndarray, latent: Any) -> float:
    """Return the total variation between the histogram of slots and the binomial law of the same mean."""
    from scipy.stats import binom

    places = np.arange(latent.n_slots + 1)
    seen = np.bincount(slots.astype(int), minlength=latent.n_slots + 1) / len(slots)
    return float(np.abs(seen - binom.pmf(places, latent.n_slots, slots.mean() / latent.n_slots)).sum() / 2)


def flattened(model: SDLGM, X: np.ndarray, seed: int) -> np.ndarray:
    """Return mean codes in two dimensions, near ones near each other."""
    from sklearn.manifold import TSNE

    codes = code_matrix(model, X, "mean")
    codes = codes.toarray() if hasattr(codes, "toarray") else codes
    perplexity = min(30.0, (len(codes) - 1) / 3)
    return TSNE(perplexity=perplexity, random_state=derive_seed(seed, "flat") % 2**31).fit_transform(codes)
