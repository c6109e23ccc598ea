"""`SDLGMClassifier()` and `SDLGMCounter()` as they come, beside linear models, on test rows of real tables.

Labels: five real tables, and one that is made to look like a sixth, by micro and macro F1. Beside them scikit-learn's
`LogisticRegression(max_iter=1000)`, one a label, on standardized columns: by its probability of one half ("plain"), and
by the threshold rule of `SDLGMClassifier` ("same rule"). Counts: three real ones, by R2 and mean squared error, beside
ridge and Poisson regressions of each column, clipped at 0; the penalty of one ridge is chosen on its training rows.
Splits are random, of the published sizes; the first of bibtex and delicious is the published one. Differences are
paired by splits.

    python benchmarks/labels.py --data FOLDER --out results.json --workers 16
    python benchmarks/labels.py --data FOLDER --out results.json --only emotions,birds --splits 5
    python benchmarks/labels.py --out results.json --page        # the tables, from the results
"""

from __future__ import annotations

import argparse
import gzip
import json
import multiprocessing
import os
import time
import warnings
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import torch
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge, RidgeCV
from sklearn.metrics import r2_score

import fewhot as fh
from fewhot.data import compose, load_dataset
from fewhot.estimators.thresholds import expected_threshold
from fewhot.metrics import macro_f1, micro_f1

N_TRAIN = {"emotions": 391, "birds": 322, "cal500": 400, "look-alike": 1500, "bibtex": 4880, "delicious": 12920}
LARGE = {"bibtex": 3, "delicious": 3}
"""Numbers of splits, where these are fewer."""
COUNTED = ("digits", "genres", "words")
LINEAR = {
    "Ridge": Ridge,
    "RidgeCV": lambda: RidgeCV(np.logspace(0, 5, 11)),
    "PoissonRegressor": lambda: PoissonRegressor(max_iter=1000),
}
AT_ONCE = 40
"""Labels that one task fits logistic regressions of."""


class Split(NamedTuple):
    X: np.ndarray
    Y: np.ndarray
    X_test: np.ndarray
    Y_test: np.ndarray


@cache
def table(name: str, data: str) -> tuple[np.ndarray, np.ndarray]:
    parts = ("all",) if name == "cal500" else ("train", "test")
    read = [load_dataset(name, split=part, data_dir=Path(data)) for part in parts]
    X, Y = ([_dense(getattr(one, what)) for one in read] for what in ("X", "y"))
    return np.concatenate(X).astype(np.float32), np.concatenate(Y).astype(np.int64)


def _dense(matrix: Any) -> np.ndarray:
    return matrix.toarray() if sp.issparse(matrix) else np.asarray(matrix)


def look_alike(seed: int, n_rows: int = 2417) -> tuple[np.ndarray, np.ndarray]:
    """Return 103 correlated columns and 14 labels, four on per row, that eight factors say something of."""
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(n_rows, 8))
    X = factors @ rng.normal(size=(8, 103)) / 2 + rng.normal(size=(n_rows, 103))
    seen = np.concatenate([factors, (factors[:, :4] ** 2 - 1) / 2], axis=1)
    scores = 0.3 * seen @ rng.normal(size=(12, 14)) + rng.normal(size=(n_rows, 14))
    scores += 0.7 * rng.normal(size=(n_rows, 3)) @ rng.normal(size=(3, 14))
    rates = [0.31, 0.43, 0.41, 0.35, 0.30, 0.25, 0.18, 0.20, 0.07, 0.10, 0.12, 0.75, 0.74, 0.015]
    cuts = [np.quantile(score, 1 - rate) for score, rate in zip(scores.T, rates, strict=True)]
    return X.astype(np.float32), (scores > cuts).astype(np.int64)


def counts(name: str, data: str, seed: int) -> Split:
    """Return one of the three tables of counts."""
    rng = np.random.default_rng(seed)
    if name == "digits":
        digits = load_digits()
        order = rng.permutation(len(digits.target))
        parts = [
            compose(digits.images[rows] / 16, digits.target[rows], n_rows, random_state=seed)
            for rows, n_rows in ((order[:1400], 3000), (order[1400:], 1000))
        ]
        return Split(*(array for part in parts for array in (part.X, part.counts)))
    if name == "genres":
        X, Y = _genres(Path(data) / "movielens_100k")
    else:
        X, Y = _words(data)
    order = rng.permutation(len(X))
    train, test = order[: len(X) * 3 // 4], order[len(X) * 3 // 4 :]
    return Split(X[train], Y[train], X[test], Y[test])


@cache
def _genres(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return which of the films with even numbers users rated, and how many of the others in each of 18 genres."""
    ratings = np.loadtxt(gzip.decompress((folder / "u.data.gz").read_bytes()).decode().splitlines(), dtype=np.int64)
    rated = np.zeros((ratings[:, 0].max(), ratings[:, 1].max()), dtype=np.int64)
    rated[ratings[:, 0] - 1, ratings[:, 1] - 1] = 1
    lines = gzip.decompress((folder / "u.item.gz").read_bytes()).decode("latin-1").split("\n")[:-1]
    genres = np.array([line.split("|")[-18:] for line in lines], dtype=np.int64)  # without "unknown"
    X = rated[:, 1::2]
    return X[:, X.sum(axis=0) > 4].astype(np.float32), rated[:, ::2] @ genres[::2]


@cache
def _words(data: str, n_rows: int = 4000, n_counted: int = 30) -> tuple[np.ndarray, np.ndarray]:
    """Return how often words occur in messages, and how often 30 of the 60 most frequent ones, every second, do."""
    X = _dense(load_dataset("newsgroups_nvdm", split="train", data_dir=Path(data)).X)
    X = X[np.random.default_rng(0).permutation(len(X))[:n_rows]]
    counted = np.argsort(-X.sum(axis=0), kind="stable")[: 2 * n_counted : 2]
    return np.delete(X, counted, axis=1).astype(np.float32), X[:, counted].astype(np.int64)


def split_of(name: str, data: str, seed: int) -> Split:
    """Return training and test rows."""
    if name in COUNTED:
        return counts(name, data, seed)
    X, Y = look_alike(seed) if name == "look-alike" else table(name, data)
    order = np.arange(len(X))
    if name not in ("look-alike", *LARGE) or (name in LARGE and seed):
        order = np.random.default_rng(1000 + seed).permutation(len(X))
    train, test = order[: N_TRAIN[name]], order[N_TRAIN[name] :]
    return Split(X[train], Y[train], X[test], Y[test])


def standardized(split: Split) -> Split:
    """Return the split with columns standardized by its training rows."""
    mean, deviation = split.X.mean(axis=0), split.X.std(axis=0)
    scale = np.where(deviation > 0, deviation, 1)
    return split._replace(X=(split.X - mean) / scale, X_test=(split.X_test - mean) / scale)


def fit(name: str, data: str, seed: int, model: str, first: int) -> dict[str, Any]:
    """Fit one model, of logistic regressions those of some labels; return its numbers, or its probabilities."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    split = split_of(name, data, seed)
    begun = time.perf_counter()
    if model == "logistic":
        rows = standardized(split)
        labels = range(first, min(first + AT_ONCE, split.Y.shape[1]))
        found = np.stack([_logistic(rows, label) for label in labels], axis=1)
        return {"probabilities": found, "fit_s": time.perf_counter() - begun}
    if model == "SDLGMClassifier":
        ours = fh.SDLGMClassifier(random_state=seed, device="cpu").fit(split.X, split.Y)
        taken = {"fit_s": time.perf_counter() - begun, "steps": ours.n_iter_, "threshold": ours.threshold_}
        return taken | scores_of(split.Y_test, ours.predict_proba(split.X_test), ours.threshold_)
    if model == "SDLGMCounter":
        found = fh.SDLGMCounter(random_state=seed, device="cpu").fit(split.X, split.Y).predict(split.X_test)
    else:
        rows = standardized(split)
        linear = LINEAR[model]
        found = [linear().fit(rows.X, y).predict(rows.X_test) for y in split.Y.T]
        found = np.clip(np.stack(found, axis=1), 0, None)
    error = float(np.square(found - split.Y_test).mean())
    return {"r2": float(r2_score(split.Y_test, found)), "mse": error, "fit_s": time.perf_counter() - begun}


def _logistic(rows: Split, label: int) -> np.ndarray:
    y = rows.Y[:, label]
    if y.min() == y.max():
        return np.full(len(rows.X_test), float(y[0]))
    return LogisticRegression(max_iter=1000).fit(rows.X, y).predict_proba(rows.X_test)[:, 1]


def scores_of(labels: np.ndarray, probabilities: np.ndarray, threshold: Any) -> dict[str, float]:
    """Return F1 scores by a threshold, and what the probabilities are worth by themselves."""
    p = np.clip(probabilities.astype(np.float64), 1e-6, 1 - 1e-6)
    said = probabilities >= threshold
    return {
        "micro": micro_f1(labels, said),
        "macro": macro_f1(labels, said),
        "log_loss": float(-np.where(labels, np.log(p), np.log1p(-p)).sum(axis=1).mean()),
        "calibration_error": calibration_error(labels.ravel(), p.ravel()),
    }


def calibration_error(labels: np.ndarray, p: np.ndarray, n_bins: int = 10) -> float:
    """Return how far shares of labels that are there are from their probabilities, in bins of .1."""
    bins = np.minimum((p * n_bins).astype(int), n_bins - 1)
    apart = np.bincount(bins, labels, n_bins) - np.bincount(bins, p, n_bins)
    return float(np.abs(apart).sum() / len(p))


def tasks(names: list[str], n_splits: int, data: str) -> list[tuple[str, int, str, int]]:
    """Return what there is to fit, the longest first."""
    found = []
    for name in names:
        for seed in range(min(n_splits, LARGE.get(name, n_splits))):
            if name in COUNTED:
                found += [(name, seed, model, 0) for model in ("SDLGMCounter", *LINEAR)]
                continue
            n_labels = split_of(name, data, seed).Y.shape[1]
            found.append((name, seed, "SDLGMClassifier", 0))
            found += [(name, seed, "logistic", first) for first in range(0, n_labels, AT_ONCE)]
    return sorted(found, key=lambda task: -list(LARGE).index(task[0]) - 1 if task[0] in LARGE else 0)


def collected(done: dict[tuple[str, int, str, int], dict[str, Any]], data: str) -> list[dict[str, Any]]:
    """Return one record a model and split, logistic regressions of all labels put together."""
    records = []
    for name, seed, model in sorted({key[:3] for key in done}):
        parts = [done[key] for key in sorted(done) if key[:3] == (name, seed, model)]
        about = {"table": name, "split": seed}
        if model != "logistic":
            records.append({**about, "model": model, **parts[0]})
            continue
        probabilities = np.concatenate([part["probabilities"] for part in parts], axis=1)
        labels, seconds = split_of(name, data, seed).Y_test, sum(part["fit_s"] for part in parts)
        rules = {"plain": 0.5, "same rule": expected_threshold(probabilities, "micro")}
        for rule, threshold in rules.items():
            of_rule = scores_of(labels, probabilities, threshold)
            records.append({**about, "model": f"logistic, {rule}", "fit_s": seconds, **of_rule})
    return records


def page(records: list[dict[str, Any]]) -> str:
    """Return the two tables: means over splits, and paired differences with their standard errors."""
    lines = []
    for ours, theirs, scores in (
        ("SDLGMClassifier", ("logistic, plain", "logistic, same rule"), ("micro", "macro")),
        ("SDLGMCounter", tuple(LINEAR), ("r2", "mse")),
    ):
        tables = [name for name in (*N_TRAIN, *COUNTED) if _of(records, name, ours)]
        if tables:
            heads = [f"{score}, {model}" for score in scores for model in (ours, *theirs)]
            lines += ["", f"| table | splits | seconds | {' | '.join(heads)} |", "|" + "---|" * (3 + len(heads))]
        for name in tables:
            mine = _of(records, name, ours)
            cells = [name, str(len(mine)), f"{np.mean([record['fit_s'] for record in mine.values()]):.0f}"]
            for score in scores:
                values = {seed: record[score] for seed, record in mine.items()}
                cells.append(f"{np.mean(list(values.values())):.3f}")
                for model in theirs:
                    cells.append(_beside(values, {s: r[score] for s, r in _of(records, name, model).items()}))
            lines.append(f"| {' | '.join(cells)} |")
    losses = [(n, m, _of(records, n, m)) for n in N_TRAIN for m in ("SDLGMClassifier", "logistic, plain")]
    if any(found for *_, found in losses):
        lines += ["", "| table | model | log loss | calibration error |", "|---|---|---|---|"]
    for name, model, found in losses:
        if found:
            means = [np.mean([r[what] for r in found.values()]) for what in ("log_loss", "calibration_error")]
            lines.append(f"| {name} | {model} | {means[0]:.2f} | {means[1]:.3f} |")
    return "\n".join(lines[1:])


def _of(records: list[dict[str, Any]], name: str, model: str) -> dict[int, dict[str, Any]]:
    return {record["split"]: record for record in records if (record["table"], record["model"]) == (name, model)}


def _beside(ours: dict[int, float], theirs: dict[int, float]) -> str:
    both = sorted(ours.keys() & theirs.keys())
    apart = np.array([ours[seed] - theirs[seed] for seed in both])
    error = f" ± {apart.std(ddof=1) / len(apart) ** 0.5:.3f}" if len(apart) > 1 else ""
    return f"{np.mean([theirs[seed] for seed in both]):.3f} ({apart.mean():+.3f}{error})" if both else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("FEWHOT_DATA", "data"), help="folder with the data sets")
    parser.add_argument("--out", type=Path, default=Path("results/labels.json"))
    parser.add_argument("--only", default=",".join((*N_TRAIN, *COUNTED)), help="tables, by commas")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--page", action="store_true", help="print the tables of earlier results")
    chosen = parser.parse_args()
    if not chosen.page:
        run(chosen.only.split(","), chosen.splits, chosen.data, chosen.workers, chosen.out)
    print(page(json.loads(chosen.out.read_text())))


def run(names: list[str], n_splits: int, data: str, n_workers: int, out: Path) -> None:
    """Fit everything, and write the numbers beside those of other tables."""
    done: dict[tuple[str, int, str, int], dict[str, Any]] = {}
    left = tasks(names, n_splits, data)
    with ProcessPoolExecutor(n_workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        running = {
            pool.submit(fit, name, data, seed, model, first): (name, seed, model, first)
            for name, seed, model, first in left
        }
        for finished in as_completed(running):
            task = running[finished]
            done[task] = finished.result()
            print(
                f"{len(done)}/{len(left)} {task[0]} split {task[1]} {task[2]} {done[task]['fit_s']:.0f} s", flush=True
            )
    before = json.loads(out.read_text()) if out.exists() else []
    records = [record for record in before if record["table"] not in names] + collected(done, data)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(records, indent=1))


if __name__ == "__main__":
    main()
