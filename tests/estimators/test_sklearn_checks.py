"""scikit-learn's own contract, without an exception and without a skip."""

from __future__ import annotations

from typing import Any
from unittest import SkipTest

import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import fewhot.estimators  # noqa: F401  (fills the registry)
from fewhot.core.registry import ESTIMATORS

SMALL: dict[str, Any] = {"n_components": 4, "max_steps": 10, "hidden_layer_sizes": (16,)}
REAL: dict[str, dict[str, Any]] = {
    "NFA": {"likelihood": "gaussian", "latent": "spike-slab"},  # for counts, and checked by numbers
    "GumbelVAE": {"kind": "bernoulli"},  # whose units need not fill choices
}

EVERY = [cls(**SMALL, **REAL.get(name, {})) for name, cls in ESTIMATORS.items() if not cls.labelled]
DENSE = [clone(one).set_params(sparse_output=False) for one in EVERY if hasattr(one, "sparse_output")]
SEEING = [ESTIMATORS["HSVAE"](**SMALL, slab_sees_gamma=True)]
GAUSSIAN = [
    ESTIMATORS["NFA"](**SMALL, **REAL["NFA"] | {"latent": "gaussian", "inference": "refined", "inner_steps": 2})
]
MIXTURE = [ESTIMATORS["VSC"](**SMALL, prior="pseudo-inputs", n_pseudo_inputs=3)]


@parametrize_with_checks(EVERY + DENSE + SEEING + GAUSSIAN + MIXTURE)
def test_scikit_learn_check(estimator: Any, check: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")  # without it scikit-learn skips its array-API check
    try:
        check(estimator)
    except SkipTest as reason:
        pytest.fail(f"scikit-learn skipped a check: {reason}")
