"""Texts of three kinds, and a model that reads them."""

from __future__ import annotations

from typing import Any

import numpy as np

import fewhot as fh

RNG = np.random.default_rng(0)
SAYINGS = {
    "sea": ["the sea is blue", "the waves of the sea", "one boat on the blue sea"],
    "sun": ["the sun is hot", "hot dry air", "one hot day of sun"],
    "wood": ["green leaves", "the green wood is dark", "leaves of the dark wood"],
}
KINDS = RNG.choice(list(SAYINGS), 150)
TEXTS = [str(RNG.choice(SAYINGS[kind])) for kind in KINDS]
SMALL: dict[str, Any] = {"hidden_layer_sizes": (16,), "batch_size": 50, "max_steps": 12, "random_state": 0}


def counted(texts: list[str], known: list[str]) -> np.ndarray:
    """Return how often texts have words, (n, V), by counting."""
    return np.array([[text.split().count(word) for word in known] for text in texts])


def reader(model: type = fh.HSVAE, **changes: Any) -> Any:
    """Return a model of texts as bags of words, or as what is asked for, fitted for a moment."""
    gated = model in (fh.HSVAE, fh.VSC, fh.SDLGM)
    return model(6, **({"l0": 2} if gated else {}), **SMALL | {"device": "cpu"} | changes).fit(TEXTS)
