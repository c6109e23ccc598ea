"""Fitted estimators that tests share and do not change."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fewhot import VAE, VSC
from tests.estimators.cases import grey_rows, small


@pytest.fixture(scope="session")
def rows() -> np.ndarray:
    return grey_rows()


@pytest.fixture(scope="session")
def fitted() -> dict[type, Any]:
    return {cls: small(cls, max_steps=60).fit(grey_rows()) for cls in (VAE, VSC)}


@pytest.fixture
def vae(fitted: dict[type, Any]) -> VAE:
    return fitted[VAE]


@pytest.fixture
def vsc(fitted: dict[type, Any]) -> VSC:
    return fitted[VSC]
