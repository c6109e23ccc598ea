"""The models of sentences, and the cell function that fits one epoch after the other and looks at codes in between."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fewhot.core.seeding import derive_seed
from fewhot.data.text import TextDataset, Vocabulary, text_dataset
from fewhot.estimators import HSVAE, MATVAE, VAE
from fewhot.metrics import (
    active_units,
    activity,
    average_hoyer,
    code_matrix,
    gamma_class,
    information,
    marginal_probe,
    mutual_information,
    reconstruction,
)
from fewhot.models import AgainstCollapse
from fewhot.reproduction.cells import Measured, cell_function, dataset
from fewhot.reproduction.prokhorov2021.grid import HIERARCHICAL, MATCHED, PENALISED, SEEDS, WEIGHT

HELD_OUT = 0.1
LOOKED_AT = 1000
"""Held-out texts that are looked at after every epoch."""
WARM_UP = AgainstCollapse(warm_up=0.2)


class LabelledTexts(NamedTuple):
    """Texts and their classes."""

    texts: TextDataset
    y: np.ndarray


class Corpus(NamedTuple):
    """A corpus without its published training texts: the validation texts less a tenth, that tenth, the test texts."""

    train: LabelledTexts
    held_out: LabelledTexts
    test: LabelledTexts


def texts_of(name: str, n_texts: int | None, data_dir: Path | None) -> Corpus:
    """Return a corpus; the tenth is the same for every fit."""
    known, test = (dataset(name, split, data_dir) for split in ("validation", "test"))
    vocabulary = Vocabulary(known.feature_names, tokeniser="spaces")
    order = np.random.default_rng(derive_seed(0, "held-out texts", name)).permutation(len(known.texts))[:n_texts]
    n_held_out = int(HELD_OUT * len(order))

    def part(loaded: Any, rows: np.ndarray) -> LabelledTexts:
        return LabelledTexts(text_dataset([loaded.texts[row] for row in rows], vocabulary), np.asarray(loaded.y)[rows])

    tested = np.random.default_rng(0).permutation(len(test.texts))[:n_texts] if n_texts else np.arange(len(test.texts))
    return Corpus(part(known, order[n_held_out:]), part(known, order[:n_held_out]), part(test, tested))


def estimator(settings: Mapping[str, Any]) -> VAE | HSVAE | MATVAE:
    """Return the unfitted model of a cell."""
    common = {
        "n_components": settings["n_units"],
        "hidden_layer_sizes": (settings["n_hidden"],),
        "max_epochs": settings["epochs"],
        "batch_size": settings["batch_size"],
        "learning_rate": 8e-4,
        "n_iter_no_change": None,
        "validation_fraction": 0.0,
        "compile": False,  # every epoch is a fit of its own, too short to be captured
        "random_state": settings["seed"],
    }
    model, dial = settings["model"], settings["dial"]
    if model == HIERARCHICAL:
        return HSVAE(**common, gate_prior=tuple(dial), kl_weight=WEIGHT, gate_kl_weight=WEIGHT)
    if model == MATCHED:
        return MATVAE(**common, spike_weight=dial, kl_weight=WEIGHT)
    return VAE(**common, beta=WEIGHT, penalty=PENALISED.get(model), against_collapse=WARM_UP)


@cell_function("prokhorov-texts", version=1)
def fit_texts(settings: Mapping[str, Any], data_dir: Path | None) -> Measured:
    """Fit one model epoch by epoch; keep how codes change, and judge those of the last epoch on test texts."""
    corpus = texts_of(settings["data"], settings["n_texts"], data_dir)
    looked_at = corpus.held_out.texts.subset(np.arange(min(LOOKED_AT, corpus.held_out.texts.n_rows)))
    model = estimator(settings)
    curves: list[dict[str, float]] = []
    for _ in range(settings["epochs"]):
        model.partial_fit(corpus.train.texts)
        curves.append(_look(model, looked_at))
    numbers = _look(model, corpus.test.texts) | {
        f"held_out_{name}": value for name, value in _look(model, corpus.held_out.texts).items()
    }
    numbers |= _use(model, corpus.test.texts) | _accuracies(model, corpus, settings["seed"], settings["probe_epochs"])
    arrays = {f"curve_{name}": np.array([point[name] for point in curves]) for name in curves[0]}
    if model.module_.latent.gated and settings["seed"] == SEEDS[0]:
        arrays["gamma"] = gamma_class(model, corpus.test.texts, corpus.test.y)
    return Measured(numbers, arrays)


def _look(model: Any, texts: TextDataset) -> dict[str, float]:
    """Return how well texts are said, what their codes cost, and how sparse they are."""
    return {
        "nll": -reconstruction(model, texts).mean,
        "kl": information(model, texts).mean,
        "hoyer_sample": average_hoyer(code_matrix(model, texts, "sample")).mean,
        "hoyer_mean": average_hoyer(code_matrix(model, texts, "mean")).mean,
    }


def _use(model: Any, texts: TextDataset) -> dict[str, float]:
    """Return what codes tell apart, how many units are in use, and how many codes are empty."""
    told = {"mutual_information": mutual_information(model, texts).mean}
    if not model.module_.latent.gated:
        return told | {"used": float(active_units(code_matrix(model, texts, "mean")).by_mean), "empty_sample": 0.0}
    sampled = activity(code_matrix(model, texts, "sample"))
    of_map = activity(model.transform(texts))
    return told | {
        "used": float(of_map.used),
        "active": of_map.active,
        "empty_map": of_map.empty_rows,
        "active_sample": sampled.active,
        "empty_sample": sampled.empty_rows,
    }


def _accuracies(model: Any, corpus: Corpus, seed: int, max_epochs: int) -> dict[str, float]:
    return {
        f"accuracy_{kind}": marginal_probe(
            model,
            corpus.train.texts,
            corpus.train.y,
            corpus.test.texts,
            corpus.test.y,
            X_val=corpus.held_out.texts,
            y_val=corpus.held_out.y,
            kind=kind,
            random_state=seed,
            max_epochs=max_epochs,
        ).accuracy
        for kind in ("sample", "mean", "map")
    }
