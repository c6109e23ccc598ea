"""Small fits of every kind that a report is made of."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp

import fewhot as fh
from fewhot.data.loaded import Loaded
from fewhot.metrics import alarms, summarise
from fewhot.report import build_report

NASTY = '<script>alert("x")</script> & $\\frac{$'


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


KINDS = ("images", "dense", "sparse", "named", "unnamed")
