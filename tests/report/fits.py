"""Small fits of every kind that a report is made of."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp

import fewhot as fh
from fewhot.data import text_dataset
from fewhot.data.loaded import Loaded, as_strings
from fewhot.metrics import alarms, summarise
from fewhot.report import build_report

NASTY = '<script>alert("x")</script> & $\\frac{$'


SAYINGS = ["the sea is blue", "waves of the sea", "the sun is hot", "hot dry air", "", "zwölf Boxkämpfer"]
SMALL: dict[str, Any] = {"hidden_layer_sizes": (16,), "batch_size": 20, "max_steps": 12, "random_state": 0}


def loaded(X: Any, **more: Any) -> Loaded:
    known = {"y": None, "name": "rows", "split": None, "image_shape": None, "feature_names": None, "licence": ""}
    return Loaded(X=X, **{**known, "digest": "d1ge57", **more})


@cache
def pair(kind: str) -> tuple[Any, Loaded]:
    """Return a fitted estimator and the rows to look at."""
    rng = np.random.default_rng(0)
    if kind == "sparse":
        X = sp.csr_array(rng.poisson(0.3, (120, 240)).astype(np.float32))
        return fh.VSC(8, alpha=0.5, max_steps=30, random_state=0).fit(X), loaded(X)
    if kind in TEXTS:
        X = as_strings([f"{NASTY} {rng.choice(SAYINGS)}" for _ in range(120)])
        model = {
            "texts": fh.VSC(8, l0=3, encoder="gru", **SMALL),
            "dense texts": fh.VAE(4, encoder="gru", **SMALL),
            "bags": fh.VSC(8, l0=3, **SMALL),
            "dense bags": fh.VAE(4, **SMALL),
            "counts": fh.NFA(4, **SMALL),
        }
        data = loaded(X, y=np.arange(120) % 2, label_names=[NASTY, "plain"], name=NASTY, split="test")
        return model[kind].fit(text_dataset(X, max_length=30)), data
    X = rng.random((120, 16)).astype(np.float32)
    if kind == "images":
        data = loaded(X, y=np.arange(120) % 3, image_shape=(4, 4), split="test", licence="CC0")
        return fh.VSC(8, alpha=0.5, max_steps=30, random_state=0).fit(X), data
    if kind == "dense":
        return fh.VAE(4, max_steps=30, random_state=0).fit(X), loaded(X, image_shape=(4, 4))
    X = X * np.geomspace(1, 1e3, 16, dtype=np.float32)
    names = [NASTY, "$\\frac{$", *(f"feature {column}" for column in range(2, 16))] if kind == "named" else None
    return fh.VSC(8, alpha=0.5, max_steps=30, random_state=0).fit(X), loaded(X, name=NASTY, feature_names=names)


@cache
def report(kind: str) -> str:
    estimator, data = pair(kind)
    summary = summarise(estimator, data.X, data.y)
    return build_report(estimator, data, summary=summary, alarms=alarms(summary), facts={"Command": NASTY})


NUMBERS = ("images", "dense", "sparse", "named", "unnamed")
TEXTS = ("texts", "dense texts", "bags", "dense bags", "counts")
KINDS = (*NUMBERS, *TEXTS)
