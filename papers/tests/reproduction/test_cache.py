from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from fewhot_papers.reproduction.cache import CellCache
from fewhot_papers.reproduction.cells import Measured

KNOWN = {"kind": "fake", "version": 1, "settings": {"x": 3}, "data": None, "digest": None}


@pytest.fixture
def cache(tmp_path: Path) -> CellCache:
    return CellCache(tmp_path)


def test_numbers_come_back_exactly(cache: CellCache):
    cache.keep(KNOWN, Measured({"y": 1 / 3}), {})
    row = cache.row(KNOWN)
    assert row is not None
    assert row.numbers == {"y": 1 / 3}
    assert row.settings == {"x": 3}


def test_pictures_come_back_in_half_precision(cache: CellCache):
    picture = np.random.default_rng(0).random((2, 5))
    cache.keep(KNOWN, Measured({}, {"p": picture}), {})
    row = cache.row(KNOWN)
    assert row is not None
    assert row.arrays["p"].dtype == np.float32
    np.testing.assert_allclose(row.arrays["p"], picture, rtol=2**-10)


def test_what_is_not_finite_stays_valid_json(cache: CellCache):
    cache.keep(KNOWN, Measured({"y": math.nan}), {})
    text = cache.path(KNOWN).read_text()
    assert json.loads(text, parse_constant=pytest.fail)["numbers"] == {"y": None}
    row = cache.row(KNOWN)
    assert row is not None
    assert math.isnan(row.numbers["y"])


def test_half_a_file_counts_as_not_computed(cache: CellCache, caplog: pytest.LogCaptureFixture):
    cache.path(KNOWN).write_text('{"format": 1, "numb')
    assert not cache.has(KNOWN)
    assert "computed again" in caplog.text


def test_a_success_forgets_the_failure_before_it(cache: CellCache):
    cache.keep_failure(KNOWN, "ValueError: broken", {})
    assert cache.error(KNOWN) == "ValueError: broken"
    cache.keep(KNOWN, Measured({"y": 1.0}), {})
    assert cache.error(KNOWN) is None


def test_a_failure_does_not_count_as_computed(cache: CellCache):
    cache.keep_failure(KNOWN, "ValueError: broken", {})
    assert not cache.has(KNOWN)
