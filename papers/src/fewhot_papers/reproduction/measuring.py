"""What is measured on a fitted model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from fewhot.core.seeding import derive_seed

NEIGHBOUR_SAMPLES = 1000
NEIGHBOUR_IMAGES = 10_000
EXAMPLES = 6
SHEET = 36
CONDITIONAL_COPIES = 8

Labelled = tuple[np.ndarray, np.ndarray]


def bounds(model: Any, X: np.ndarray) -> dict[str, float]:
    """Return the bound under exact gates (mean, its standard error over rows, median) and under relaxed gates.

    The relaxed bound has the gates of the last training step; for a VAE, which has none, the two are the same.
    """
    from fewhot.metrics import relaxed_bound

    rows = model.score_samples(X).astype(np.float64)
    relaxed = relaxed_bound(model, X).mean if model.module_.latent.gated else float(rows.mean())
    return {
        "bound": float(rows.mean()),
        "bound_se_rows": float(rows.std(ddof=1) / len(rows) ** 0.5),
        "bound_median": float(np.median(rows)),
        "bound_relaxed": relaxed,
    }


def sparsity(model: Any, X: np.ndarray) -> dict[str, float]:
    """Return the mean posterior on-rate, the share of units active in the map code, and how units are used."""
    from fewhot.metrics import activity, activity_probabilities

    if not model.module_.latent.gated:
        return {"posterior_rate": 1.0, "active_share": 1.0}
    use = activity(model.transform(X))
    return {
        "posterior_rate": float(activity_probabilities(model, X).mean(dtype=np.float64)),
        "active_share": use.active / model.module_.latent.n_latent,
        **use.to_dict(),
    }


def explained(model: Any, X: np.ndarray) -> float:
    """Return the share of the variance of unit-norm rows that reconstructions from map codes explain."""
    rows = unit_norm(X)
    error = np.square(rows - model.inverse_transform(model.transform(X))).sum()
    return float(1 - error / np.square(rows - rows.mean(0)).sum())


def probes(model: Any, train: Labelled, test: Labelled, budgets: Sequence[int], seed: int) -> dict[str, float]:
    """Return test accuracies of a linear classifier on sampled and mean codes, and on the map codes of gated models.

    Map codes are read at the largest budget only. Codes are handed over dense, so that the classifier can centre them:
    units that are always on would make it very slow otherwise.
    """
    from fewhot.metrics import code_matrix, probe_codes, stratified_rows

    (X, y), (X_test, y_test) = train, test
    found = {}
    for kind in ("sample", "mean", "map") if model.module_.latent.gated else ("sample", "mean"):
        held_out = _dense(code_matrix(model, X_test, kind, derive_seed(seed, "test")))
        for n_labels in (max(budgets),) if kind == "map" else budgets:
            rows = stratified_rows(y, n_labels, seed)
            codes = _dense(code_matrix(model, X[rows], kind, derive_seed(seed, "train")))
            result = probe_codes(codes, y[rows], held_out, y_test, kind)
            found[f"accuracy_{kind}_{n_labels}"] = float(result.accuracy)
    return found


def _dense(codes: Any) -> np.ndarray:
    return codes.toarray() if hasattr(codes, "toarray") else np.asarray(codes)


def neighbours(model: Any, train: Labelled, test: Labelled, seed: int) -> dict[str, float]:
    """Return how far generated images lie from the nearest training image, and whose label that one has.

    Samples are decoder means. ``agreement`` is the share of conditional samples whose nearest training image has the
    label of the image they were conditioned on; ``agreement_chance`` what independent labels would give.
    """
    images, labels = unit_norm(train[0][:NEIGHBOUR_IMAGES]), train[1][:NEIGHBOUR_IMAGES]
    given, given_labels = test[0][:NEIGHBOUR_SAMPLES], test[1][:NEIGHBOUR_SAMPLES]
    ancestral, _ = nearest(model.sample(NEIGHBOUR_SAMPLES, random_state=seed, kind="mean"), images)
    conditional, at = nearest(model.sample_like(given, random_state=seed, kind="mean"), images)
    real, _ = nearest(unit_norm(given), images)
    classes = np.unique(labels)
    chance = sum(float((labels[at] == c).mean() * (given_labels == c).mean()) for c in classes)
    return {
        "distance_ancestral": float(ancestral.mean()),
        "distance_conditional": float(conditional.mean()),
        "distance_test": float(real.mean()),
        "agreement": float((labels[at] == given_labels).mean()),
        "agreement_chance": chance,
    }


def nearest(rows: np.ndarray, images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distance to the nearest image of each row, and which it is."""
    distances = torch.cdist(torch.from_numpy(rows).float(), torch.from_numpy(images).float())
    least = distances.min(dim=1)
    return least.values.numpy(), least.indices.numpy()


def pictures(model: Any, X: np.ndarray, y: np.ndarray, seed: int) -> dict[str, np.ndarray]:
    """Return examples of different classes with codes and reconstructions, and sheets of generated images."""
    rows = X[[int(np.flatnonzero(y == label)[0]) for label in np.unique(y)[:EXAMPLES]]]
    codes = model.transform(rows)
    repeated = np.repeat(rows, CONDITIONAL_COPIES, axis=0)
    return {
        "original": unit_norm(rows),
        "code": _dense(codes),
        "reconstruction": model.inverse_transform(codes),
        "ancestral": model.sample(SHEET, random_state=seed, kind="mean"),
        "conditional": model.sample_like(repeated, random_state=seed, kind="mean"),
    }


def unit_norm(X: np.ndarray) -> np.ndarray:
    """Return rows divided by their norm; a row of zeros stays."""
    norm = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(norm > 0, norm, 1.0)
