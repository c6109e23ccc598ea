"""scikit-learn's own contract, without an exception and without a skip."""

from __future__ import annotations

from typing import Any
from unittest import SkipTest

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from fewhot import VAE, VSC

SMALL: dict[str, Any] = {"n_components": 4, "max_steps": 10, "hidden_layer_sizes": (16,)}


@parametrize_with_checks([VAE(**SMALL), VSC(**SMALL), VSC(**SMALL, sparse_output=False)])
def test_scikit_learn_check(estimator: Any, check: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")  # without it scikit-learn skips its array-API check
    try:
        check(estimator)
    except SkipTest as reason:
        pytest.fail(f"scikit-learn skipped a check: {reason}")
