"""What units, and walks that switch them one at a time, say of classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from fewhot.metrics import interpolate
from fewhot.metrics.interpolation import HOW
from fewhot_papers.reproduction.measuring import NEIGHBOUR_IMAGES, Labelled, nearest, unit_norm

ON, OFF = 0.5, 0.1
"""A class has a unit on if its mean on-probability is above the one, and off if it is below the other."""
WALKS = 100
SHOWN_WALKS = 3
MOST_SHOWN = 11


def differences(p_active: np.ndarray) -> dict[str, float]:
    """Return how classes differ in their units, from mean on-probabilities (classes, units).

    ``units_of_some`` counts units that some class has on, ``units_specific`` those of them that some other class has
    off; ``pairs_apart`` is the share of pairs of classes that have different units on.

    >>> differences(np.array([[0.9, 0.9, 0.0], [0.9, 0.0, 0.0], [0.9, 0.0, 0.0]]))
    {'units_of_some': 2.0, 'units_specific': 1.0, 'pairs_apart': 0.6666666666666666}
    """
    on, off = p_active > ON, p_active < OFF
    first, second = np.triu_indices(len(on), k=1)
    return {
        "units_of_some": float(on.any(axis=0).sum()),
        "units_specific": float((on.any(axis=0) & off.any(axis=0)).sum()),
        "pairs_apart": float((on[first] != on[second]).any(axis=1).mean()),
    }


def walks(model: Any, train: Labelled, test: Labelled, seed: int) -> dict[str, float]:
    """Return what walks between test images of different classes are like, by their nearest training images.

    ``walk_ends_agree`` is the share of ends, decoded, whose nearest training image has the class of the image that the
    end stands for; ``walk_switches`` the mean number of units switched, ``walks_that_switch`` the share of walks that
    switch any. The distances are those of decoded images halfway.
    """
    images, labels = unit_norm(train[0][:NEIGHBOUR_IMAGES]), train[1][:NEIGHBOUR_IMAGES]
    pairs = pairs_of_classes(test[1], WALKS, seed)
    found = {how: [interpolate(model, *test[0][list(pair)], how=how) for pair in pairs] for how in HOW}
    ends = np.concatenate([walk.decoded[[0, -1]] for walk in found["discrete"]])
    _, at = nearest(ends, images)
    switches = np.array([len(walk.switches) for walk in found["discrete"]])
    halfway = {how: np.stack([w.decoded[len(w.decoded) // 2] for w in found[how]]) for how in HOW}
    return {
        "walk_ends_agree": float((labels[at] == test[1][np.ravel(pairs)]).mean()),
        "walk_switches": float(switches.mean()),
        "walks_that_switch": float((switches > 0).mean()),
        **{f"walk_distance_{how}": float(nearest(halfway[how], images)[0].mean()) for how in HOW},
    }


def pairs_of_classes(labels: np.ndarray, n_pairs: int, seed: int) -> list[tuple[int, int]]:
    """Return pairs of rows of different classes."""
    rng = np.random.default_rng(seed)
    drawn = rng.integers(len(labels), size=(20 * n_pairs, 2))
    return [(a, b) for a, b in drawn.tolist() if labels[a] != labels[b]][:n_pairs]


def shown_walks(model: Any, X: np.ndarray, y: np.ndarray) -> dict[str, np.ndarray]:
    """Return walks of both kinds for a picture, each between the two images it leads from and to, (steps + 2, p).

    A discrete walk comes with the unit that each step switches: its number from 1, negative if it is switched off.
    """
    rows = [int(np.flatnonzero(y == label)[0]) for label in np.unique(y)[: 2 * SHOWN_WALKS]]
    shown: dict[str, np.ndarray] = {}
    for place, pair in enumerate(zip(rows[::2], rows[1::2], strict=True)):
        ends = unit_norm(X[list(pair)])
        found = {how: interpolate(model, *X[list(pair)], how=how) for how in HOW}
        for how, walk in found.items():
            steps = np.unique(np.linspace(0, len(walk.decoded) - 1, MOST_SHOWN).round().astype(int))
            shown[f"{how}_{place}"] = np.concatenate([ends[:1], walk.decoded[steps], ends[1:]])
        shown[f"switches_{place}"] = np.array([s.unit + 1 if s.on else -s.unit - 1 for s in found["discrete"].switches])
    return shown
