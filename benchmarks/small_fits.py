"""Fit 26 small models and print digests of their codes, ELBOs and weights, to see whether a change moved a number.

    python benchmarks/small_fits.py --out before.json
    python benchmarks/small_fits.py --against before.json

Digests are of bytes, so both have to run on one machine with one number of threads. `--source FOLDER` reads the library
from another checkout.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from sklearn.datasets import load_breast_cancer, load_digits

WIDE: dict[str, Any] = {"n_components": 16, "max_steps": 60, "random_state": 0, "device": "cpu"}
SMALL: dict[str, Any] = {**WIDE, "hidden_layer_sizes": (32,)}
N_ROWS = 300


def digits() -> np.ndarray:
    return (load_digits().data[:N_ROWS] / 16).astype(np.float32)


def columns() -> np.ndarray:
    X = load_breast_cancer().data[:N_ROWS]
    return ((X - X.mean(0)) / X.std(0)).astype(np.float32)


def counts() -> sp.csr_array:
    rate = np.random.default_rng(0).gamma(0.3, 1.0, (4, 80))
    mix = np.random.default_rng(1).dirichlet(np.full(4, 0.3), N_ROWS)
    return sp.csr_array(np.random.default_rng(2).poisson(mix @ rate).astype(np.float32))


def likes() -> sp.csr_array:
    return (counts() > 0).astype(np.float32)


def texts() -> list[str]:
    rng = np.random.default_rng(0)
    words = np.array([f"word{number}" for number in range(60)])
    return [" ".join(words[rng.integers(12 * (row % 5), 12 * (row % 5) + 12, 8)]) for row in range(120)]


def labels() -> np.ndarray:
    y = load_digits().target[:N_ROWS]
    return np.stack([y % 2 == 0, y > 4, np.isin(y, (0, 6, 8, 9)), np.isin(y, (2, 3, 5, 7))], axis=1).astype(int)


def label_counts() -> np.ndarray:
    return labels() * (1 + load_digits().target[:N_ROWS, None] % 3)


FITS: dict[str, tuple[str, dict[str, Any], Callable[[], Any]]] = {
    "VAE": ("VAE", SMALL, digits),
    "VAE of columns": ("VAE", SMALL, columns),
    "VAE, penalty": ("VAE", {**SMALL, "penalty": "l1"}, digits),
    "BetaTCVAE": ("BetaTCVAE", SMALL, digits),
    "MATVAE": ("MATVAE", SMALL, digits),
    "VSC": ("VSC", {**SMALL, "l0": 4}, digits),
    "VSC as it comes": ("VSC", WIDE, columns),
    "VSC, CSR": ("VSC", {**SMALL, "l0": 4}, lambda: sp.csr_array(digits())),
    "VSC, fixed prior": ("VSC", {**SMALL, "alpha": 0.1}, columns),
    "VSC, iclr2019": ("VSC", {**SMALL, "recipe": "iclr2019"}, digits),
    "VSC, uai2019": ("VSC", {**SMALL, "recipe": "uai2019"}, digits),
    "VSC, texts": ("VSC", {**SMALL, "l0": 3}, texts),
    "VSC, words one by one": ("VSC", {**SMALL, "l0": 3, "encoder": "gru", "max_steps": 12}, texts),
    "HSVAE": ("HSVAE", {**SMALL, "l0": 4}, columns),
    "HSVAE, prokhorov2021": ("HSVAE", {**SMALL, "recipe": "prokhorov2021"}, digits),
    "SDLGM": ("SDLGM", {**SMALL, "l0": 4}, columns),
    "SDLGM, xu": ("SDLGM", {**SMALL, "recipe": "xu"}, digits),
    "GumbelVAE": ("GumbelVAE", SMALL, digits),
    "NFA, counts": ("NFA", SMALL, counts),
    "NFA, likes": ("NFA", SMALL, likes),
    "NFA, dense counts": ("NFA", SMALL, lambda: counts().toarray()),
    "NFA, krishnan2018": ("NFA", {**SMALL, "recipe": "krishnan2018"}, counts),
    "NFA, miao2016": ("NFA", {**SMALL, "recipe": "miao2016"}, counts),
    "NFA, texts": ("NFA", SMALL, texts),
    "SDLGMClassifier": ("SDLGMClassifier", SMALL, digits),
    "SDLGMCounter": ("SDLGMCounter", SMALL, digits),
}


def digest(*arrays: Any) -> str:
    found = hashlib.sha256()
    for array in arrays:
        dense = array.toarray() if sp.issparse(array) else np.asarray(array)
        found.update(np.ascontiguousarray(dense).tobytes())
    return found.hexdigest()[:16]


def fitted(name: str) -> dict[str, str]:
    """Return digests of a small fit."""
    import fewhot as fh

    kind, arguments, rows = FITS[name]
    X = rows()
    y = {"SDLGMClassifier": labels, "SDLGMCounter": label_counts}.get(kind)
    model = getattr(fh, kind)(**arguments)
    model = model.fit(X) if y is None else model.fit(X, y())
    parts = sorted(digest(value.detach().cpu().numpy()) for value in model.module_.state_dict().values())
    scored = model.predict_proba(X) if kind == "SDLGMClassifier" else model.score_samples(X) if y is None else ()
    return {"codes": digest(model.transform(X)), "elbo": digest(scored), "weights": digest(np.array(parts))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", type=Path, help="the src folder of another checkout")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--only", nargs="+", choices=FITS, default=list(FITS))
    given = parser.parse_args()
    if given.source is not None:
        sys.path.insert(0, str(given.source))
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    before = {} if given.against is None else json.loads(given.against.read_text())
    found: dict[str, dict[str, str]] = {}
    for name in given.only:
        found[name] = fitted(name)
        moved = [part for part, value in found[name].items() if name in before and before[name][part] != value]
        verdict = "new" if name not in before else f"moved: {', '.join(moved)}" if moved else "the same"
        print(f"{name:24} {' '.join(found[name].values())}" + (f"  {verdict}" if before else ""), flush=True)
        if given.out is not None:
            given.out.write_text(json.dumps(found, indent=1) + "\n")
    sys.exit(any(found[name] != before.get(name, found[name]) for name in found))


if __name__ == "__main__":
    main()
