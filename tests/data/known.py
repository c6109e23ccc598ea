"""Tests that need the published files of a dataset."""

from __future__ import annotations

import pytest

from fewhot.data import describe


def published(name: str) -> pytest.MarkDecorator:
    """Skip a test where the files of a dataset are not on disk."""
    reason = f"needs the published files of {name}: set FEWHOT_DATA to a folder that has them"
    return pytest.mark.skipif(not describe(name).on_disk, reason=reason)
