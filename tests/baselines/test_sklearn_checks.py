"""scikit-learn's own contract, without an exception and without a skip."""

from __future__ import annotations

from typing import Any
from unittest import SkipTest

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.baselines.cases import EVERY, recommender


@parametrize_with_checks([recommender(name) for name in EVERY])
def test_scikit_learn_check(estimator: Any, check: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")  # without it scikit-learn skips its array-API check
    try:
        check(estimator)
    except SkipTest as reason:
        pytest.fail(f"scikit-learn skipped a check: {reason}")
