"""Recommenders of users' items: which are fitted, and the cell function that fits and evaluates one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

from fewhot.baselines import EASE, WMF, MultVAE, Popularity
from fewhot.data import StrongGeneralisation, strong_generalisation
from fewhot.estimators import NFA
from fewhot.metrics import evaluate_recommender
from fewhot_papers.baselines import CDAE, SLIM
from fewhot_papers.reproduction.cells import Measured, cell_function, dataset
from fewhot_papers.reproduction.entry import Cell

SPLITS = (0, 1, 2)
JUDGED, SMALL = "movielens_1m_implicit", "movielens_100k"
"""The data by which the table is judged, and data that are too small to rank models by."""
DATA = {JUDGED: "MovieLens 1M", SMALL: "MovieLens 100K"}
HELD_OUT_USERS = {JUDGED: 600, SMALL: 100}
"""Validation users of a split, and as many test users."""
INNER_STEPS = 50
HALF = 0.5
ROWS = {
    f"2-{training}-{features}": {"inference": inference, "features": features}
    for inference, training in (("amortised", "ψ(x)"), ("refined", "ψ*"))
    for features in ("norm", "tfidf")
}
"""The rows of the table, by name."""
TUNED = "NFA, tuned"
BASELINES: dict[str, tuple[Callable[..., Any], dict[str, Sequence[Any]]]] = {
    "popularity": (Popularity, {}),
    "WMF": (WMF, {"n_components": (50, 100), "positive_weight": (2.0, 5.0), "regularisation": (10.0, 30.0, 100.0)}),
    "SLIM": (SLIM, {"l1": (0.5, 1.0, 3.0), "l2": (100.0, 300.0)}),
    "CDAE": (CDAE, {"n_components": (100, 200), "regularisation": (30.0, 100.0, 300.0)}),
    "EASE": (EASE, {"regularisation": (100.0, 200.0, 300.0, 500.0, 1000.0)}),
}
"""Models of other papers, and the values among which validation users choose."""
MULT_VAE = "Mult-VAE"
MULT_VAE_OPTIONS = {"kl_weight": (0.1, 0.2, 0.4), "max_epochs": (50, 100, 200)}
ROW_OPTIONS = {"kl_weight": (0.2, 1.0), "max_epochs": (50, 100)}
TUNED_OPTIONS: dict[str, Sequence[Any]] = {
    "n_components": (200, 300),
    "hidden_layer_sizes": ((1000,), (1500,)),
    "weight_decay": (0.2, 0.4),
    "features": ("unit", "tfidf"),
    "max_epochs": (60, 80),
}


def cells(quick: bool) -> Sequence[Cell]:
    """Return every model with every choice of its options, on every split; on few users all but the widest search."""
    grids: dict[str, Mapping[str, Sequence[Any]]] = {
        **{name: grid for name, (_, grid) in BASELINES.items()},
        MULT_VAE: MULT_VAE_OPTIONS,
        **dict.fromkeys(ROWS, ROW_OPTIONS),
        TUNED: TUNED_OPTIONS,
    }
    return [
        _cell(data, model, dict(zip(grid, chosen, strict=True)), split, quick)
        for data in DATA
        for split in (SPLITS[:1] if quick else SPLITS)
        for model, grid in grids.items()
        if data == JUDGED or model != TUNED
        for chosen in list(product(*grid.values()))[: 1 if quick else None]
    ]


def _cell(data: str, model: str, options: dict[str, Any], split: int, quick: bool) -> Cell:
    settings = {
        "data": data,
        "model": model,
        "options": options | ({"max_epochs": 1} if quick and "max_epochs" in options else {}),
        "seed": split,
        "inner_steps": 2 if quick else INNER_STEPS,
        "n_users": 400 if quick else None,
    }
    passes = options.get("max_epochs", 10) * (INNER_STEPS if "ψ*" in model else 1)
    shown = ", ".join(f"{name}={value}" for name, value in options.items())
    name = f"{DATA[data]}, {model}{f' ({shown})' if shown else ''}, split {split}"
    return Cell(kind="aistats2018-users", settings=settings, data=data, cost=passes, name=name)


def recommender(settings: Mapping[str, Any], n_rows: int) -> Any:
    """Return the unfitted model of a cell."""
    model, options, seed = settings["model"], settings["options"], settings["seed"]
    if model in BASELINES:
        kind = BASELINES[model][0]
        return kind(**options, **({"random_state": seed} if kind in (WMF, CDAE) else {}))
    batch_size = min(100 if model == TUNED else 500, n_rows)
    n_steps = options["max_epochs"] * -(-n_rows // batch_size)
    common: dict[str, Any] = {
        "kl_annealing": "linear",
        "kl_annealing_steps": max(1, int(HALF * n_steps)),
        "batch_size": batch_size,
        "validation_fraction": 0.0,
        "n_iter_no_change": None,
        "random_state": seed,
        **options,
    }
    if model == MULT_VAE:
        return MultVAE(**common)
    common["inner_steps"] = settings["inner_steps"]
    if model == TUNED:
        return NFA(n_layers=1, dropout=0.6, kl_weight=0.2, learning_rate=2e-3, decoupled_weight_decay=True, **common)
    return NFA(200, recipe="krishnan2018", n_layers=2, hidden_layer_sizes=(600,), **ROWS[model], **common)


@cell_function("aistats2018-users", version=2)
def fit_users(settings: Mapping[str, Any], data_dir: Path | None) -> Measured:
    """Fit one recommender to training users; rank what validation and test users held out."""
    split = users_of(settings["data"], settings["seed"], settings["n_users"], data_dir)
    model = recommender(settings, len(split.train_users)).fit(split.train)
    numbers, arrays = {}, {}
    for suffix, steps in (("", 0), ("_refined", settings["inner_steps"])):
        if steps and settings["model"] not in (*ROWS, TUNED):
            continue
        if isinstance(model, NFA):
            model.set_params(refine_steps=steps)
        chosen_by = evaluate_recommender(model, split.validation.fold_in, split.validation.held_out)
        found = evaluate_recommender(model, split.test.fold_in, split.test.held_out)
        numbers[f"validation{suffix}"] = chosen_by["ndcg@100"].mean
        numbers |= {f"{name.replace('@', '_')}{suffix}": found[name].mean for name in found.estimates}
        arrays[f"users{suffix}"] = found["ndcg@100"].values
    return Measured(numbers, arrays)


@lru_cache(maxsize=3)
def users_of(name: str, seed: int, n_users: int | None, data_dir: Path | None) -> StrongGeneralisation:
    """Return a dataset split by users, kept in memory for the next cell."""
    X = dataset(name, "all", data_dir).X[:n_users]
    n = min(HELD_OUT_USERS[name], X.shape[0] // 4)
    return strong_generalisation(X, n_validation=n, n_test=n, random_state=seed)
