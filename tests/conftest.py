"""Every test starts from the same global seed."""

from __future__ import annotations

import pytest
import torch


@pytest.fixture(autouse=True)
def _same_seed() -> None:
    torch.manual_seed(0)


def pytest_make_parametrize_id(val: object) -> str | None:
    """Name functions without their address, so that parallel workers collect the same tests."""
    return getattr(val, "__name__", None) if callable(val) else None
